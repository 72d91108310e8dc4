package node

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// examined is a node that looks at its machine, which was found fit at first.
func examined(t *testing.T, workers ...Worker) *world {
	t.Helper()
	return newWorld(t, Policy{Preflight: true}, workers...).at(1*s, Probed{}).wants("probe, join")
}

// used is the job's word that so many restarts are used up.
func used(n int) Budget { return Budget{rendezvous.Budget{Used: n}} }

// TestPreflight has a fit machine join, and one that is not leave before anybody knows of it.
func TestPreflight(t *testing.T) {
	w := examined(t).start(2*s, 0)
	w.exits(3*s, 0, 0).wants("prepare, gone success")
	w.end(3*s).ended(exitcodes.Success, 0, "")

	const fine = "nothing is wrong with this machine"
	if w = newWorld(t, Policy{Preflight: true}).at(1*s, Probed{}); !w.logged(fine) {
		t.Errorf("that it is fit is not said: %v", w.done)
	}
	w = newWorld(t, Policy{Preflight: true}).at(1*s, Probed{Notes: []string{"GPUs: nothing is known of them"}})
	if w.logged(fine) || !w.logged("nothing is known of them") {
		t.Errorf("nothing is wrong with what is not known: %v", w.done)
	}
	w.wants("probe, join")

	w = newWorld(t, Policy{Preflight: true}).at(1*s, Probed{Sick: []string{"GPUs: gone"}, Notes: []string{"disk: slow"}})
	if !w.logged("preflight: disk: slow") || !w.logged("not fit to train: GPUs: gone") || w.record().ExitCode != 214 {
		t.Errorf("what was found is not said: %v", w.done)
	}
	w.wants("probe, leave sick")
	w.at(2*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended, Code: 143}})
	w.ended(exitcodes.Retry, 214, "preflight: this machine is not fit to train: GPUs: gone")

	w = newWorld(t, Policy{Preflight: true, RetryCode: 138}).at(1*s, Probed{Sick: []string{"x"}})
	w.at(2*s, End{}).ended(exitcodes.Retry, 138, "not fit")
}

// TestPreflightOff asks for nothing.
func TestPreflightOff(t *testing.T) {
	w := newWorld(t, Policy{}).at(0, used(2)).start(0, 0)
	w.dies(1*s, 0, SIGKILL).wants("prepare, failing retry, gone retry")
}

// TestPreflightStopped is a stop from outside while the machine is checked: whatever is found then does not matter.
func TestPreflightStopped(t *testing.T) {
	w := newWorld(t, Policy{Preflight: true}).signal(1*s, SIGTERM).wants("probe, leave")
	w.at(2*s, Probed{Sick: []string{"GPUs: gone"}}).at(2*s, Probed{}).wants("")
	w = newWorld(t, Policy{Preflight: true}).signal(1*s, SIGTERM).wants("probe, leave")
	w.at(3*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended, Code: 143}}).wants("stop probes")
	w.at(4*s, Probed{Sick: []string{"GPUs: gone"}}).wants("")
	w.ended(exitcodes.Preempted, 143, "SIGTERM from outside before the worker was started")
}

