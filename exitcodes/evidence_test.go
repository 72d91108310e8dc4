package exitcodes

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const bug = "Traceback (most recent call last):\n  File \"/app/train.py\", line 3, in <module>\n    main()\nValueError: heads must divide hidden\n"

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A kill for memory and a GPU error explain what they can have caused: by time, by victim, and not what a program says
// of a fault of its own.
func TestEvidenceHasATimeAndAVictim(t *testing.T) {
	kill := func(before time.Duration) func(*Outcome) {
		return func(o *Outcome) {
			o.At, o.OOMKills, o.Kills = noon, 1, []Kill{{At: noon.Add(-before), PID: 4711, Comm: "pt_data_worker"}}
		}
	}
	xid := func(before time.Duration) func(*Outcome) {
		return func(o *Outcome) {
			o.At, o.Xids = noon, []Xid{{Number: 79, PCI: "0000:3b:00", At: noon.Add(-before)}}
		}
	}
	printing := func(code int, text string) Outcome {
		o := exited(code)
		o.Output = []byte(text)
		return o
	}
	loader := strings.Replace(bug, "ValueError: heads must divide hidden", "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.", 1)
	for name, tt := range map[string]struct {
		outcome Outcome
		verdict Verdict
		code    int
		reason  string
		says    string
	}{
		"SIGKILL": {killed(9).with(kill(time.Second)), Retry, 137, "OOMKilled", "memory"},
		"SIGKILL an hour after a child was killed":   {killed(9).with(kill(time.Hour)), Retry, 137, "KilledBySIGKILL", "SIGKILL"},
		"a launcher's bare 1":                        {exited(1).with(kill(time.Second)), Retry, 137, "OOMKilled", "memory"},
		"a bare 1 long after":                        {exited(1).with(kill(time.Hour)), Fatal, 1, "Error", "no rule explains it"},
		"another bare code":                          {exited(2).with(kill(time.Second)), Fatal, 2, "Error", "besides, the kernel killed pt_data_worker (pid 4711)"},
		"an exception of its own":                    {printing(1, bug).with(kill(time.Second)), Fatal, 1, "Error", "heads must divide hidden"},
		"an exception of its own tells the kill too": {printing(1, bug).with(kill(time.Second)), Fatal, 1, "Error", "the kernel killed pt_data_worker (pid 4711)"},
		"the words of one whose child was killed":    {printing(1, loader).with(kill(time.Second)), Retry, 137, "OOMKilled", "memory"},
		"the same, long before":                      {printing(1, loader).with(kill(time.Hour)), Retry, 210, "DataLoaderKilled", "DataLoader worker"},
		"a crash":                                    {killed(11).with(kill(time.Second)), Retry, 139, "KilledBySIGSEGV", "besides, the kernel killed"},
		"nobody knows when":                          {printing(1, loader).with(func(o *Outcome) { o.OOMKills = 1 }), Retry, 137, "OOMKilled", "memory"},

		"a broken GPU":                        {exited(1).with(xid(time.Minute)), Retry, 214, "NodeUnhealthy", "Xid 79"},
		"a broken GPU and SIGABRT":            {killed(6).with(xid(time.Minute)), Retry, 214, "NodeUnhealthy", "Xid 79"},
		"a broken GPU, hours before":          {exited(1).with(xid(3 * time.Hour)), Fatal, 1, "Error", ""},
		"a broken GPU and a fault of its own": {printing(1, bug).with(xid(time.Minute)), Fatal, 1, "Error", "besides, the GPU driver reported Xid 79"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Judge(tt.outcome, BuiltinRules())
			if f.Verdict != tt.verdict || f.Code != tt.code || f.Reason != tt.reason || !strings.Contains(f.Message, tt.says) {
				t.Errorf("%s %d %s %q, want %s %d %s %q", f.Verdict, f.Code, f.Reason, f.Message, tt.verdict, tt.code, tt.reason, tt.says)
			}
		})
	}
}

