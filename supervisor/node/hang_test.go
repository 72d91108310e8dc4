package node

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// hangs is a world in which the worker turns out to be the one that the others waited for.
func hangs(t *testing.T, worker int, asked ...int) *world {
	w := newWorld(t, Policy{Alone: true}, ranks(3)...)
	w.hung, w.asked = []int{worker}, asked
	w.judge = func(*Gather) {}
	return w
}

// TestHung: the workers write their stacks, of which they end, and who was the cause is known once all are gone. The
// answer to the request is not the verdict.
func TestHung(t *testing.T) {
	w := hangs(t, 1, 0, 1, 2)
	w.hold["Amend"], w.hold["Dump"] = true, true
	w.start(0, 0).at(5*s, Hung{Why: "no step for 4s"}, Hung{Why: "again"}).wants("prepare, failing retry, dump")
	for i := range 3 {
		w.dies(5*s, i, 6)
	}
	w.wants("")
	f := exitcodes.Judge(exitcodes.Outcome{Rank: 1, Hang: &exitcodes.Hang{Why: "made no progress", Evidence: "it sleeps"}}, exitcodes.NoRules())
	findings := []exitcodes.Finding{w.n.workers[0].finding, f, w.n.workers[2].finding}
	w.at(6*s, Amended{findings, []int{1}}).wants("gone retry")
	if w.n.verdict.cause != 1 {
		t.Error(w.n.verdict.cause)
	}
	w.end(7*s).ended(exitcodes.Retry, 212, "rank 1 made no progress")
}

// TestHungStays: what does not end of it is killed, since it had its time; who could not be asked is stopped as
// any worker.
func TestHungStays(t *testing.T) {
	w := hangs(t, 0, 0, 1)
	w.start(0, 0).at(5*s, Hung{Why: "no step"}).wants("prepare, failing retry, dump, SIGTERM to 2")
	w.at(5250 * time.Millisecond).wants("SIGKILL to 0, SIGKILL to 1")
	w.at(11 * s).wants("SIGKILL to 2")

	// Nobody answers what was asked.
	w = hangs(t, 0)
	w.hold["Dump"] = true
	w.start(0, 0).at(5*s, Hung{Why: "no step"}).wants("prepare, failing retry, dump")
	w.at(14 * s).wants("")
	w.at(15 * s).wants("SIGKILL to 0, SIGKILL to 1, SIGKILL to 2")
}

// TestHungAtItsEnd: what is stopped already is not asked for anything.
func TestHungAtItsEnd(t *testing.T) {
	w := hangs(t, 0, 0, 1, 2).start(0, 0)
	w.signal(5*s, SIGTERM).at(6*s, Hung{Why: "no step"}).wants("prepare, leave, SIGTERM to 0, SIGTERM to 1, SIGTERM to 2")
	w = hangs(t, 0, 0, 1, 2).start(0, 0)
	w.exits(5*s, 0, 3).at(6*s, Hung{Why: "no step"}).wants("prepare, failing fatal, SIGTERM to 1, SIGTERM to 2")
}

// TestHungElsewhere: another node says that the job hangs, and here nobody gets anywhere either.
func TestHungElsewhere(t *testing.T) {
	w := hangs(t, 2, 0, 1, 2).start(0, 0)
	w.hold["Dump"] = true
	w.at(5*s, Stop{Round: 0, Why: "it hangs", Silent: true}).wants("prepare, dump")
	w.at(6*s, Dumped{[]int{0, 1, 2}}).at(6250 * time.Millisecond).wants("SIGKILL to 0, SIGKILL to 1, SIGKILL to 2")

	w = hangs(t, 2, 0, 1, 2).start(0, 0)
	w.at(5*s, Stop{Round: 0, Why: "a node leaves", Silent: true, Departure: true}).wants("prepare, SIGTERM to 0, SIGTERM to 1, SIGTERM to 2")
}

