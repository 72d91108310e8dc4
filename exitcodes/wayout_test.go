package exitcodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// What Python and torch print of an exception, and of an interpreter that crashes while it goes down.
const (
	raised     = "Traceback (most recent call last):\n  File \"/app/train.py\", line 40, in <module>\n    main()\n  File \"/app/train.py\", line 31, in main\n    check(cfg)\n"
	badHeads   = "ValueError: heads must divide hidden"
	reset      = "ConnectionResetError: [Errno 104] Connection reset by peer"
	joinable   = "terminate called without an active exception\n"
	noFrames   = "Fatal Python error: Aborted\n\nThread 0x00007f11d2ffd640 (most recent call first):\n  <no Python frame>\n\nExtension modules: torch._C (total: 1)\n"
	finalizing = "Fatal Python error: Segmentation fault\n\nPython runtime state: finalizing (tstate=0x1)\n\nCurrent thread 0x00007f1 (most recent call first):\n  Garbage-collecting\n  <no Python frame>\n"
	inKernel   = "Fatal Python error: Segmentation fault\n\nThread 0x00007f2 (most recent call first):\n  <no Python frame>\n\nCurrent thread 0x00007f1 (most recent call first):\n  File \"/v/torch/autograd/graph.py\", line 8 in backward\n  File \"/app/train.py\", line 31 in main\n  File \"/app/train.py\", line 40 in <module>\n"
	watchdog   = "[rank1]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=183, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n" +
		"terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG ID 0 Rank 1] Process group watchdog thread terminated with exception: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=183)\n"
)

// recorded is the error file that torch's record writes.
func recorded(exception string, at time.Time, code int) []byte {
	inner := map[string]any{"message": exception, "extraInfo": map[string]string{"timestamp": fmt.Sprint(at.Unix()),
		"py_callstack": "Traceback (most recent call last):\n  File \"/v/torch/distributed/elastic/multiprocessing/errors/__init__.py\", line 357, in wrapper\n    return f(*args, **kwargs)\n  File \"/app/train.py\", line 31, in main\n    check(cfg)\n" + exception + "\n"}}
	if code != 0 {
		inner["errorCode"] = code
	}
	data, err := json.Marshal(map[string]any{"message": inner})
	if err != nil {
		panic(err)
	}
	return data
}