func TestOnUnknown(t *testing.T) {
	silent := exited(3)
	strange := exited(1).printing("Traceback (most recent call last):", `  File "t.py", line 1, in f`, "RuntimeError: the moon is full")
	known := exited(1).printing("Traceback (most recent call last):", `  File "t.py", line 1, in f`, "ModuleNotFoundError: No module named 'x'")
	for _, tt := range []struct {
		name       string
		outcome    Outcome
		policy     OnUnknown
		progressed Known
		want       Verdict
		code       int
	}{
		{"nothing was said", silent, "", Unknown, Fatal, 3},
		{"nothing was said", silent, UnknownFatal, Yes, Fatal, 3},
		{"nothing was said", silent, UnknownRetry, No, Retry, 210},
		{"nothing was said", silent, UnknownRetryAfterProgress, Yes, Retry, 210},
		{"nothing was said", silent, UnknownRetryAfterProgress, No, Fatal, 3},
		{"nothing was said", silent, UnknownRetryAfterProgress, Unknown, Fatal, 3},
		{"an exception that nothing knows", strange, UnknownRetry, No, Retry, 210},
		{"an exception that nothing knows", strange, UnknownFatal, No, Fatal, 1},
		{"an exception that a rule knows", known, UnknownRetry, No, Fatal, 1},
		{"a command that is not there", exited(127), UnknownRetry, No, Fatal, 127},
		{"a code that says retry", exited(200), UnknownFatal, No, Retry, 200},
	} {
		o := tt.outcome
		o.OnUnknown, o.Progressed = tt.policy, tt.progressed
		f := Judge(o, BuiltinRules())
		if f.Verdict != tt.want || f.Code != tt.code {
			t.Errorf("%s, --unknown %s, progress %d: %s %d, want %s %d", tt.name, tt.policy, tt.progressed, f.Verdict, f.Code, tt.want, tt.code)
		}
		if f.Unknown != strings.Contains(f.Message, "no rule explains it") {
			t.Errorf("%s: the message %q, unknown %v", tt.name, f.Message, f.Unknown)
		}
	}
}

// When all that is known is an echo, who had failed before gangrun stopped it is guilty.
func TestGuilty(t *testing.T) {
	rank := func(n int, o Outcome) Outcome { o.Rank, o.At = n, noon.Add(time.Duration(n)*time.Second); return o }
	echo := func(n int) Outcome {
		return rank(n, exited(1).printing("Traceback (most recent call last):", `  File "t.py", line 1, in f`, "ConnectionResetError: [Errno 104] Connection reset by peer"))
	}
	stopped := func(n int, text string) Outcome {
		o := rank(n, killed(15))
		o.Stop, o.Output = StoppedByGang, []byte(text)
		return o
	}
	late := func(o Outcome) Outcome {
		o.StoppedAt, o.Arrived = noon, []Arrival{{Offset: 0, At: noon.Add(time.Second)}}
		return o
	}
	desync := rank(1, killed(6).printing("[rank1]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=183, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.",
		"[rank1]:[E1122 12:00:00.1 ProcessGroupNCCL.cpp:616] [7] finished collective #182, but didn't join collective #183"))
	lost := "step 1\nTraceback (most recent call last):\n  File \"t.py\", line 1, in f\nRuntimeError: Connection reset by peer\n"
	for name, tt := range map[string]struct {
		outcomes []Outcome
		want     int
		verdict  Verdict
		says     string
	}{
		"the words of one that was stopped":      {[]Outcome{stopped(0, bug), echo(1)}, 0, Fatal, "heads must divide hidden"},
		"and the echo is told":                   {[]Outcome{stopped(0, bug), echo(1)}, 0, Fatal, "the other candidate: ConnectionResetError"},
		"what it said when it was stopped":       {[]Outcome{late(stopped(0, bug)), echo(1)}, 1, Retry, "Connection reset"},
		"what it had got over":                   {[]Outcome{stopped(0, bug+"the sample is left out\n"), echo(1)}, 1, Retry, "Connection reset"},
		"it lost a peer, too":                    {[]Outcome{stopped(0, lost), echo(1)}, 1, Retry, "Connection reset"},
		"a cause is known":                       {[]Outcome{stopped(0, bug), rank(1, exited(1).printing(strings.Split(strings.ReplaceAll(bug, "heads", "rows"), "\n")...))}, 1, Fatal, "rows must divide"},
		"nobody said more":                       {[]Outcome{stopped(0, "step 1\n"), echo(1)}, 1, Retry, "Connection reset"},
		"the rank that torch names":              {[]Outcome{stopped(3, strings.ReplaceAll(bug, "heads", "rows")), desync, stopped(7, bug)}, 2, Fatal, "heads must divide"},
		"the rank that torch names said nothing": {[]Outcome{desync, stopped(7, "step 1\n")}, 0, Retry, "; the suspect is rank 7, named by rank 1: it said nothing itself of a failure"},
		"the rank that torch names lost it, too": {[]Outcome{desync, echo(7)}, 0, Retry, "; rank 7 is named in it"},
	} {
		t.Run(name, func(t *testing.T) {
			var findings []Finding
			for _, o := range tt.outcomes {
				findings = append(findings, Judge(o, BuiltinRules()))
			}
			f, i := Guilty(findings)
			if i != tt.want || f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
				t.Errorf("%d %s %q, want %d %s %q", i, f.Verdict, f.Message, tt.want, tt.verdict, tt.says)
			}
		})
	}
}