// TestHungTogether: in a job of several nodes the workers are held where they stand, and asked for their stacks when the job
// stops all, so that none fails of the end of those on another node before its own stack is known.
func TestHungTogether(t *testing.T) {
	nodes := func() *world {
		w := hangs(t, 1, 0, 1, 2)
		w.n.policy.Alone = false
		return w.start(0, 0)
	}
	stop := Stop{Round: 0, Why: "it hangs", Silent: true, Failure: exitcodes.ReasonHang}
	w := nodes().at(5*s, Hung{Why: "no step"}, Hung{Why: "again"}).wants("prepare, hold, failing retry")
	w.at(5500*time.Millisecond, stop, stop).wants("dump")
	w.at(5750 * time.Millisecond).wants("SIGKILL to 0, SIGKILL to 1, SIGKILL to 2")

	// The job says nothing in time.
	w = nodes().at(5*s, Hung{Why: "no step"})
	w.at(7900 * time.Millisecond).wants("prepare, hold, failing retry")
	w.at(8*s, stop).wants("dump")

	// It does before they are held.
	w = nodes()
	w.hold["Hold"] = true
	w.at(5*s, Hung{Why: "no step"}, stop).wants("prepare, hold")
	w.at(5100*time.Millisecond, Held{}, Held{}).wants("failing retry, dump")

	// They are never held, and end all the same.
	w = nodes()
	w.hold["Hold"] = true
	w.at(5*s, Hung{Why: "no step"}, stop).wants("prepare, hold")
	w.at(8 * s).wants("failing retry, dump")
	w.at(9*s, Held{}).wants("SIGKILL to 0, SIGKILL to 1, SIGKILL to 2")

	// They were held, and could not be asked: stopped as they are they would hear nothing of their end.
	w = nodes()
	w.asked = []int{0}
	w.at(5*s, Hung{Why: "no step"}).at(5500*time.Millisecond, stop)
	w.wants("prepare, hold, failing retry, dump, SIGTERM to 1, release 1, SIGTERM to 2, release 2")

	// All have died meanwhile: the hang is told, and a later stop asks nobody.
	w = nodes()
	w.hold["Hold"] = true
	w.at(5*s, Hung{Why: "no step"})
	for i := range 3 {
		w.dies(6*s, i, SIGKILL)
	}
	w.wants("prepare, hold, failing retry, gone")
	w.signal(60*s, SIGTERM).wants("leave")

	// Somebody wants the end of this node meanwhile.
	w = nodes().at(5*s, Hung{Why: "no step"}).signal(6*s, SIGTERM)
	w.wants("prepare, hold, failing retry, leave, dump, SIGTERM to 0, SIGTERM to 1, SIGTERM to 2")

	// One has failed, and does not end: what the others wait for is known.
	nodes().at(5*s, Hung{Why: "rank 1 has failed", Failed: true}).wants("prepare, failing retry, dump")
}

// TestHungThenStopped: a signal from outside comes while they are ended for their hang.
func TestHungThenStopped(t *testing.T) {
	w := hangs(t, 0, 0, 1, 2).start(0, 0)
	w.hold["Dump"] = true
	w.at(5*s, Hung{Why: "no step"}).signal(6*s, SIGTERM)
	for i := range 3 {
		w.dies(7*s, i, SIGTERM)
	}
	w.end(7*s).ended(exitcodes.Preempted, 143, "SIGTERM from outside")
}

