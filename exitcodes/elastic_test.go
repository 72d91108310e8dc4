package exitcodes

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseErrorFile(t *testing.T) {
	at := time.Unix(1795263125, 0)
	tests := []struct {
		name, in string
		want     ErrorFile
	}{
		{"recorded by a worker", `{"message": {"message": "RuntimeError: boom value=7", "extraInfo": {"py_callstack": "Traceback ...", "timestamp": "1795263125"}}}`,
			ErrorFile{Message: "RuntimeError: boom value=7", Callstack: "Traceback ...", At: at}},
		{"passed on by torchrun", `{"message":{"message":"x","extraInfo":{"py_callstack":"y","timestamp":"1795263125"},"errorCode":-9}}`,
			ErrorFile{Message: "x", Callstack: "y", At: at, ErrorCode: -9}},
		{"the older form", `{"message": "out of memory", "timestamp": 1795263125}`, ErrorFile{Message: "out of memory", At: at}},
		{"no time", `{"message": "x"}`, ErrorFile{Message: "x"}},
		{"an invalid time", `{"message": "x", "timestamp": "yesterday"}`, ErrorFile{Message: "x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseErrorFile([]byte(tt.in))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
	for _, in := range []string{"", "{", "[]", `{"message": 7}`, `{"other": "x"}`, `"x"`} {
		if got, err := ParseErrorFile([]byte(in)); err == nil {
			t.Errorf("%q was read as %+v", in, got)
		}
	}
}

func TestParseReport(t *testing.T) {
	text := "loss 1\nloss 2\n" + report(
		failure(0, 1, 34, "Traceback (most recent call last):\n    File \"w.py\", line 3\n  ValueError: boom"),
		failure(1, -9, 35, "Signal 9 (SIGKILL) received by PID 2996"))
	got, rest := ParseReport([]byte(text))
	if len(got) != 2 {
		t.Fatalf("%d failures, want 2: %+v", len(got), got)
	}
	first, root := got[0], got[1]
	if first.Rank != 0 || first.Status != (Status{Code: 1}) || first.First || first.Host != "localhost" ||
		first.At.Second() != 34 || first.Traceback != "Traceback (most recent call last):\n  File \"w.py\", line 3\nValueError: boom\n" {
		t.Errorf("first: %+v", first)
	}
	if root.Rank != 1 || root.LocalRank != 1 || root.Status != (Status{Signal: 9}) || !root.First {
		t.Errorf("root: %+v", root)
	}
	if want := "loss 1\nloss 2\n"; string(rest[:len(want)]) != want || len(rest) > len(want)+200 {
		t.Errorf("rest: %q", rest)
	}
	if got, rest := ParseReport([]byte("nothing of the kind")); got != nil || string(rest) != "nothing of the kind" {
		t.Errorf("%+v, %q", got, rest)
	}
}

// However many failures a report lists, few are kept, and the root cause is one of them.
func TestParseReportIsBounded(t *testing.T) {
	failures := make([]string, 2*maxFailures)
	for i := range failures {
		failures[i] = failure(i, 1, 1, "x")
	}
	got, _ := ParseReport([]byte(report(failures...)))
	if len(got) != maxFailures {
		t.Fatalf("%d failures, want %d", len(got), maxFailures)
	}
	if root := got[len(got)-1]; !root.First || root.Rank != len(failures)-1 {
		t.Errorf("root: %+v", root)
	}
	if last := got[len(got)-2]; last.Rank != maxFailures-2 {
		t.Errorf("the last before it: %+v", last)
	}
}

func TestParseReportIgnoresImpossibleStatuses(t *testing.T) {
	for _, code := range []int{999, -65, -1 << 40} {
		got, _ := ParseReport([]byte(report(failure(0, code, 1, "x"))))
		if len(got) != 1 || got[0].Status != (Status{}) {
			t.Errorf("exit code %d: %+v", code, got)
		}
	}
}

func TestSplitByRank(t *testing.T) {
	output := "shared 1\n[rank0]: zero\n[rank1]:[E1218 x.cpp:1] one\n[default1]:tee one\n[default1]:[rank1]: both\nshared 2\n"
	for _, tt := range []struct {
		rank, local int
		want        string
	}{
		{0, 0, "[rank0]: zero\n"},
		{1, 1, "[rank1]:[E1218 x.cpp:1] one\ntee one\n[rank1]: both\n"},
		{2, 2, ""},
		{-1, -1, ""},
	} {
		if got := splitByRank([]byte(output), nil).of(tt.rank, tt.local).text; string(got) != tt.want {
			t.Errorf("rank %d: %q, want %q", tt.rank, got, tt.want)
		}
	}
	if got := splitByRank([]byte(output), nil).nobodys.text; string(got) != "shared 1\nshared 2\n" {
		t.Errorf("nobody's lines are %q", got)
	}
}

func TestSplitByRankKeepsTimes(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	output := "shared\n[default1]:a\n[default1]:b\n[default0]:c\nshared\n[default1]:d\n"
	split := splitByRank([]byte(output), []Arrival{{0, at(1), 1}, {20, at(2), 2}, {46, at(3), 1}})
	for name, tt := range map[string]struct{ got, want timedText }{
		"rank 0":   {split.of(0, 0), timedText{[]byte("c\n"), []Arrival{{0, at(2), 2}}}},
		"rank 1":   {split.of(1, 1), timedText{[]byte("a\nb\nd\n"), []Arrival{{0, at(1), 1}, {2, at(2), 2}, {4, at(3), 1}}}},
		"nobody's": {split.nobodys, timedText{[]byte("shared\nshared\n"), []Arrival{{0, at(1), 1}, {7, at(3), 1}}}},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", name, tt.got, tt.want)
		}
	}
}

func FuzzParseErrorFile(f *testing.F) {
	f.Add([]byte(`{"message": {"message": "x", "extraInfo": {"py_callstack": "y", "timestamp": "1"}, "errorCode": 1}}`))
	f.Add([]byte(`{"message": "x", "timestamp": 1}`))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = ParseErrorFile(data) })
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(report(failure(0, 1, 1, "x"), failure(1, -9, 1, noTraceback))))
	f.Fuzz(func(t *testing.T, data []byte) {
		failures, rest := ParseReport(data)
		if len(rest) > len(data) || len(failures) > len(data) {
			t.Error("more came out than went in")
		}
	})
}

