package node

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// TestSignals is the table of docs/pid1.md: what a signal does to a worker that runs, and how the run ends if the worker
// exits on it a second later.
func TestSignals(t *testing.T) {
	usr1, usr2 := Signal(10), Signal(12)
	for name, tt := range map[string]struct {
		policy  Policy
		sig     Signal
		wants   string        // at once
		kill    time.Duration // after it, SIGKILL; 0: never
		verdict exitcodes.Verdict
		code    int // worker's is 3
	}{
		"SIGTERM":                        {Policy{}, SIGTERM, "SIGTERM to 0, leave", 25 * s, exitcodes.Preempted, 143},
		"SIGINT":                         {Policy{}, SIGINT, "SIGINT to 0, leave", 25 * s, exitcodes.Preempted, 130},
		"SIGHUP":                         {Policy{}, SIGHUP, "SIGHUP to 0", 0, exitcodes.Preempted, 129},
		"SIGQUIT":                        {Policy{}, SIGQUIT, "SIGQUIT to 0", 0, exitcodes.Preempted, 131},
		"SIGUSR1":                        {Policy{}, usr1, "SIGUSR1 to 0", 0, exitcodes.Fatal, 3},
		"a notice":                       {Policy{Notice: Notice{usr1, 100 * s}}, usr1, "SIGTERM to 0, leave", 100 * s, exitcodes.Preempted, 143},
		"a notice with a map":            {Policy{Notice: Notice{usr1, 100 * s}, SignalMap: map[Signal]Signal{usr1: usr2}}, usr1, "SIGUSR2 to 0, leave", 100 * s, exitcodes.Preempted, 143},
		"another signal than the notice": {Policy{Notice: Notice{usr1, 100 * s}}, usr2, "SIGUSR2 to 0", 0, exitcodes.Fatal, 3},
		"mapped":                         {Policy{SignalMap: map[Signal]Signal{SIGTERM: usr1}}, SIGTERM, "SIGUSR1 to 0, leave", 25 * s, exitcodes.Preempted, 143},
		"mapped to a stop":               {Policy{SignalMap: map[Signal]Signal{usr1: SIGTERM}}, usr1, "SIGTERM to 0, leave", 25 * s, exitcodes.Preempted, 138},
		"dropped":                        {Policy{SignalMap: map[Signal]Signal{SIGINT: 0}}, SIGINT, "", 0, exitcodes.Fatal, 3},
		"SIGTERM is no stop signal":      {Policy{StopSignals: []Signal{usr2}}, SIGTERM, "SIGTERM to 0", 0, exitcodes.Fatal, 3},
		"the whole group":                {Policy{WholeGroup: true}, SIGTERM, "SIGTERM to 0's group, leave", 25 * s, exitcodes.Preempted, 143},
		"the worker's own verdict":       {Policy{StopVerdictWorker: true}, SIGTERM, "SIGTERM to 0, leave", 25 * s, exitcodes.Fatal, 3},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *world {
				w := newWorld(t, tt.policy).start(0, 0)
				w.took()
				return w.signal(10*s, tt.sig)
			}
			w := start()
			if got := sorted(w.took()); got != sorted(tt.wants) {
				t.Errorf("%q, want %q", got, tt.wants)
			}
			if w.at(200 * s); tt.kill == 0 {
				w.wants("")
			} else if got := w.took(); got != "SIGKILL to 0" {
				t.Errorf("later %q, want SIGKILL", got)
			}
			if tt.kill != 0 {
				w = start()
				w.took()
				w.at(10*s + tt.kill - 1).wants("")
				w.at(10*s + tt.kill).wants("SIGKILL to 0")
			}
			w = start().exits(11*s, 0, 3)
			if w.n.over = true; w.n.final == nil {
				w.end(11 * s)
			} else {
				w.n.over = false
				w.at(11*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
			}
			w.ended(tt.verdict, tt.code, "")
		})
	}
}

func sorted(list string) string {
	parts := strings.Split(list, ", ")
	if len(parts) == 2 && parts[0] == "leave" {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return strings.Join(parts, ", ")
}

// TestLaterSignals can only shorten the wait. Only a second SIGINT ends it.
func TestLaterSignals(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second Signal
		kill          time.Duration // SIGKILL
	}{
		"SIGTERM twice":        {SIGTERM, SIGTERM, 25 * s},
		"SIGINT twice":         {SIGINT, SIGINT, 10 * s},
		"SIGINT after SIGTERM": {SIGTERM, SIGINT, 10 * s},
		"SIGTERM after SIGINT": {SIGINT, SIGTERM, 25 * s},
		"after a notice":       {10, SIGTERM, 35 * s},
		"a notice after it":    {SIGTERM, 10, 25 * s},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Policy{Notice: Notice{10, 100 * s}}).start(0, 0).signal(0, tt.first).at(10*s - 1)
			w.took()
			if w.signal(10*s, tt.second); tt.kill > 10*s {
				w.at(tt.kill - 1)
				if got := w.took(); strings.Contains(got, "SIGKILL") {
					t.Errorf("too early: %s", got)
				}
			}
			if w.at(tt.kill); !strings.HasSuffix(w.took(), "SIGKILL to 0") {
				t.Errorf("no SIGKILL after %v", tt.kill)
			}
			w.dies(tt.kill, 0, SIGKILL)
			w.at(tt.kill, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
			code := 143
			if tt.first == SIGINT {
				code = 130
			}
			w.ended(exitcodes.Preempted, code, "")
		})
	}
}

