package node

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

func step(n int64) *int64 { return &n }

// TestMessageMeanwhile is what is left behind if gangrun is killed, from the start to the end.
func TestMessageMeanwhile(t *testing.T) {
	w := newWorld(t, Policy{Job: "j", Node: "n", Role: "r", MaxRestarts: 3})
	look := func(says string, reason string) exitcodes.Message {
		t.Helper()
		m := w.record()
		if !strings.Contains(m.Message, says) || m.Reason != reason || m.Job != "j" || m.Node != "n" || m.Role != "r" || m.Restarts.Max != 3 {
			t.Errorf("%+v, want %q", m, says)
		}
		w.done = nil
		return m
	}
	look("killed while it waited for the other nodes", exitcodes.ReasonKilled)
	w.at(0, Saved{Path: "/c/7", Step: 7, Modified: noon.Add(-3 * s)}).start(0, 0)
	if m := look("killed while the worker ran", exitcodes.ReasonKilled); m.Checkpoint.Path != "/c/7" || *m.Checkpoint.Step != 7 || m.Checkpoint.AgeSeconds != 3 || m.ExitCode != 137 {
		t.Errorf("%+v", m)
	}
	w.at(1*s, Reported{{Step: step(12)}})
	w.done = nil
	w.at(8*s, Reported{{Step: step(19)}}).took()
	if w.at(12*s, Reported{{Step: step(20)}}); *w.record().Step != 20 {
		t.Errorf("step %v", w.record().Step)
	}
	w.signal(13*s, SIGTERM)
	look("SIGTERM from outside; gangrun was killed before the worker had answered", exitcodes.ReasonPreempted)
	w.exits(14*s, 0, 0)
	look("SIGTERM from outside, after which", exitcodes.ReasonPreempted)
	w.at(15*s, End{})
	if m := look("SIGTERM", exitcodes.ReasonPreempted); m.FinishedAt != noon.Add(15*s) {
		t.Errorf("finished at %v", m.FinishedAt)
	}
}

