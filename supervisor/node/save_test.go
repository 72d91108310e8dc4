package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// looking is the report of ranks that look at the stop file and have all finished a step.
func looking(count int, at int64) Reported {
	var all Reported
	for range count {
		all = append(all, Report{Step: step(at), Most: step(at), Looks: true})
	}
	return all
}

// trains is a node of two ranks that look, and make a step in 100 ms, up to step 8 at a second.
func trains(t *testing.T, p Policy) *world {
	w := newWorld(t, p, ranks(2)...).start(0, 3)
	for i := range int64(9) {
		w.at(time.Duration(i)*100*time.Millisecond, looking(2, i))
	}
	w.at(1 * s).wants("prepare, serve looks")
	return w
}

// TestServes takes a node that is called away through a save that all make: no signal is sent, the ranks are told the
// step, and when they have left the node ends, long before its grace is over.
func TestServes(t *testing.T) {
	for name, sig := range map[string]Signal{"SIGTERM": SIGTERM, "a notice": 10} {
		t.Run(name, func(t *testing.T) {
			w := trains(t, Policy{Notice: Notice{10, 25 * s}})
			w.signal(1*s, sig).wants("leave after the save")
			w.at(1*s, Ask{Round: 3}).wants("serve at 8, 100ms each, within 20s")
			w.at(1*s, Save{Round: 3, Step: step(28), Why: "b: it is leaving"}).wants("tell 28")
			w.at(1*s, Told{Round: 3}).at(3*s, looking(2, 28))
			w.exits(3*s, 0, 0).wants("")
			w.exits(4*s, 1, 0).wants("serve done, gone preempted")
			w.at(4*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
			w.ended(exitcodes.Preempted, 143, "; all ranks here have saved at step 28, as agreed")
		})
	}
}

// TestServesOthers is a node that stays: its ranks leave because another one does, and it continues with the next round.
func TestServesOthers(t *testing.T) {
	w := trains(t, Policy{})
	w.at(1*s, Ask{Round: 3}).wants("serve at 8, 100ms each, within 25s")
	w.at(1*s, Save{Round: 3, Step: step(28), Departure: true}).wants("tell 28")
	w.exits(3*s, 0, 0).exits(3*s, 1, 0).wants("serve done, gone")
	w.start(4*s, 4).wants("prepare")
	if w.n.note != "" || w.n.save != nil {
		t.Errorf("the next round begins with %q, %+v", w.n.note, w.n.save)
	}
}

// TestServesNot is every way in which it does not come to that: as without it, and the message says whose fault it was.
func TestServesNot(t *testing.T) {
	order := Save{Round: 3, Step: step(28)}
	for name, tt := range map[string]struct {
		do    func(w *world)
		took  string
		until time.Duration // when the last worker is killed
		says  string
	}{
		"in time": {func(w *world) { w.at(1*s, Ask{Round: 3}, order).at(1 * s).took() },
			"SIGTERM to 0, SIGTERM to 1, SIGKILL to 0, SIGKILL to 1", 26 * s,
			"asked by GANGRUN_STOP_FILE to save at step 28, and not done in time: rank 0 (at step 8), rank 1 (at step 8)"},
		"one": {func(w *world) { w.at(1*s, order).exits(3*s, 1, 0).took() },
			"SIGTERM to 0, SIGKILL to 0", 26 * s, "not done in time: rank 0 (at step 8)"},
		"one dies": {func(w *world) { w.at(1*s, order); w.took(); w.dies(2*s, 1, 9) },
			"SIGTERM to 0, SIGKILL to 0", 26 * s, "and not done: rank 0 (at step 8), rank 1 (ended at step 8)"},
		"the file cannot be written": {func(w *world) { w.at(1*s, order); w.took(); w.at(1*s, Told{Round: 3, Err: "no space left"}) },
			"SIGTERM to 0, SIGTERM to 1, SIGKILL to 0, SIGKILL to 1", 26 * s, ""},
		"another does not look": {func(w *world) { w.at(2*s, Stop{Round: 3, Departure: true, Why: "round 3 stops: it is leaving"}) },
			"SIGTERM to 0, SIGTERM to 1, SIGKILL to 0, SIGKILL to 1", 26 * s, ""},
		"a person does not want to wait": {func(w *world) { w.at(1*s, order); w.took(); w.signal(2*s, SIGINT) },
			"SIGINT to 0, SIGINT to 1, SIGKILL to 0, SIGKILL to 1", 2 * s, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := trains(t, Policy{})
			w.signal(1*s, SIGTERM).wants("leave after the save")
			tt.do(w)
			w.at(tt.until - 1)
			if got := w.n.State(); tt.until > 2*s && got != Running {
				t.Errorf("it is %v before its time is over", got)
			}
			w.at(tt.until)
			if got := strings.TrimPrefix(w.took(), ", "); got != tt.took {
				t.Errorf("%q, want %q", got, tt.took)
			}
			for i := range 2 {
				if !w.n.workers[i].ended {
					w.dies(tt.until, i, SIGKILL)
				}
			}
			w.at(tt.until, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
			w.ended(exitcodes.Preempted, 143, tt.says)
		})
	}
}

// TestServesAlone agrees with nobody where the job does not answer.
func TestServesAlone(t *testing.T) {
	w := trains(t, Policy{}).signal(1*s, SIGTERM).wants("leave after the save")
	w.at(4*s - 1).wants("")
	w.at(4 * s).wants("tell 28")
	w.at(4*s, Save{Round: 3, Step: step(99)}).wants("") // too late
	w.exits(5*s, 0, 0).exits(5*s, 1, 0).wants("serve done, gone preempted")
}

// TestBlind are ranks that have not said that they look: they are told to stop as ever, and the message says so.
func TestBlind(t *testing.T) {
	for name, tt := range map[string]struct {
		told Reported
		want string
	}{
		"nobody":                     {nil, "; no rank has said that it looks at GANGRUN_STOP_FILE"},
		"one":                        {Reported{{Looks: true}, {}}, "; rank 1 did not say that it looks at GANGRUN_STOP_FILE"},
		"one of several in a worker": {Reported{{Most: step(3), Blind: []int{5}}, {Looks: true}}, "; rank 0 did not say that it looks"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Policy{}, ranks(2)...).start(0, 3).at(1 * s)
			if tt.told != nil {
				w.at(1*s, tt.told)
			}
			w.took()
			w.at(1*s, Ask{Round: 3})
			if got := w.took(); !strings.HasPrefix(got, "serve blind: ") {
				t.Errorf("the answer is %q", got)
			}
			w.signal(1*s, SIGTERM).wants("leave, SIGTERM to 0, SIGTERM to 1")
			w.exits(2*s, 0, 0).exits(2*s, 1, 0)
			w.at(2*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
			w.ended(exitcodes.Preempted, 143, tt.want)
		})
	}
}