// A process that a signal killed while it went down after an exception ended of the exception; one that had got over
// its exception, or that another rank's failure aborted, died of the signal.
func TestKilledOnTheWayOut(t *testing.T) {
	steps := strings.Repeat("step 7 loss 2.1\n", 20)
	own := func(text string) string { // as torch's hook prints it
		return "[rank1]: " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n[rank1]: ") + "\n"
	}
	file := func(exception string, ago time.Duration, code int) func(*Outcome) {
		return func(o *Outcome) {
			o.ErrorFile, o.StartedAt = recorded(exception, noon.Add(-ago), code), noon.Add(-time.Hour)
		}
	}
	print := func(text string) func(*Outcome) { return func(o *Outcome) { o.Output = []byte(text) } }
	// The traceback came that long ago, what follows it just now.
	ago := func(before time.Duration, text, rest string) func(*Outcome) {
		return func(o *Outcome) {
			o.Output = []byte(text + rest)
			o.Arrived = []Arrival{{Offset: 0, At: noon.Add(-before)}, {Offset: len(text), At: noon.Add(-100 * time.Millisecond)}}
		}
	}
	// What came when, each so long before the end.
	type part struct {
		before time.Duration
		text   string
	}
	parts := func(list ...part) func(*Outcome) {
		return func(o *Outcome) {
			for _, p := range list {
				o.Arrived = append(o.Arrived, Arrival{Offset: len(o.Output), At: noon.Add(-p.before)})
				o.Output = append(o.Output, p.text...)
			}
		}
	}
	slow := "Timeout (0:30:00)!\n" + strings.TrimPrefix(inKernel, "Fatal Python error: Segmentation fault\n\n") // dump_traceback_later
	started := func(before time.Duration) func(*Outcome) {
		return func(o *Outcome) { o.StartedAt = noon.Add(-before) }
	}
	stepped := func(before time.Duration) func(*Outcome) {
		return func(o *Outcome) { o.StepAt = noon.Add(-before) }
	}
	abort, segv := Status{Signal: sigabrt}, Status{Signal: sigsegv}
	shell, exit := Status{Code: 134}, Status{Code: 1}
	for _, tt := range []struct {
		name     string
		status   Status
		with     []func(*Outcome)
		verdict  Verdict
		code     int
		evidence string
	}{
		{"its output, a thread that was not joined", abort, []func(*Outcome){print(raised + badHeads + "\n" + joinable)}, Fatal, 1, badHeads},
		{"as a shell tells it", shell, []func(*Outcome){print(raised + badHeads + "\n" + joinable + "run.sh: line 3:   77 Aborted                 (core dumped) python t.py\n")}, Fatal, 1, badHeads},
		{"as a shell tells it, cut off", Status{Code: 139}, []func(*Outcome){print(raised + badHeads + "\nSegmentati")}, Fatal, 1, badHeads},
		{"something else, cut off", Status{Code: 139}, []func(*Outcome){print(raised + badHeads + "\nSegments: 3")}, Retry, 139, "exited 139"},
		{"an exception that nothing knows", abort, []func(*Outcome){print(raised + "RuntimeError: the moon is full\n" + joinable)}, Fatal, 1, "RuntimeError: the moon is full"},
		{"the dump shows no frame", abort, []func(*Outcome){print(steps + raised + badHeads + "\n" + joinable + noFrames)}, Fatal, 1, badHeads},
		{"the dump says finalizing", segv, []func(*Outcome){print(raised + badHeads + "\n" + finalizing)}, Fatal, 1, badHeads},
		{"a rule knows it", segv, []func(*Outcome){print(raised + "ModuleNotFoundError: No module named 'x'\n")}, Fatal, 1, "ModuleNotFoundError"},
		{"one that passes", abort, []func(*Outcome){print(raised + reset + "\n" + joinable)}, Retry, 134, reset},
		{"torch's hook, and the watchdog after it", abort, []func(*Outcome){print(own(raised+badHeads) + watchdog)}, Fatal, 1, badHeads},
		{"half a minute to go down", abort, []func(*Outcome){ago(30*time.Second, raised+badHeads+"\n", joinable)}, Fatal, 1, badHeads},

		{"it was found at work", segv, []func(*Outcome){print(raised + badHeads + "\n" + inKernel)}, Retry, 139, "was killed by SIGSEGV"},
		{"so was a known one", segv, []func(*Outcome){print(raised + "ModuleNotFoundError: No module named 'x'\n" + inKernel)}, Retry, 139, "was killed by SIGSEGV"},
		{"work came after it", segv, []func(*Outcome){print(raised + badHeads + "\n" + steps)}, Retry, 139, "was killed by SIGSEGV"},
		{"the watchdog's abort", abort, []func(*Outcome){print(raised + badHeads + "\nthe plugin is left out\n" + watchdog)}, Retry, 134, "Watchdog caught"},
		{"the watchdog's, and nothing between", abort, []func(*Outcome){print(raised + badHeads + "\n" + watchdog)}, Retry, 134, "Watchdog caught"},
		{"a frame below the top", segv, []func(*Outcome){print("Traceback (most recent call last):\n  File \"/app/data.py\", line 3, in load\n    open(f)\n" + badHeads + "\n")}, Retry, 139, "was killed by SIGSEGV"},
		{"hours before", segv, []func(*Outcome){ago(2*time.Hour, raised+badHeads+"\n", "Fatal Python error: Segmentation fault\n\n")}, Retry, 139, "was killed by SIGSEGV"},
		{"nothing knows it, just now", segv, []func(*Outcome){ago(2*time.Second, raised+badHeads+"\n", "")}, Fatal, 1, badHeads},
		{"nothing knows it, and it was silent for a while", segv, []func(*Outcome){ago(20*time.Second, raised+badHeads+"\n", "")}, Retry, 139, "was killed by SIGSEGV"},
		{"a rule knows it, and it was silent for a while", segv, []func(*Outcome){ago(20*time.Second, raised+"ModuleNotFoundError: No module named 'x'\n", "")}, Retry, 139, "was killed by SIGSEGV"},
		{"a rule knows it, just now", segv, []func(*Outcome){ago(2*time.Second, raised+"ModuleNotFoundError: No module named 'x'\n", "")}, Fatal, 1, "ModuleNotFoundError"},
		{"somebody killed it", Status{Signal: sigkill}, []func(*Outcome){print(raised + badHeads + "\n")}, Retry, 137, "was killed by SIGKILL"},

		{"the error file alone", abort, []func(*Outcome){file(badHeads, time.Second, 0)}, Fatal, 1, badHeads},
		{"the error file, and the abort's words", abort, []func(*Outcome){file(badHeads, time.Second, 0), print(steps + joinable + noFrames)}, Fatal, 1, badHeads},
		{"the error file, a crash", segv, []func(*Outcome){file(badHeads, time.Second, 0), print(finalizing)}, Fatal, 1, badHeads},
		{"the error file, nothing knows it", segv, []func(*Outcome){file("RuntimeError: the moon is full", time.Second, 0)}, Fatal, 1, "RuntimeError: the moon is full"},
		{"the error file, one that passes", abort, []func(*Outcome){file(reset, time.Second, 0)}, Retry, 134, reset},
		{"the error file, and minutes until the watchdog", abort, []func(*Outcome){file(badHeads, 10*time.Minute, 0), print(watchdog)}, Fatal, 1, badHeads},
		{"a launcher's error file", abort, []func(*Outcome){file(badHeads, time.Minute, -6), stepped(time.Second)}, Fatal, 1, badHeads},

		{"the error file of an incarnation before", abort, []func(*Outcome){file(badHeads, time.Minute, 0), started(30 * time.Second)}, Retry, 134, "was killed by SIGABRT"},
		{"the error file of the second it started in", abort, []func(*Outcome){file(badHeads, 30*time.Second, 0), started(30*time.Second - 900*time.Millisecond)}, Fatal, 1, badHeads},
		{"the error file of an incarnation before, exit 3", Status{Code: 3}, []func(*Outcome){file("ModuleNotFoundError: No module named 'x'", time.Minute, 0), started(30 * time.Second)}, Fatal, 3, "exited 3"},
		{"a step after the error file", segv, []func(*Outcome){file(badHeads, time.Minute, 0), stepped(time.Second)}, Retry, 139, "was killed by SIGSEGV"},
		{"work after the error file", segv, []func(*Outcome){file(badHeads, time.Minute, 0), ago(30*time.Second, steps, "Fatal Python error: Segmentation fault\n\n")}, Retry, 139, "was killed by SIGSEGV"},
		{"steps that were in the buffer", segv, []func(*Outcome){file(badHeads, 20*time.Second, 0), ago(0, "", steps)}, Fatal, 1, badHeads},
		{"the error file, and found at work", segv, []func(*Outcome){file(badHeads, time.Second, 0), print(inKernel)}, Retry, 139, "was killed by SIGSEGV"},
		{"the error file, and found at work within its second", segv, []func(*Outcome){file(badHeads, 300*time.Millisecond, 0), parts(part{100 * time.Millisecond, inKernel})}, Retry, 139, "was killed by SIGSEGV"},
		{"the error file, found at work long before", abort, []func(*Outcome){file(badHeads, time.Second, 0), parts(part{30 * time.Minute, slow})}, Fatal, 1, badHeads},
		{"the error file, found at work long before, exit 1", exit, []func(*Outcome){file(reset, time.Second, 0), parts(part{30 * time.Minute, slow}, part{30 * time.Second, steps})}, Retry, 210, reset},
		{"the same in the record's second", exit, []func(*Outcome){file(reset, 300*time.Millisecond, 0), parts(part{500 * time.Millisecond, slow})}, Retry, 210, reset},
		{"the same where times are not known", exit, []func(*Outcome){file(reset, time.Second, 0), print(slow)}, Retry, 210, reset},
		{"the error file, found at work since, exit 1", exit, []func(*Outcome){file(reset, time.Minute, 0), parts(part{30 * time.Second, slow})}, Fatal, 1, "exited 1"},
		{"the error file, somebody killed it", Status{Signal: sigkill}, []func(*Outcome){file(badHeads, time.Second, 0)}, Retry, 137, "was killed by SIGKILL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Outcome{Rank: -1, LocalRank: -1, At: noon, Status: tt.status}
			for _, with := range tt.with {
				with(&o)
			}
			f := Judge(o, BuiltinRules())
			if f.Verdict != tt.verdict || f.Code != tt.code || !strings.Contains(f.Evidence, tt.evidence) {
				t.Errorf("%s %d by %q: %s; want %s %d by %q", f.Verdict, f.Code, f.Evidence, f.Message, tt.verdict, tt.code, tt.evidence)
			}
			if f.Signal != tt.status.Signal {
				t.Errorf("signal %d", f.Signal)
			}
			if told := strings.Contains(f.Message, " on its way out after an exception: "); told != (tt.status != exit && (f.Code == 1 || strings.Contains(tt.name, "passes"))) {
				t.Error(f.Message)
			}
		})
	}
}