// TestEnding is how a node ends that the job has told to: its own words count where the cause was here.
func TestEnding(t *testing.T) {
	code := 3
	cause := &rendezvous.Stop{
		Round: 0, Node: "n1", Reason: "Error", Outcome: &rendezvous.Outcome{Verdict: exitcodes.Fatal, Rank: 5, LocalRank: 1, ExitCode: &code, Evidence: "ValueError"},
	}
	end := rendezvous.End{Verdict: exitcodes.Fatal, Reason: "Error", Message: "rank 5 on n1 exited 3", Code: 3, Cause: cause}

	w := newWorld(t, Policy{Node: "n0"}).start(0, 0).at(1*s, Stop{}).dies(1*s, 0, SIGTERM).at(2*s, End{End: end})
	w.ended(exitcodes.Fatal, 3, "rank 5 on n1")
	if c := w.n.final.RootCause; c.Node != "n1" || *c.Rank != 5 || c.Evidence != "ValueError" || w.n.final.LogTail != "" {
		t.Errorf("%+v", c)
	}

	w = newWorld(t, Policy{Node: "n1"}, ranks(1)...).start(0, 0)
	w.hold["Gather"] = true
	w.exits(1*s, 0, 3).at(1*s, Judged{0, exitcodes.Finding{Verdict: exitcodes.Fatal, Role: exitcodes.RoleRoot, Code: 3, Output: []byte("its last words"), Node: "n1"}})
	w.at(2*s, End{End: end})
	w.ended(exitcodes.Fatal, 3, "rank 5 on n1")
	if w.n.final.LogTail != "its last words" {
		t.Errorf("%q", w.n.final.LogTail)
	}

	lost := &rendezvous.Stop{Node: "n1", Message: "rank 5 was killed by SIGKILL; no reason is known"}
	own := *lost
	own.Node, own.Message = "n0", "what n0 has said itself"
	spent := "3 of 3 restarts are used up; none made progress" // its words are its own, whatever is in them
	exhausted := func(message string, cause *rendezvous.Stop) rendezvous.End {
		return rendezvous.End{Verdict: exitcodes.Retry, Code: 137, Message: message, Cause: cause,
			Spent: &rendezvous.Spent{Limit: rendezvous.LimitProgress, Says: spent}}
	}
	for name, tt := range map[string]struct {
		end   rendezvous.End
		retry int
		code  int
		why   Ending
	}{
		"exhausted": {exhausted(spent+"; "+lost.Message, lost), 0, 137, Ending{Why: spent, Limit: rendezvous.LimitProgress, Failure: lost.Message}},
		"exhausted, the failure was cut": {exhausted(spent+"; "+lost.Message[:20], lost), 0, 137,
			Ending{Why: spent, Limit: rendezvous.LimitProgress, Failure: lost.Message}},
		"exhausted here": {exhausted(spent+"; "+own.Message, &own), 0, 137, Ending{Why: spent, Limit: rendezvous.LimitProgress}},
		"exhausted, an earlier release says": {rendezvous.End{Verdict: exitcodes.Retry, Code: 137, Message: spent + "; " + lost.Message, Cause: lost}, 0, 137,
			Ending{Why: spent + "; " + lost.Message}},
		"a code for all": {rendezvous.End{Verdict: exitcodes.Retry, Code: 137, Message: "no"}, 138, 138, Ending{Why: "no"}},
		"another node's failure": {rendezvous.End{Verdict: exitcodes.Retry, Code: 137, Message: lost.Message, Cause: lost}, 0, 137,
			Ending{Failure: lost.Message}},
		"this node's":   {rendezvous.End{Verdict: exitcodes.Retry, Code: 137, Message: own.Message, Cause: &own}, 0, 137, Ending{}},
		"suspended":     {rendezvous.End{Verdict: exitcodes.Suspended, Code: 143, Message: "suspended"}, 138, 143, Ending{Why: "suspended"}},
		"alone":         {rendezvous.End{Verdict: exitcodes.Retry, Code: 214, Reason: exitcodes.ReasonNodeUnhealthy, Message: "no GPU"}, 0, 214, Ending{Why: "no GPU", Alone: true}},
		"no store":      {rendezvous.End{Verdict: exitcodes.Retry, Code: 213, Reason: exitcodes.ReasonStoreLost, Message: "no store"}, 0, 213, Ending{Why: "no store"}},
		"success":       {rendezvous.End{Verdict: exitcodes.Success}, 0, 0, Ending{}},
		"ended by hand": {rendezvous.End{Verdict: exitcodes.Fatal, Code: 91, Message: "stopped by command"}, 0, 91, Ending{Why: "stopped by command"}},
	} {
		w := newWorld(t, Policy{RetryCode: tt.retry}).start(0, 0).at(1*s, Stop{}).dies(1*s, 0, SIGTERM)
		w.n.verdict.message.Message = own.Message
		w.done = nil
		w.at(2*s, End{End: tt.end})
		w.ended(tt.end.Verdict, tt.code, tt.end.Message)
		var why Ending
		for _, e := range w.done {
			switch e := e.(type) {
			case Ending:
				why = e
			case Log:
				t.Errorf("%s: %q is said before the closing line", name, e.Text)
			}
		}
		if why != tt.why {
			t.Errorf("%s: %+v, want %+v", name, why, tt.why)
		}
	}
}

// TestOverruled names the rule's kind where it made the verdict another than the worker's code says.
func TestOverruled(t *testing.T) {
	for code, reason := range map[int]string{91: exitcodes.ReasonFatalByRule, 210: exitcodes.ReasonRetryableByRule, 5: "X"} {
		w := newWorld(t, Policy{})
		if m := w.n.failure(exitcodes.Finding{Verdict: exitcodes.Retry, Reason: "X", Code: code, CodeOverridden: true, Signal: 6}); m.Reason != reason || m.Signal != "SIGABRT" {
			t.Errorf("%d: %s, %s", code, m.Reason, m.Signal)
		}
	}
}

// TestProgressed is what counts as progress for rules that ask: a step behind where the round began. Where none is told at all, the output counts.
func TestProgressed(t *testing.T) {
	for _, tt := range []struct {
		from, step *int64
		want       exitcodes.Known
	}{
		{nil, nil, exitcodes.Unknown}, {nil, step(0), exitcodes.No}, {nil, step(1), exitcodes.Yes},
		{step(100), step(100), exitcodes.No}, {step(100), step(101), exitcodes.Yes},
	} {
		w := newWorld(t, Policy{SilentRestart: SilentRestartIgnore}).at(0, Begin{Step: tt.from})
		w.at(1*s, Reported{{Step: tt.step}})
		if o, _ := w.n.question(&w.n.workers[0]); o.Progressed != tt.want {
			t.Errorf("from %v to %v: %v, want %v", tt.from, tt.step, o.Progressed, tt.want)
		}
	}
}