// TestAnswersWhenItKnows how fast steps are: a few steps ahead is no time at all where they take a millisecond.
func TestAnswersWhenItKnows(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(1)...).start(0, 0).at(0, looking(1, 5)).at(9*s, looking(1, 6))
	w.took()
	w.at(9*s, Ask{Round: 0}).wants("")
	w.at(9*s + paceKnown - 1).wants("")
	w.at(9*s + paceKnown).wants("serve at 6, 0s each, within 25s")
	w = newWorld(t, Policy{}, ranks(1)...).start(0, 0).at(0, looking(1, 5)).at(9*s, looking(1, 6)).at(9*s, Ask{Round: 0})
	w.took()
	w.at(9*s+time.Millisecond, looking(1, 7)).wants("serve at 7, 1ms each, within 25s")
	// Ranks a step apart, of which is heard together.
	w = newWorld(t, Policy{}, ranks(2)...).start(0, 0)
	for i := range int64(6) {
		at := time.Duration(i) * 200 * time.Millisecond
		slow := Report{Most: step(2 * i), MostAt: noon.Add(at - 30*time.Millisecond), Looks: true}
		fast := Report{Most: step(2*i + 1), MostAt: noon.Add(at - 10*time.Millisecond), Looks: true}
		w.at(at, Reported{slow, fast})
	}
	w.took()
	w.at(1*s, Ask{Round: 0}).wants("serve at 11, 100ms each, within 25s")
	// Reports of steps of a second, handed on in one moment.
	w = newWorld(t, Policy{}, ranks(1)...).start(0, 0)
	for i := range int64(4) {
		w.at(3*s, Reported{{Most: step(i), MostAt: noon.Add(time.Duration(i) * s), Looks: true}})
	}
	w.took()
	w.at(3*s, Ask{Round: 0}).wants("serve at 3, 1s each, within 25s")
	w = newWorld(t, Policy{}, ranks(1)...).start(0, 0).at(0, Reported{{Looks: true}})
	w.took()
	w.at(1*s, Ask{Round: 0}).wants("serve at no step")
	w.at(1*s, Ask{Round: 7}).wants("") // of another round
}