// The same of a rank that torchrun reports with -6 or -11: its traceback stands in the report, in the rank's own
// lines, or in lines that are nobody's.
func TestReportedOnTheWayOut(t *testing.T) {
	callstack := strings.TrimSpace(strings.ReplaceAll("Traceback (most recent call last):\n  File \"/v/torch/distributed/elastic/multiprocessing/errors/__init__.py\", line 357, in wrapper\n    return f(*args, **kwargs)\n"+badHeads, "\n", "\n  "))
	lost := "Traceback (most recent call last):\n  File \"/app/train.py\", line 40, in <module>\n    main()\n" + reset + "\n"
	own := "[rank1]: " + strings.ReplaceAll(strings.TrimSpace(raised+badHeads), "\n", "\n[rank1]: ") + "\n"
	closed := failure(0, -15, 2, noTraceback)
	for _, tt := range []struct {
		name     string
		output   string
		verdict  Verdict
		code     int
		rank     int
		evidence string
	}{
		{"in the report, -6", joinable + report(closed, failure(1, -6, 1, callstack)), Fatal, 1, 1, badHeads},
		{"in the report, -11", report(closed, failure(1, -11, 1, callstack)), Fatal, 1, 1, badHeads},
		{"in the report, 134 of a shell", report(closed, failure(1, 134, 1, callstack)), Fatal, 1, 1, badHeads},
		{"in the report, beside one that lost it", "[rank0]: " + strings.ReplaceAll(strings.TrimSpace(lost), "\n", "\n[rank0]: ") + "\n" + report(failure(0, 1, 1, noTraceback), failure(1, -6, 1, callstack)), Fatal, 1, 1, badHeads},
		{"in the rank's lines, -6", own + joinable + report(closed, failure(1, -6, 1, "Signal 6 (SIGABRT) received by PID 7")), Fatal, 1, 1, badHeads},
		{"in the rank's lines, -11", own + report(closed, failure(1, -11, 1, "Signal 11 (SIGSEGV) received by PID 7")), Fatal, 1, 1, badHeads},
		{"in the rank's lines, and the watchdog", own + watchdog + report(closed, failure(1, -6, 1, "Signal 6 (SIGABRT) received by PID 7")), Fatal, 1, 1, badHeads},
		{"in nobody's lines, -6", raised + badHeads + "\n" + joinable + report(closed, failure(1, -6, 1, "Signal 6 (SIGABRT) received by PID 7")), Fatal, 1, 1, badHeads},
		{"in nobody's lines, -11", raised + badHeads + "\n" + report(closed, failure(1, -11, 1, "Signal 11 (SIGSEGV) received by PID 7")), Fatal, 1, 1, badHeads},
		{"by accelerate's launcher within", "Traceback (most recent call last):\n  File \"/bin/accelerate\", line 8, in <module>\n    main()\n" + badHeads + "\n" + report(closed, failure(1, -6, 1, callstack)), Fatal, 1, 1, badHeads},

		{"nobody's lines may be another's", raised + badHeads + "\n" + report(failure(0, 1, 2, noTraceback), failure(1, -11, 1, "Signal 11 (SIGSEGV) received by PID 7")), Retry, 139, 1, "SIGSEGV"},
		{"who lost it said more", lost + report(closed, failure(1, -11, 1, "Signal 11 (SIGSEGV) received by PID 7")), Retry, 139, 1, "SIGSEGV"},
		{"the watchdog's abort", watchdog + report(closed, failure(1, -6, 1, "Signal 6 (SIGABRT) received by PID 7")), Retry, 134, 1, "Watchdog"},
		{"nothing was said", report(closed, failure(1, -6, 1, "Signal 6 (SIGABRT) received by PID 7")), Retry, 134, 1, "SIGABRT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := exited(1)
			o.Output = []byte(tt.output)
			f := Judge(o, BuiltinRules())
			if f.Verdict != tt.verdict || f.Code != tt.code || f.Rank != tt.rank || !strings.Contains(f.Evidence, tt.evidence) {
				t.Errorf("%s %d of rank %d by %q: %s; want %s %d of rank %d by %q", f.Verdict, f.Code, f.Rank, f.Evidence, f.Message, tt.verdict, tt.code, tt.rank, tt.evidence)
			}
		})
	}
}

