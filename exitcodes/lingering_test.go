package exitcodes

import (
	"strings"
	"testing"
	"time"
)

// TestSaysEnd is what the end of an output says of a worker that still runs.
func TestSaysEnd(t *testing.T) {
	const raised = "Traceback (most recent call last):\n  File \"/train.py\", line 9, in <module>\n    main()\n" +
		"  File \"/train.py\", line 3, in main\n    f()\nValueError: no such column\n"
	for name, test := range map[string]struct{ output, line string }{
		"nothing":             {"step 1\nstep 2\n", ""},
		"raised":              {"step 1\n" + raised, "ValueError: no such column"},
		"a lost peer":         {strings.ReplaceAll(raised, "ValueError: no such column", "RuntimeError: [enforce fail] Connection closed by peer"), "RuntimeError: [enforce fail] Connection closed by peer"},
		"goes on":             {raised + "step 3\n", ""},
		"logged":              {"ERROR:root:skipped\n" + raised, ""},
		"caught in main":      {strings.Replace(raised, "  File \"/train.py\", line 9, in <module>\n    main()\n", "", 1), ""},
		"a warning after":     {raised + "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown\n", "ValueError: no such column"},
		"in atexit":           {strings.Replace(raised, "Traceback", "Exception ignored in atexit callback: <function f at 0x7f>\nTraceback", 1), ""},
		"of a thread":         {strings.Replace(raised, "Traceback", "Exception in thread Thread-1 (f):\nTraceback", 1), ""},
		"ended by a person":   {strings.Replace(raised, "ValueError: no such column", "KeyboardInterrupt", 1), ""},
		"of one rank of many": {"[rank2]: " + strings.ReplaceAll(strings.TrimSpace(raised), "\n", "\n[rank2]: ") + "\n", "ValueError: no such column"},
	} {
		t.Run(name, func(t *testing.T) {
			line, ended := SaysEnd(Outcome{Output: []byte(test.output)}, BuiltinRules())
			if ended != (test.line != "") || !strings.Contains(line, test.line) {
				t.Errorf("%v %q, want %q", ended, line, test.line)
			}
		})
	}
}

// TestLingered: a worker that had finished has succeeded, whatever ended it.
func TestLingered(t *testing.T) {
	f := Judge(Outcome{Rank: 2, Status: Status{Signal: 9}, Lingered: "said to be about to end"}, BuiltinRules())
	if f.Verdict != Success || f.Code != 0 || f.Role != RoleNone || !strings.Contains(f.Message, "rank 2 had finished") {
		t.Errorf("%+v", f)
	}
}

// TestHungEcho: a worker that has failed and does not end is that failure, also where another one has caused it.
func TestHungEcho(t *testing.T) {
	now := time.Now()
	o := Outcome{Rank: 1, Status: Status{Signal: 6}, Stop: StoppedByGang, StoppedAt: now, Hang: &Hang{Why: "made no progress", Evidence: "it had failed"}}
	o.Output = []byte("Traceback (most recent call last):\n  File \"/t.py\", line 3, in <module>\n    f()\nConnectionResetError: [Errno 104] Connection reset by peer\n")
	if f := Judge(o, BuiltinRules()); f.Reason != ReasonHang {
		t.Errorf("%+v", f)
	}
	o.Hang.Failed = true
	if f := Judge(o, BuiltinRules()); f.Verdict != Retry || f.Role != RoleCascade || !strings.Contains(f.Message, "had failed, and did not end: ConnectionResetError") {
		t.Errorf("%+v", f)
	}
}
