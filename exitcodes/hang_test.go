package exitcodes

import (
	"strings"
	"testing"
	"time"
)

// TestHang is a worker that got nowhere: to be tried again, whatever it answered to its end, unless it had said before why
// it fails.
func TestHang(t *testing.T) {
	stopped := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	dump := "Fatal Python error: Aborted\n\nCurrent thread 0x00007f (most recent call first):\n" +
		"  File \"/train.py\", line 30 in wait\n  File \"/train.py\", line 40 in <module>\n"
	raised := "Traceback (most recent call last):\n  File \"/train.py\", line 3, in <module>\n    f()\n" +
		"ValueError: no such column\n"
	o := Outcome{
		Rank: 2, LocalRank: 2, Status: Status{Signal: 6}, Stop: StoppedByGang, StoppedAt: stopped,
		Hang:   &Hang{Why: "makes no step for 3s", Evidence: "it stands elsewhere than the others"},
		Output: []byte("step 29\n" + dump), Arrived: []Arrival{{Offset: 0, At: stopped.Add(-time.Minute)}, {Offset: 8, At: stopped.Add(time.Second)}},
	}
	f := Judge(o, BuiltinRules())
	if f.Verdict != Retry || f.Code != CodeHang || f.Reason != ReasonHang || f.Role != RoleRoot || f.Message != "rank 2 makes no step for 3s" {
		t.Errorf("%+v", f)
	}
	o.Hang.Evidence = ""
	if f := Judge(o, BuiltinRules()); f.Role != RoleSuspect || f.Evidence == "" {
		t.Errorf("%+v", f)
	}
	o.Hang.Echo = true
	if f := Judge(o, BuiltinRules()); f.Role != RoleCascade || f.Verdict != Retry || f.Code != CodeHang {
		t.Errorf("%+v", f)
	}
	o.Hang.Echo = false
	o.Output = []byte(raised + dump)
	o.Arrived[1].Offset = len(raised)
	f = Judge(o, BuiltinRules())
	// What the other stream had brought just before the traceback is read after it.
	late := []byte(raised + "step 29\n" + dump)
	o.Output, o.Arrived = late, []Arrival{{Offset: 0, At: stopped.Add(-time.Minute), Stream: 2}, {Offset: len(raised), At: stopped.Add(-time.Minute + 7*time.Millisecond), Stream: 1},
		{Offset: len(raised) + 8, At: stopped.Add(time.Second), Stream: 2}}
	if f := Judge(o, BuiltinRules()); f.Verdict != Fatal {
		t.Errorf("%+v", f)
	}
	o.Arrived[1].At = stopped.Add(-time.Second) // that is work after it: it was caught
	if f := Judge(o, BuiltinRules()); f.Reason != ReasonHang {
		t.Errorf("%+v", f)
	}
	if f.Verdict != Fatal || f.Role != RoleRoot || !strings.Contains(f.Message, "rank 2 had failed, and did not end: ValueError: no such column") {
		t.Errorf("%+v", f)
	}
}