// A rank under torchrun may have caught, at its start, what nothing followed but the launcher's words about the crash:
// when its lines arrived, and a step that was reported, tell it as they do of a worker without a launcher.
func TestReportedCrashGoesByTimes(t *testing.T) {
	missing := "ModuleNotFoundError: No module named 'flash_attn'"
	caught := raised + missing + "\n"
	tee := "[default1]:" + strings.ReplaceAll(strings.TrimSpace(caught), "\n", "\n[default1]:") + "\n"
	hook := "[rank1]: " + strings.ReplaceAll(strings.TrimSpace(caught), "\n", "\n[rank1]: ") + "\n"
	lost := "[default1]:" + strings.ReplaceAll(strings.TrimSpace(raised+reset), "\n", "\n[default1]:") + "\n[default1]:wandb: bye\n"
	died := func(code int) string {
		return report(failure(1, code, 35, "Signal "+fmt.Sprint(-code)+" received by PID 7"))
	}
	died2 := func(code int) string {
		return report(failure(0, code, 35, "Signal 6 received by PID 7"), failure(1, code, 35, "Signal 6 received by PID 8"))
	}
	observed := time.Date(2026, 11, 21, 11, 55, 35, 0, time.Local) // as the reports say
	end := observed.Add(800 * time.Millisecond)
	for _, tt := range []struct {
		name    string
		printed string
		before  time.Duration // the end, when that came
		report  string
		at      time.Time     // the launcher's end
		step    time.Duration // before the end; none is 0
		verdict Verdict
		code    int
	}{
		{"hours before, -11", caught, 2 * time.Hour, died(-11), end, 0, Retry, 139},
		{"hours before, -6", caught, 2 * time.Hour, died(-6), end, 0, Retry, 134},
		{"hours before, two of -6", caught, 2 * time.Hour, died2(-6), end, 0, Retry, 134},
		{"hours before, 139 of a shell", caught, 2 * time.Hour, died(139), end, 0, Retry, 139},
		{"hours before, --tee", tee, 2 * time.Hour, died(-11), end, 0, Retry, 139},
		{"hours before, --tee, -6", tee, 2 * time.Hour, died(-6), end, 0, Retry, 134},
		{"hours before, and a step", caught, 2 * time.Hour, died(-11), end, time.Second, Retry, 139},
		{"a step after it", caught, 40 * time.Second, died(-11), end, time.Second, Retry, 139},
		{"a step after it, -6", caught, 40 * time.Second, died(-6), end, time.Second, Retry, 134},
		{"a step after it, --tee", tee, 40 * time.Second, died(-11), end, time.Second, Retry, 139},
		{"a step before it", caught, time.Second, died(-11), end, 10 * time.Second, Fatal, 1},
		{"at the end", caught, time.Second, died(-11), end, 0, Fatal, 1},
		{"at the end, -6", caught, time.Second, died(-6), end, 0, Fatal, 1},
		{"at the end, --tee", tee, time.Second, died(-11), end, 0, Fatal, 1},
		{"another rank's step in the same second, after torch's hook", hook, 500 * time.Millisecond, died(-6), end, 300 * time.Millisecond, Fatal, 1},
		{"an exit code, and another rank's step after it", lost, time.Second, died(1), end, 300 * time.Millisecond, Retry, 210},
		{"the launcher took two minutes to stop the others", caught, 121 * time.Second, died(-11), end.Add(2 * time.Minute), 0, Fatal, 1},
		{"a report by another clock", caught, time.Second, died(-11), end.Add(48 * time.Hour), 0, Fatal, 1},
		{"a report by a clock that is ahead", caught, time.Second, died(-11), end.Add(-48 * time.Hour), 0, Fatal, 1},
		{"hours before, a report by another clock", caught, 2 * time.Hour, died(-11), end.Add(-48 * time.Hour), 0, Retry, 139},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := exited(1)
			o.At, o.Output = tt.at, []byte(tt.printed+tt.report)
			o.Arrived = []Arrival{{Offset: 0, At: o.At.Add(-tt.before)}, {Offset: len(tt.printed), At: o.At.Add(-10 * time.Millisecond)}}
			if tt.step > 0 {
				o.StepAt = o.At.Add(-tt.step)
			}
			f := Judge(o, BuiltinRules())
			if f.Verdict != tt.verdict || f.Code != tt.code {
				t.Errorf("%s %d by %q: %s; want %s %d", f.Verdict, f.Code, f.Evidence, f.Message, tt.verdict, tt.code)
			}
		})
	}
}