// TestPreflightBetweenRounds is when the machine is checked again.
func TestPreflightBetweenRounds(t *testing.T) {
	for name, tt := range map[string]struct {
		used int
		end  func(w *world)
		want string
	}{
		"the first failure":          {0, func(w *world) { w.dies(5*s, 0, SIGKILL) }, "failing retry, gone retry"},
		"the second failure":         {1, func(w *world) { w.dies(5*s, 0, SIGKILL) }, "failing retry, gone retry, probe"},
		"a failure that is no retry": {1, func(w *world) { w.exits(5*s, 0, 3) }, "failing fatal, gone fatal"},
		"success":                    {1, func(w *world) { w.exits(5*s, 0, 0) }, "gone success"},
		"a hang":                     {0, func(w *world) { w.at(5*s, Hung{Why: "no step"}).dies(6*s, 0, SIGTERM) }, "hold, failing retry, gone , probe"},
		"a failure elsewhere":        {0, elsewhere(Stop{Failure: "Error"}), "SIGTERM to 0, gone"},
		"the second one elsewhere":   {1, elsewhere(Stop{Failure: "Error"}), "SIGTERM to 0, gone , probe"},
		"a hang elsewhere":           {0, elsewhere(Stop{Failure: exitcodes.ReasonHang}), "SIGTERM to 0, gone , probe"},
		"a sick machine elsewhere":   {0, elsewhere(Stop{Failure: exitcodes.ReasonNodeUnhealthy}), "SIGTERM to 0, gone , probe"},
		"another node leaves":        {1, elsewhere(Stop{Departure: true}), "SIGTERM to 0, gone"},
		"it is suspended":            {1, elsewhere(Stop{Suspend: true}), "SIGTERM to 0, gone"},
		"the second, after progress": {1, func(w *world) { w.at(3*s, Reported{{Step: steps(7)}}).dies(5*s, 0, SIGKILL) }, "failing retry, gone retry"},
		"nothing is restarted":       {1, func(w *world) { w.n.policy.NoRestart = true; w.dies(5*s, 0, SIGKILL) }, "failing retry, gone retry"},
	} {
		t.Run(name, func(t *testing.T) {
			w := examined(t).at(2*s, used(tt.used)).start(2*s, 0).wants("prepare")
			tt.end(w)
			w.wants(tt.want)
		})
	}
}

func steps(n int64) *int64 { return &n }

// elsewhere stops the worker for what has happened elsewhere.
func elsewhere(stop Stop) func(*world) {
	return func(w *world) { w.at(5*s, stop).dies(6*s, 0, SIGTERM) }
}

// TestPreflightHoldsTheRound has the next round come before it is known whether the machine is fit.
func TestPreflightHoldsTheRound(t *testing.T) {
	suspicious := func() *world {
		w := examined(t, ranks(2)...).at(2*s, used(1)).start(2*s, 0).dies(5*s, 0, SIGKILL).dies(5*s, 1, SIGTERM)
		return w.wants("prepare, failing retry, SIGTERM to 1, gone retry, probe")
	}
	// In the pause before the next round it costs nothing.
	suspicious().at(6*s, Probed{}).wants("").start(7*s, 1).wants("prepare")

	// The round waits, and begins.
	w := suspicious().start(6*s, 1).wants("")
	w.at(7*s, Probed{}).wants("prepare")
	if w.n.State() != Running {
		t.Errorf("it is %v", w.n.State())
	}

	// Or it does not begin here.
	w = suspicious().start(6*s, 1).wants("")
	w.at(7*s, Probed{Sick: []string{"GPUs: gone"}}).wants("failing retry, leave sick, gone retry")
	w.end(8*s).ended(exitcodes.Retry, 214, "not fit to train: GPUs: gone")

	// Or this node has gone before.
	w = suspicious().at(6*s, Probed{Sick: []string{"GPUs: gone"}}).wants("leave sick")
	w.start(7*s, 1).wants("gone")
	w.at(8*s, End{}).ended(exitcodes.Retry, 214, "not fit to train: GPUs: gone")

	// A stop comes before; nothing was prepared, so there is nothing to give up.
	w = suspicious().start(6*s, 1).at(6*s, Stop{Round: 1, Why: "n1 has gone"}).wants("gone")
	w.start(7*s, 2).wants("").at(8*s, Probed{}).wants("prepare")

	// The end comes before.
	w = suspicious().at(6*s, End{End: rendezvous.End{Verdict: exitcodes.Fatal, Code: 3, Reason: "Error", Message: "x"}})
	w.wants("stop probes").at(7*s, Probed{Sick: []string{"GPUs: gone"}}).wants("")
	w.ended(exitcodes.Fatal, 3, "x")
}

// TestPreflightTime has it be no deadline of the node's: each probe has its own.
func TestPreflightTime(t *testing.T) {
	w := newWorld(t, Policy{Preflight: true})
	if d := w.n.Deadline(); !d.IsZero() {
		t.Error(d)
	}
	w.at(time.Hour, Probed{}).wants("probe, join")
}