// TestSavesInTheEnd are ranks that are in the middle of the save when the time is over: no signal is sent to them before
// it is done; and ranks that have said that they are about to end have a moment for it.
func TestSavesInTheEnd(t *testing.T) {
	w := trains(t, Policy{SaveGrace: 60 * s}).signal(1*s, SIGTERM).at(1*s, Save{Round: 3, Step: step(10)})
	saving := Reported{{Step: step(10), Most: step(10), Looks: true, Saving: true}, {Step: step(10), Most: step(10), Looks: true}}
	w.at(20*s, saving)
	w.took()
	w.at(25 * s).wants("SIGTERM to 1")
	w.exits(25*s, 1, 1).at(30*s, looking(2, 10)).at(31 * s).wants("SIGTERM to 0") // it goes on training, and has not left
	w = trains(t, Policy{}).at(1*s, Save{Round: 3, Step: step(10)})
	w.took()
	w.at(2*s, Reported{{Step: step(10), Looks: true, Leaving: true}, {Step: step(10), Looks: true, Leaving: true}}).wants("")
	w.at(2*s + afterSaving).wants("SIGTERM to 0, SIGTERM to 1")
}

// TestFailsAfterTheSave: a rank that fails after its save has served, and takes nobody along that still saves.
func TestFailsAfterTheSave(t *testing.T) {
	w := trains(t, Policy{}).at(1*s, Save{Round: 3, Step: step(10), Departure: true}).at(2*s, looking(2, 10))
	w.took()
	w.exits(2*s, 1, 1).at(10 * s).wants("")
	w.exits(10*s, 0, 0).wants("serve done, gone")
}

// TestNoWorkers: what is asked and agreed on while no worker runs.
func TestNoWorkers(t *testing.T) {
	w := newWorld(t, Policy{}, ranks(1)...)
	w.hold["Prepare"] = true
	w.start(0, 0).at(0, Ask{Round: 0}).wants("prepare, serve blind")
	w.at(0, Save{Round: 0, Step: step(3)}).wants("abandon, gone")
}

// TestCalledAwayInASave is a node whose workers save already when it is called away itself: their end is the answer to
// that, of workers that ran and had time.
func TestCalledAwayInASave(t *testing.T) {
	for name, call := range map[string]func(w *world){
		"by SIGTERM when the first has left": func(w *world) {
			w.exits(2*s, 0, 0).signal(2*s, SIGTERM).wants("leave after the save")
		},
		"by SIGTERM":        func(w *world) { w.signal(2*s, SIGTERM).wants("leave after the save") },
		"by the time limit": func(w *world) { w.at(5 * s).wants("leave after the save") },
	} {
		for verdict, want := range map[bool]struct {
			verdict exitcodes.Verdict
			code    int
			says    string
		}{
			false: {exitcodes.Preempted, 143, "; all ranks here have saved at step 28, as agreed"},
			true:  {exitcodes.Success, 0, ""},
		} {
			t.Run(fmt.Sprintf("%s, --stop-verdict worker %t", name, verdict), func(t *testing.T) {
				w := trains(t, Policy{StopVerdictWorker: verdict, TimeLimit: 30 * s})
				w.at(1*s, Save{Round: 3, Step: step(28), Departure: true}).wants("tell 28")
				call(w)
				w.at(6*s, looking(2, 28))
				for i := range 2 {
					if !w.n.workers[i].ended {
						w.exits(6*s, i, 0)
					}
				}
				w.wants("serve done, gone " + string(want.verdict))
				w.end(6 * s)
				w.ended(want.verdict, want.code, want.says)
				if strings.Contains(w.n.final.Message, "no worker ran") {
					t.Errorf("it says %q, and its workers ran", w.n.final.Message)
				}
			})
		}
	}
}

// TestSavedAtAnotherStep: who saves and exits because of a signal has not saved at the step that was agreed on; who has
// left before has, whatever becomes of the others.
func TestSavedAtAnotherStep(t *testing.T) {
	start := func() *world {
		w := trains(t, Policy{}).signal(1*s, SIGTERM).at(1*s, Save{Round: 3, Step: step(28)})
		w.took()
		return w
	}
	over := func(w *world, want string) {
		t.Helper()
		w.wants(want)
		w.at(26*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended}})
	}
	w := start().at(21 * s)
	w.wants("SIGTERM to 0, SIGTERM to 1")
	w.exits(22*s, 0, 0).exits(22*s, 1, 0)
	over(w, "serve at no step: rank 0 (at step 8), rank 1 (at step 8), gone preempted")
	w.ended(exitcodes.Preempted, 143, "not done in time: rank 0 (at step 8), rank 1 (at step 8)")

	w = start().exits(2*s, 0, 0).exits(3*s, 1, 1) // in time, and not
	over(w, "serve at no step: rank 1 (ended at step 8), gone preempted")

	w = start().at(2*s, Reported{{Most: step(28), Looks: true, Leaving: true}, {Most: step(28), Looks: true, Leaving: true}})
	w.at(2*s + afterSaving).wants("SIGTERM to 0, SIGTERM to 1")
	w.exits(5*s, 0, 0).exits(5*s, 1, 0) // they had said before that they have saved
	over(w, "serve done, gone preempted")
}