// TestHint has a worker survive a signal that may have asked for the end: what it dies of later is its own.
func TestHint(t *testing.T) {
	for _, sig := range []Signal{SIGQUIT, SIGHUP} {
		w := newWorld(t, Policy{}).start(0, 0).signal(1*s, sig)
		w.dies(1*s+hintFor, 0, 11)
		w.end(4*s).ended(exitcodes.Retry, 139, "killed by SIGSEGV")
		w = newWorld(t, Policy{}).start(0, 0).signal(1*s, sig)
		w.dies(1*s+hintFor-1, 0, sig)
		w.at(4*s, End{})
		w.ended(exitcodes.Preempted, 128+int(sig), "")
	}
}

// TestWhileNoWorkerRuns is every state in which a stop finds nothing to stop.
func TestWhileNoWorkerRuns(t *testing.T) {
	stop := func(w *world, at time.Duration) {
		w.signal(at, SIGTERM)
		w.at(at, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
	}
	w := newWorld(t, Policy{})
	stop(w, 0)
	w.ended(exitcodes.Preempted, 143, "before the worker was started")

	w = newWorld(t, Policy{MaxRestarts: 3}).start(0, 0).dies(1*s, 0, SIGKILL)
	stop(w, 2*s)
	w.ended(exitcodes.Preempted, 143, "while a failed worker was to be restarted")

	for alone, says := range map[bool]string{true: "while no worker ran", false: "while no worker ran: this node waited for the others"} {
		w = newWorld(t, Policy{Alone: alone}).start(0, 0).at(1*s, Stop{Why: "x"}).dies(1*s, 0, SIGTERM)
		stop(w, 2*s)
		if w.ended(exitcodes.Preempted, 143, says); !strings.HasSuffix(w.n.final.Message, says) {
			t.Errorf("%q", w.n.final.Message)
		}
	}

	// The job has yet to say that it is over.
	for _, tt := range []struct {
		alone bool
		code  int
		want  exitcodes.Verdict
	}{
		{true, 0, exitcodes.Success}, {true, 3, exitcodes.Fatal}, {true, 137, exitcodes.Preempted},
		{false, 0, exitcodes.Preempted}, {false, 3, exitcodes.Fatal}, {false, 137, exitcodes.Preempted},
	} {
		w = newWorld(t, Policy{Alone: tt.alone}).start(0, 0).exits(1*s, 0, tt.code)
		if stop(w, 2*s); w.n.final.Verdict != tt.want {
			t.Errorf("%s after the code %d, alone %v, want %s", w.n.final.Verdict, tt.code, tt.alone, tt.want)
		}
	}

	// What is left behind of a success keeps the success; of a failure that could be retried nothing comes any more.
	for status, verdict := range map[int]exitcodes.Verdict{0: exitcodes.Success, 3: exitcodes.Fatal, 137: exitcodes.Preempted} {
		w = newWorld(t, Policy{}).start(0, 0)
		w.left = []Process{{PID: 9}}
		w.exits(1*s, 0, status).signal(1*s, SIGTERM)
		w.at(60*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
		if w.n.final.Verdict != verdict {
			t.Errorf("%s after the code %d, want %s", w.n.final.Verdict, status, verdict)
		}
	}
}

// TestStopDuringAStop has the end asked for while the workers are stopped for another reason.
func TestStopDuringAStop(t *testing.T) {
	// After a failure here: the answer is to the failure, and there will be no restart.
	w := newWorld(t, Policy{}, ranks(2)...).start(0, 0).dies(1*s, 1, SIGKILL).signal(2*s, SIGTERM)
	w.took()
	w.at(6*s - 1).wants("")
	w.at(6 * s).wants("SIGKILL to 0") // the stop had its own clock, which a request does not make longer
	w.dies(6*s, 0, SIGKILL).at(7*s, End{})
	w.ended(exitcodes.Preempted, 143, "while a failed worker was to be restarted")

	// Another node leaves, then this one is called, too: it has its own time.
	w = newWorld(t, Policy{}).start(0, 0).at(1*s, Stop{Departure: true}).signal(2*s, SIGTERM)
	w.took()
	w.at(27*s - 1).wants("")
	w.at(27 * s).wants("SIGKILL to 0")
}

// TestTimeLimit gives notice --grace before it, and nothing has longer than it.
func TestTimeLimit(t *testing.T) {
	limit := Policy{TimeLimit: 100 * s}
	w := newWorld(t, limit).start(0, 0)
	w.took()
	w.at(75*s - 1).wants("")
	w.at(75 * s).wants("leave, SIGTERM to 0")
	w.at(100 * s).wants("SIGKILL to 0")
	w.dies(100*s, 0, SIGKILL).at(100*s, End{})
	w.ended(exitcodes.Preempted, 143, "the time limit of 1m40s")

	w = newWorld(t, limit).start(0, 0).signal(74*s, SIGTERM).at(74 * s)
	w.took()
	w.at(99*s - 1).wants("")
	w = newWorld(t, limit).start(0, 0).signal(90*s, SIGTERM)
	w.took()
	w.at(100 * s).wants("SIGKILL to 0")

	w = newWorld(t, limit) // it waits for others all the time
	w.at(75 * s).wants("leave")

	// The machine stood still until it was over: nothing is left of the time, and not less than that.
	w = newWorld(t, limit).start(0, 0)
	w.took()
	w.now = 100370 * time.Millisecond
	w.step(Tick{})
	var grace any
	for _, e := range w.done {
		if l, ok := e.(Log); ok && strings.HasPrefix(l.Text, "stopping: ") {
			grace = l.Args[len(l.Args)-1]
		}
	}
	if grace != time.Duration(0) {
		t.Errorf("grace=%v", grace)
	}
	w.wants("leave, SIGTERM to 0, SIGKILL to 0")
}

// TestSaving puts SIGKILL off while a checkpoint is saved, as far as the pod lives.
func TestSaving(t *testing.T) {
	saving := func(yes bool) Event { return Reported{{Saving: yes}} }
	p := Policy{SaveGrace: 55 * s, Leftovers: LeftoversKill}
	w := newWorld(t, p).start(0, 0).at(0, saving(true)).signal(0, SIGTERM)
	w.took()
	w.at(25*s, Tick{})
	if !w.logged("saving a checkpoint: SIGKILL waits until") {
		t.Error("nothing is said")
	}
	w.wants("")
	w.at(40*s, saving(false)).wants("")
	w.at(42*s - 1).wants("")
	w.at(42 * s).wants("SIGKILL to 0")

	w = newWorld(t, p).start(0, 0).at(0, saving(true)).signal(0, SIGTERM)
	w.took()
	w.at(55*s - 1).wants("")
	w.at(55 * s).wants("SIGKILL to 0")
	w.dies(55*s, 0, SIGKILL)

	// A later request shortens it all the same; a second SIGINT ends it.
	w = newWorld(t, p).start(0, 0).at(0, saving(true)).signal(0, SIGTERM).at(30 * s)
	w.took()
	w.signal(31*s, SIGINT).wants("SIGINT to 0, SIGKILL to 0")
}

// TestFlush ends what is still to be written out with the grace, or a second signal.
func TestFlush(t *testing.T) {
	begin := func(p Policy) *world {
		w := newWorld(t, p)
		w.hold["Flush"] = true
		w.start(0, 0).exits(10*s, 0, 0)
		w.end(10 * s)
		return w
	}
	w := begin(Policy{})
	if w.at(10*s + flushTime - 1); w.n.State() != Flushing {
		t.Fatalf("it is %v", w.n.State())
	}
	w.at(10*s+flushTime).ended(exitcodes.Success, 0, "")

	w = begin(Policy{})
	w.signal(11*s, SIGTERM).signal(12*s, Signal(28)).at(13 * s) // a change of the window is nothing
	if w.n.State() != Flushing {
		t.Error("the first signal ends it")
	}
	w.signal(14*s, SIGTERM).ended(exitcodes.Success, 0, "")

	w = begin(Policy{Grace: 2 * s, RestartGrace: s})
	w.signal(11*s, SIGTERM).at(13*s).ended(exitcodes.Success, 0, "")

	// After a stop whose grace is over there is next to nothing left.
	w = newWorld(t, Policy{Grace: 2 * s, RestartGrace: s})
	w.hold["Flush"] = true
	w.start(0, 0).signal(1*s, SIGTERM).at(3*s).dies(3*s, 0, SIGKILL).at(3*s, End{})
	w.at(3*s+flushAtStop).ended(exitcodes.Preempted, 143, "")
}

// TestInterrupted has a worker say that it was asked to stop, when gangrun was not: the node leaves as if it had been.
func TestInterrupted(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(2)...)
	w.hold["Gather"] = true
	w.start(0, 0).exits(1*s, 0, 1).took()
	w.at(1*s, Judged{0, exitcodes.Finding{Verdict: exitcodes.Preempted, Reason: exitcodes.ReasonPreempted, Code: 130, Message: "KeyboardInterrupt"}})
	w.wants("leave, SIGINT to 1")
	w.dies(2*s, 1, SIGINT)
	w.at(2*s, Judged{1, exitcodes.Finding{Verdict: exitcodes.Preempted, Reason: exitcodes.ReasonPreempted, Code: 130, Message: "SIGINT from outside"}})
	w.at(2*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended, Code: 143}})
	w.ended(exitcodes.Preempted, 130, "")
}