// TestReportBehindAHead has torchrun's report behind what a shipper puts before every line, and one whose fields are lost.
func TestReportBehindAHead(t *testing.T) {
	report := wrap("ModuleNotFoundError: No module named 'deepspeed'") + "Traceback (most recent call last):\n  File \"/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n" +
		childFailed + ":\n==========\ntrain.py FAILED\n----------\n" + rootSection + "\n[0]:\n  time      : 2023-08-26_23:22:05\n  host      : n7\n  rank      : 3 (local_rank: 1)\n  exitcode  : 1 (pid: 8835)\n" +
		"  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n==========\n"
	for _, head := range []string{"", "stderr: ", "worker-7 2023-08-26T23:22:05.120Z | "} {
		var b strings.Builder
		for l := range strings.Lines(report) {
			b.WriteString(head + l)
		}
		if failures, _ := ParseReport([]byte(b.String())); len(failures) != 1 || failures[0].Rank != 3 || failures[0].Status.Code != 1 {
			t.Errorf("%q: %+v", head, failures)
		}
		o := exited(1)
		o.Output = []byte(b.String())
		if f := Judge(o, BuiltinRules()); f.Verdict != Fatal || f.Rule != "code.import" || f.Rank != 3 {
			t.Errorf("%q: %s by %q (%q)", head, f.Verdict, f.Rule, f.Evidence)
		}
	}
	o := exited(1)
	o.Output = []byte(strings.Replace(report, rootSection, "Root Cause:", 1))
	if f := Judge(o, BuiltinRules()); f.Rule != "code.import" {
		t.Errorf("%s by %q (%q)", f.Verdict, f.Rule, f.Evidence)
	}
}

// Where the rank that torchrun calls the first has said nothing, another one that met the same may have.
func TestReportOfASilentRank(t *testing.T) {
	const tagged = "loss 1\n[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/app/train.py\", line 12, in <module>\n[rank3]:     main()\n[rank3]: ModuleNotFoundError: No module named 'flash_attn'\n"
	f := Judge(exited(1).printing(tagged+report(failure(0, 1, 34, noTraceback))), BuiltinRules())
	if f.Verdict != Fatal || f.Rule != "code.import" {
		t.Errorf("%s by %q: %s", f.Verdict, f.Rule, f.Evidence)
	}
}
