package node

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestWorkerInTheKernel has a worker that SIGKILL does not end: the node leaves, and what is stuck is named.
func TestWorkerInTheKernel(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(2)...).start(0, 0).dies(1*s, 1, SIGKILL).at(6 * s)
	w.took()
	for at := 7 * s; at < 36*s; at += s {
		w.at(at, Looked{0, []Process{{PID: 1, Deep: true}}}).wants("")
	}
	w.left = []Process{{PID: 1, Name: "python", Deep: true}}
	w.immune = true
	w.at(37*s, Looked{0, []Process{{PID: 1, Deep: true}}}) // it is waited for once
	if w.n.final == nil || w.n.final.ExitCode != 214 || !strings.Contains(w.n.final.Message, "stuck in the kernel in spite of SIGKILL: rank 0, pid 1") {
		t.Fatalf("it does not leave: %+v", w.n.final)
	}
	w.at(81*s, End{})
	w.ended(exitcodes.Retry, 214, "rank 0, pid 1")

	// What only takes long to give its memory back is waited for.
	w = newWorld(t, Policy{}).start(0, 0).signal(0, SIGINT).signal(1*s, SIGINT)
	w.at(60*s, Looked{0, []Process{{PID: 1}}})
	if w.n.workers[0].ended {
		t.Error("it was given up")
	}
	w.at(130*s, Looked{0, []Process{{PID: 1}}})
	if !w.n.workers[0].ended {
		t.Error("it is waited for ever")
	}
}

// TestLeftovers is the table of what becomes of what a worker leaves behind.
func TestLeftovers(t *testing.T) {
	for name, tt := range map[string]struct {
		policy  Policy
		code    int
		stopped bool // by a signal, with 25 s of grace, 5 of which the worker takes
		wants   string
		kill    time.Duration // after the worker's end
	}{
		"kill":                       {Policy{}, 0, false, "SIGTERM to what is left", 1 * s},
		"kill after a stop":          {Policy{}, 0, true, "SIGTERM to what is left", 20 * s},
		"term":                       {Policy{Leftovers: LeftoversTerm}, 0, false, "SIGTERM to what is left, gone success", 0},
		"term, but it may restart":   {Policy{Leftovers: LeftoversTerm}, 137, false, "failing retry, SIGTERM to what is left", 1 * s},
		"leave":                      {Policy{Leftovers: LeftoversLeave}, 0, false, "gone success", 0},
		"leave, but it may restart":  {Policy{Leftovers: LeftoversLeave}, 137, false, "failing retry, SIGTERM to what is left", 1 * s},
		"leave, and it never starts": {Policy{Leftovers: LeftoversLeave, NoRestart: true}, 137, false, "failing retry, gone retry", 0},
		"fatal, but it may restart":  {Policy{Leftovers: LeftoversLeave, RestartAny: true}, 3, false, "failing fatal, SIGTERM to what is left", 1 * s},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.policy).start(0, 0)
			if tt.stopped {
				w.signal(5*s, SIGTERM)
			}
			w.took()
			w.left = []Process{{PID: 9, Name: "sleep"}}
			w.exits(10*s, 0, tt.code).wants(tt.wants)
			if tt.kill == 0 {
				return
			}
			w.at(10*s + tt.kill - 1).wants("")
			if tt.stopped {
				w.left = nil // it went by itself
				w.at(11*s, Alone{}).wants("gone preempted")
				return
			}
			w.at(10*s + tt.kill).wants("SIGKILL to what is left")
			w.left = []Process{{PID: 10}} // forked meanwhile
			w.at(10*s + tt.kill + sweepAgain).wants("SIGKILL to what is left")
			if w.at(10*s + tt.kill + 2*sweepAgain); w.n.State() != Waiting {
				t.Errorf("it is %v", w.n.State())
			}
		})
	}
}

// TestLateWordOfNothingLeft hears that gangrun had no child when it has started another one since: what that one leaves
// behind is removed all the same before the next round.
func TestLateWordOfNothingLeft(t *testing.T) {
	left := []Process{{PID: 9, Name: "sleep"}}
	const removed = "SIGTERM to what is left"
	t.Run("of the round before", func(t *testing.T) {
		w := newWorld(t, Policy{}).start(0, 0).at(1*s, Alone{})
		w.took()
		w.left = left
		w.exits(2*s, 0, 137).wants("failing retry, " + removed)
	})
	t.Run("of a rank that ended before the next was there", func(t *testing.T) {
		w := newWorld(t, Policy{}, ranks(2)...).start(0, 0)
		w.took()
		w.at(1*s, Exited{Worker: 0, At: noon.Add(1 * s), Alone: true})
		w.left = left
		w.exits(2*s, 1, 137).wants("failing retry, " + removed)
	})
	t.Run("of the workers, when a hook runs", func(t *testing.T) {
		w := newWorld(t, Policy{OnExit: []string{"a"}}).start(0, 0).exits(1*s, 0, 0).end(1*s).at(2*s, Alone{})
		w.took()
		w.left = left
		w.at(3*s, Exited{Worker: Hook}).wants(removed)
	})
}