// TestBufferedUntilTheEnd has the lines of a training loop come after the traceback that ended it, as Python writes them when
// its standard output is no terminal. Where it may have been caught the other stream shows nothing then; the same one does,
// and so does what came before.
func TestBufferedUntilTheEnd(t *testing.T) {
	traceback := "Traceback (most recent call last):\n  File \"t.py\", line 9, in load\n    step()\nConnectionResetError: [Errno 104] Connection reset by peer\n"
	steps := ""
	for i := range 20 {
		steps += fmt.Sprintf("step %d\n", i)
	}
	end := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		steps  time.Duration // before the end
		stream int           // of them; the traceback's is 2
		want   Verdict
	}{
		"the other stream, at the end":       {10 * time.Millisecond, 1, Retry},
		"the other stream, seconds before":   {10 * time.Second, 1, Fatal},
		"the same stream":                    {10 * time.Millisecond, 2, Fatal},
		"it is not known which stream it is": {10 * time.Millisecond, 0, Fatal},
	} {
		f := Judge(Outcome{
			Rank: -1, LocalRank: -1, At: end, Status: Status{Code: 1}, Output: []byte(traceback + steps),
			Arrived: []Arrival{{0, end.Add(-tt.steps - time.Millisecond), 2}, {len(traceback), end.Add(-tt.steps), tt.stream}},
		}, BuiltinRules())
		if f.Verdict != tt.want {
			t.Errorf("%s: %s, %q; want %s", name, f.Verdict, f.Evidence, tt.want)
		}
	}
}

// Python writes what it has kept of its standard output at its end, after the traceback: that is no work.
func TestBufferedOutputIsNoWork(t *testing.T) {
	steps := strings.Repeat("step 1 loss 2.1\n", 20)
	lost := strings.Replace(bug, "ValueError: heads must divide hidden", "ConnectionResetError: [Errno 104] Connection reset by peer", 1)
	caught := strings.Replace(lost, "in <module>", "in load", 1)
	for name, tt := range map[string]struct {
		output  string
		after   time.Duration // between the traceback and the steps
		verdict Verdict
	}{
		"written at the end":            {lost + steps, 0, Retry},
		"the same, with times":          {lost + steps, 100 * time.Millisecond, Retry},
		"steps for a minute":            {lost + steps, time.Minute, Fatal},
		"caught where it was printed":   {caught + steps, 0, Fatal},
		"a fault of the program itself": {bug + steps, 0, Fatal},
	} {
		o := exited(1)
		o.Output, o.At = []byte(tt.output), noon
		if tt.after > 0 {
			at := strings.Index(tt.output, "step 1")
			o.Arrived = []Arrival{{Offset: 0, At: noon.Add(-tt.after)}, {Offset: at, At: noon}}
		}
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict {
			t.Errorf("%s: %s, %s", name, f.Verdict, f.Message)
		}
	}
}