// Where nothing knows the exception, --unknown decides as it does over exit code 1.
func TestUnknownOnTheWayOut(t *testing.T) {
	o := killed(sigabrt).with(func(o *Outcome) {
		o.OnUnknown, o.Output = UnknownRetry, []byte(raised+"RuntimeError: the moon is full\n"+joinable)
	})
	if f := Judge(o, BuiltinRules()); f.Verdict != Retry || f.Code != 134 || !f.Unknown {
		t.Errorf("%s %d, unknown %v: %s", f.Verdict, f.Code, f.Unknown, f.Message)
	}
}

// TestIDEsLastWord has an IDE tell of the code below an exception that nobody caught, and below one that was survived.
func TestIDEsLastWord(t *testing.T) {
	const pycharm = "\nProcess finished with exit code 134 (interrupted by signal 6: SIGABRT)\n"
	for text, want := range map[string]Verdict{
		raised + badHeads + "\n" + pycharm:                                           Fatal,
		raised + badHeads + "\n" + strings.Repeat("step 7 loss 2.1\n", 20) + pycharm: Retry,
		raised + reset + "\n" + pycharm:                                              Retry,
	} {
		o := exited(134)
		o.Output = []byte(text)
		if f := Judge(o, BuiltinRules()); f.Verdict != want || want == Fatal && f.Evidence != badHeads {
			t.Errorf("%q: %s by %q", text, f.Verdict, f.Evidence)
		}
	}
}