// TestSilentRestart stops a worker that reports another step than the checkpoint's.
func TestSilentRestart(t *testing.T) {
	begin := Begin{Round: 1, Step: step(100), Path: "/c/100"}
	for name, tt := range map[string]struct {
		policy Policy
		begin  Begin
		report *int64
		want   string
		code   int
	}{
		"it resumes":             {Policy{}, begin, step(100), "", 0},
		"it counts from one":     {Policy{}, begin, step(99), "", 0},
		"from zero":              {Policy{}, begin, step(1), "SIGTERM to 0", 65},
		"from zero, fall back":   {Policy{SilentRestart: SilentRestartFallback}, begin, step(1), "SIGTERM to 0", 210},
		"from zero, ignored":     {Policy{SilentRestart: SilentRestartIgnore}, begin, step(1), "", 0},
		"it was given nothing":   {Policy{}, Begin{Round: 1, Step: step(100)}, step(1), "", 0},
		"it reports nothing":     {Policy{}, begin, nil, "", 0},
		"there is no checkpoint": {Policy{}, Begin{Looked: true}, step(1), "", 0},
	} {
		w := newWorld(t, tt.policy, ranks(1)...).at(0, tt.begin)
		w.took()
		w.at(1*s, Reported{{Step: tt.report}}).wants(tt.want)
		if tt.code != 0 {
			w.dies(2*s, 0, SIGTERM).end(2*s).ended(w.n.final.Verdict, tt.code, "was to resume from the checkpoint of step 100 (/c/100) and reported step 1")
		}
		_ = name
	}

	w := newWorld(t, Policy{}).at(0, Begin{Step: step(7), Path: "/c/7", Unresumed: "/c/7 is corrupt"})
	w.wants("failing retry, gone retry") // it could be read a moment ago
	w.end(0).ended(exitcodes.Retry, 210, "/c/7 is corrupt")
}

// TestSaysWhatItResumesFrom is one line at each start.
func TestSaysWhatItResumesFrom(t *testing.T) {
	for says, b := range map[string]Begin{
		"resuming from checkpoint":                {Round: 1, Step: step(5), Path: "/c/5"},
		"going back to an older":                  {Round: 1, Step: step(5), Path: "/c/5", FallBack: true},
		"it starts over, unless it finds its own": {Round: 1, Looked: true},
	} {
		w := newWorld(t, Policy{}).start(0, 0).at(1*s, Reported{{Step: step(9)}}).at(2*s, Stop{}).dies(2*s, 0, SIGTERM)
		w.done = nil
		if w.at(3*s, b); !w.logged(says) {
			t.Errorf("not said: %s", says)
		}
	}
}

// TestRehearsal kills when it is asked to, once.
func TestRehearsal(t *testing.T) {
	w := newWorld(t, Policy{Kills: []Kill{{Rank: 1, Signal: SIGKILL, After: 3 * s}, {Rank: 0, Signal: 11, AtStep: step(20)}}}, ranks(2)...).start(0, 0)
	w.took()
	w.at(3*s - 1).wants("")
	w.at(3 * s).wants("SIGKILL to 1")
	w.at(4*s, Reported{{Step: step(19)}, {}}).wants("")
	w.at(5*s, Reported{{Step: step(20)}, {}}).wants("SIGSEGV to 0")
	w.at(9*s, Reported{{Step: step(25)}, {}}).wants("")
}

func TestNames(t *testing.T) {
	if got := Names([]Process{{PID: 1, Name: "a"}, {PID: 2, Name: "b"}}); got != "1 (a), 2 (b)" {
		t.Error(got)
	}
	if got := Names(make([]Process, 25)); !strings.HasSuffix(got, "and 5 more") {
		t.Error(got)
	}
}

func TestTransition(t *testing.T) {
	w := newWorld(t, Policy{})
	defer func() {
		if recover() == nil {
			t.Error("a node that waits can be made to clear")
		}
	}()
	w.n.transition(Clearing)
}