// TestLingers: who has done all its work and does not end is ended, and has succeeded.
func TestLingers(t *testing.T) {
	step := func(n int64) *int64 { return &n }
	lingers := func() *world {
		w := newWorld(t, Policy{Alone: true}, ranks(3)...).start(0, 0)
		w.at(s, Reported{{Step: step(30)}, {Step: step(30)}, {Step: step(30)}})
		return w.exits(2*s, 0, 0).exits(2*s, 1, 0)
	}
	// It has said that it is about to end.
	w := lingers().at(62*s, Hung{Why: "did not end", Exiting: true}, Hung{Why: "again", Exiting: true}).wants("prepare, SIGTERM to 2")
	w.at(67 * s).wants("SIGKILL to 2")
	w.dies(67*s, 2, SIGKILL).wants("gone success")
	w.end(67*s).ended(exitcodes.Success, 0, "")

	// Everything it has done is saved.
	w = lingers().at(3*s, Saved{Step: 30}, Hung{Why: "no step"}).wants("prepare, SIGTERM to 2")
	w.dies(4*s, 2, SIGTERM).wants("gone success")

	// Neither is known.
	for name, saved := range map[string]Saved{"older": {Step: 29}, "epochs": {Step: 300, Unit: "epoch"}} {
		t.Run(name, func(t *testing.T) {
			lingers().at(3*s, saved, Hung{Why: "no step"}).wants("prepare, failing retry, dump, SIGTERM to 2")
		})
	}
	lingers().at(3*s, Hung{Why: "no step"}).wants("prepare, failing retry, dump, SIGTERM to 2")

	// A sibling has not succeeded, or others live, or it was the only one: a checkpoint says nothing about the end then.
	w = newWorld(t, Policy{Alone: true}, ranks(3)...).start(0, 0)
	w.at(s, Saved{Step: 30}, Reported{{Step: step(30)}, {Step: step(30)}, {Step: step(30)}}).exits(2*s, 0, 0)
	w.at(3*s, Hung{Why: "no step"}).wants("prepare, failing retry, dump, SIGTERM to 1, SIGTERM to 2")
	w = newWorld(t, Policy{Alone: true}, ranks(1)...).start(0, 0).at(s, Saved{Step: 30}, Reported{{Step: step(30)}})
	w.at(3*s, Hung{Why: "no step"}).wants("prepare, failing retry, dump, SIGTERM to 0")
	newWorld(t, Policy{Alone: true}, ranks(1)...).start(0, 0).at(3*s, Hung{Why: "did not end", Exiting: true, Failed: true}).wants("prepare, failing retry, dump, SIGTERM to 0")
	w = newWorld(t, Policy{Alone: true}, ranks(1)...).start(0, 0).at(3*s, Hung{Why: "did not end", Exiting: true}).wants("prepare, SIGTERM to 0")
	w.dies(4*s, 0, SIGTERM).wants("gone success")

	// Somebody wants the end meanwhile.
	w = lingers().at(62*s, Hung{Why: "did not end", Exiting: true}).signal(63*s, SIGTERM)
	w.dies(64*s, 2, SIGTERM).end(64 * s)
	if w.n.State() != Ended {
		t.Error(w.n.State())
	}
}

// TestHungEcho: on another node the ranks are ended first, and one that waited for them fails of that before the hang is
// seen here, or before the order comes. The other ones are asked all the same.
func TestHungEcho(t *testing.T) {
	echo := func(g *Gather) {
		g.Outcome.Output = []byte("Traceback (most recent call last):\n  File \"/t.py\", line 3, in <module>\n    f()\nConnectionResetError: [Errno 104] Connection reset by peer\n")
	}
	for name, ev := range map[string]Event{
		"seen": Hung{Why: "no step"}, "ordered": Stop{Round: 0, Why: "it hangs", Silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Policy{}, ranks(3)...)
			w.judge, w.asked, w.rules = echo, []int{0, 1}, exitcodes.BuiltinRules()
			w.start(0, 0).exits(5*s, 2, 1).wants("prepare, failing retry")
			w.hold["Dump"] = true
			if w.at(5500*time.Millisecond, ev); !strings.HasSuffix(w.took(), "dump") {
				t.Error("they are not asked")
			}
			w.at(6*s, Dumped{[]int{0, 1}}).at(6250 * time.Millisecond).wants("SIGKILL to 0, SIGKILL to 1")
		})
	}
}
