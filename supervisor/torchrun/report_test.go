package torchrun

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// rootOf is the index of the failure that torchrun calls the root cause: the earliest second, by the error file if there
// is one; of several the first in the list.
func rootOf(failures []Failure) int {
	root := 0
	for i, f := range failures {
		if f.told().second < failures[root].told().second {
			root = i
		}
	}
	return root
}

func TestReportsAsTorchWritesThem(t *testing.T) {
	var golden []struct {
		Title    string
		Failures []struct {
			Rank      int
			LocalRank int `json:"local_rank"`
			PID       int
			ExitCode  int
			At        int64
			Content   *string
		}
		Want string
	}
	readGolden(t, "reports.json", &golden)
	for i, g := range golden {
		var failures []Failure
		for _, f := range g.Failures {
			failure := Failure{
				Rank: f.Rank, LocalRank: f.LocalRank, PID: f.PID, ExitCode: f.ExitCode,
				Host: "node-1", At: time.Unix(f.At, 0).UTC(),
			}
			if f.ExitCode < 0 {
				failure.ExitCode, failure.Signal = 0, -f.ExitCode
			}
			if f.Content != nil {
				failure.ErrorFile, failure.Content = fmt.Sprintf("/logs/%d.json", f.Rank), []byte(*f.Content)
			}
			failures = append(failures, failure)
		}
		got := Report(g.Title, failures, rootOf(failures))
		want := "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: " + g.Want + "\n"
		if got != want {
			t.Errorf("%d: got\n%s\nwant\n%s", i, got, want)
		}
		roundTrip(t, failures, rootOf(failures), got)
	}
}

// roundTrip sees that exitcodes reads the report as it was meant.
func roundTrip(t *testing.T, failures []Failure, root int, report string) {
	t.Helper()
	read, rest := exitcodes.ParseReport([]byte("last words\n" + report))
	if len(read) != len(failures) || string(rest) != "last words\n" {
		t.Fatalf("%d of %d failures were read back from\n%s", len(read), len(failures), report)
	}
	for i, f := range failures {
		at := i // the others in their order, the root cause last
		switch {
		case i == root:
			at = len(failures) - 1
		case i > root:
			at--
		}
		got := read[at]
		want := exitcodes.Status{Code: f.ExitCode, Signal: f.Signal}
		same := got.Rank == f.Rank && got.LocalRank == f.LocalRank && got.Host == f.Host
		if !same || got.Status != want || got.First != (i == root) {
			t.Errorf("%+v was read back as %+v", f, got)
		}
	}
}

// What torchrun itself printed, with the workers as they were.
func TestReportsThatTorchrunPrinted(t *testing.T) {
	at := func(clock string) time.Time {
		parsed, err := time.Parse(time.DateTime, "2026-11-21 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	const errorFile = "/tmp/job/torchelastic_8p4kzaxn/" +
		"e934a47d-7fd1-4825-aaa7-07b027ef7998_w4dd0sco/attempt_0/1/error.json"
	const elastic = "/opt/venv/lib/python3.11/site-packages/torch/distributed/elastic"
	const callstack = `Traceback (most recent call last):
  File "` + elastic + `/multiprocessing/errors/__init__.py", line 384, in wrapper
    result = f(*args, **kwargs)
             ^^^^^^^^^^^^^^^^^^
  File "/tmp/job/train.py", line 5, in main
    if os.environ["RANK"]=="1": raise ValueError("boom value=7")
                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
ValueError: boom value=7
`
	content := fmt.Appendf(nil,
		`{"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": %q, "timestamp": "%d"}}}`,
		callstack, at("17:52:30").Unix())
	for file, failures := range map[string][]Failure{
		"exception": {{Rank: 1, LocalRank: 1, PID: 343, ExitCode: 1, At: at("17:51:59")}},
		"recorded": {
			{Rank: 1, LocalRank: 1, PID: 527, ExitCode: 1, At: at("17:52:31"), ErrorFile: errorFile, Content: content},
			{Rank: 0, LocalRank: 0, PID: 526, Signal: 15, At: at("17:52:30")},
		},
		"killed": {
			{Rank: 1, LocalRank: 1, PID: 384, Signal: 9, At: at("17:52:05")},
			{Rank: 0, LocalRank: 0, PID: 383, Signal: 15, At: at("17:52:05")},
		},
		"several": {
			{Rank: 1, LocalRank: 1, PID: 394, ExitCode: 3, At: at("17:52:06")},
			{Rank: 2, LocalRank: 2, PID: 395, ExitCode: 4, At: at("17:52:06")},
			{Rank: 0, LocalRank: 0, PID: 393, Signal: 15, At: at("17:52:06")},
		},
	} {
		for i := range failures {
			failures[i].Host = "localhost"
		}
		want, err := os.ReadFile("testdata/printed/" + file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		got := Report("train.py", failures, rootOf(failures))
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
		roundTrip(t, failures, rootOf(failures), got)
	}
}

func TestReportWithoutAReadableErrorFile(t *testing.T) {
	f := Failure{PID: 2, ExitCode: 1, Host: "h", At: time.Unix(1000, 0).UTC(), ErrorFile: "/e", Content: []byte("{")}
	want := "  error_file: <N/A>\n  traceback : " + noTraceback + "\n"
	if got := Report("x", []Failure{f}, 0); !strings.Contains(got, want) {
		t.Error(got)
	}
	// What a worker wrote into its message cannot pass for a field of the report.
	f.Content = []byte(`{"message": "x\n  exitcode  : 0 (pid: 2) \n[7]:", "timestamp": 1000}`)
	report := Report("x", []Failure{f}, 0)
	roundTrip(t, []Failure{f}, 0, report)
}

// TestTracebackSteersNoTerminal: it is the rank's own words in a text of gangrun's.
func TestTracebackSteersNoTerminal(t *testing.T) {
	f := Failure{PID: 2, ExitCode: 1, Host: "h", At: time.Unix(1000, 0).UTC(), ErrorFile: "/e"}
	f.Content = []byte(`{"message": "one\n\ttwo\u001b[2J\rthree\u202e\u2028four", "timestamp": 1000}`)
	want := "  traceback : one\n  \ttwo\\x1b[2J\\rthree\\u202e\\u2028four\n"
	if got := Report("x", []Failure{f}, 0); !strings.Contains(got, want) {
		t.Errorf("%q", got)
	}
}

func TestFailedLine(t *testing.T) {
	f := Failure{LocalRank: 1, PID: 2996, Signal: 9}
	o := Options{StartMethod: "spawn"}
	const what = "failed (exitcode: -9) local_rank: 1 (pid: 2996) of "
	if got := o.FailedLine(f, "/usr/bin/python3"); got != what+"binary: /usr/bin/python3" {
		t.Error(got)
	}
	o.RunPath = true
	if got := o.FailedLine(f, ""); got != what+"fn: run_script_path (start_method: spawn)" {
		t.Error(got)
	}
}

func FuzzReport(f *testing.F) {
	f.Add("train.py", 1, 0, []byte(`{"message": "x", "timestamp": 1}`))
	f.Fuzz(func(t *testing.T, title string, code, signal int, content []byte) {
		failures := []Failure{{ExitCode: code, Signal: signal, Content: content}, {ExitCode: 1}}
		if report := Report(title, failures, rootOf(failures)); !strings.HasSuffix(report, "=\n") {
			t.Errorf("%q", report)
		}
	})
}