// TestFailsBeforeTheStep: a rank that was only told by the file, and ends before the step, has failed by itself. What may
// be the echo of others that have left is not held against it.
func TestFailsBeforeTheStep(t *testing.T) {
	start := func(p Policy) *world {
		w := trains(t, p).at(1*s, Save{Round: 3, Step: step(28), Departure: true})
		w.took()
		return w
	}
	w := start(Policy{})
	w.dies(2*s, 1, SIGKILL).wants("failing retry, SIGTERM to 0")
	w.exits(3*s, 0, 0).wants("serve at no step: rank 0 (at step 8), rank 1 (ended at step 8), gone retry")
	want := "asked by GANGRUN_STOP_FILE to save at step 28, and not done: rank 0 (at step 8), rank 1 (ended at step 8)"
	if w.n.note != want {
		t.Errorf("%q, want %q", w.n.note, want)
	}
	w.end(3 * s)
	w.ended(exitcodes.Retry, 137, "rank 1 was killed by SIGKILL")

	w = start(Policy{})
	w.judge = func(g *Gather) { g.Outcome.Xids = []exitcodes.Xid{{Number: 79}} }
	w.dies(2*s, 1, SIGKILL).exits(3*s, 0, 0).wants("failing retry, SIGTERM to 0, " +
		"serve at no step: rank 0 (at step 8), rank 1 (ended at step 8), leave sick, gone retry")

	w = start(Policy{})
	w.rules = exitcodes.BuiltinRules()
	w.judge = func(g *Gather) {
		if g.Worker == 1 {
			g.Outcome.Output = []byte("Traceback (most recent call last):\n  File \"/t.py\", line 3, in <module>\n    f()\n" +
				"ConnectionResetError: [Errno 104] Connection reset by peer\n")
		}
	}
	w.exits(2*s, 1, 1).wants("SIGTERM to 0")
	w.exits(3*s, 0, 0).wants("serve at no step: rank 0 (at step 8), rank 1 (ended at step 8), gone")

	w = start(Policy{}) // it has said that it has saved
	w.at(2*s, Reported{{Most: step(8), Looks: true}, {Most: step(8), Looks: true, Leaving: true}})
	w.exits(2*s, 1, 1).wants("SIGTERM to 0")
}

// TestAskedAtTheEnd: workers that have all ended are in nobody's way, also while the evidence about them is gathered.
func TestAskedAtTheEnd(t *testing.T) {
	w := trains(t, Policy{})
	w.hold["Gather"] = true
	w.exits(1*s, 0, 0).exits(1*s, 1, 0).wants("")
	w.at(1*s, Ask{Round: 3}).wants("serve at no step")
	w.signal(1*s, SIGTERM)
	if w.n.note != "" {
		t.Errorf("it says %q of ranks that are gone", w.n.note)
	}
	w = trains(t, Policy{})
	w.hold["Gather"] = true
	w.exits(1*s, 0, 0).exits(1*s, 1, 0).wants("")
	w.at(1*s, Stop{Round: 3, Departure: true, Why: "round 3 stops: it is leaving"})
	if w.n.note != "" {
		t.Errorf("it says %q of ranks that are gone", w.n.note)
	}
}

// TestNothingIsSavedBeforeTheStart: a round that cannot be begun says nothing of the save in the round before.
func TestNothingIsSavedBeforeTheStart(t *testing.T) {
	w := trains(t, Policy{}).at(1*s, Save{Round: 3, Step: step(8), Departure: true})
	w.exits(2*s, 0, 0).exits(2*s, 1, 0)
	w.took()
	w.at(3*s, Begin{Round: 4, Unresumed: "the checkpoint is of another world size"})
	if w.n.save != nil || w.n.note != "" {
		t.Errorf("it has %+v, %q", w.n.save, w.n.note)
	}
	if got := w.took(); strings.Contains(got, "serve") {
		t.Errorf("the job is told %q", got)
	}
}
