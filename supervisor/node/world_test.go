package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

const s = time.Second

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is what is around a node in a test: it answers what is asked at once, as a machine would on which everything
// works, and remembers what was done. Times are since noon, at which gangrun started.
type world struct {
	t    *testing.T
	n    *Node
	now  time.Duration
	done []Effect // since it was last read

	workers []Worker
	left    []Process          // what the workers, or a hook, leave behind, until SIGKILL
	immune  bool               // not even that ends it
	judge   func(*Gather)      // may change what is judged
	fork    map[int]Failure    // workers that cannot be started
	hooks   map[int]Failure    // likewise
	hold    map[string]bool    // effects that are not answered: "Gather", "Prepare", ...
	amended *exitcodes.Finding // of worker 0, once all are gone
	silent  bool               // MayStart is false
	hung    []int              // the worker for which the others waited
	asked   []int              // the workers that are asked for their stacks
	pending []Gather
	rules   *exitcodes.Rules // nil: none
}

func newWorld(t *testing.T, p Policy, workers ...Worker) *world {
	t.Helper()
	if p.StartedAt.IsZero() {
		p.StartedAt = noon
	}
	if p.Grace == 0 {
		p.Grace, p.RestartGrace = 25*s, 5*s
	}
	if p.StopSignals == nil {
		p.StopSignals = []Signal{SIGTERM, SIGINT}
	}
	if p.HookTimeout == 0 {
		p.HookTimeout = 30 * s
	}
	if p.Leftovers == "" {
		p.Leftovers = LeftoversKill
	}
	if workers == nil {
		workers = []Worker{{Rank: -1, LocalRank: -1}}
	}
	w := &world{t: t, workers: workers, hold: map[string]bool{}}
	var first []Effect
	w.n, first = New(p, noon)
	w.do(first)
	return w
}

// ranks are workers of a gang.
func ranks(n int) (list []Worker) {
	for i := range n {
		list = append(list, Worker{Rank: i, LocalRank: i, Session: true})
	}
	return list
}

// at lets time pass, with everything that becomes due, and then hands the events in.
func (w *world) at(at time.Duration, events ...Event) *world {
	w.t.Helper()
	for range 100_000 {
		due := w.n.Deadline()
		if due.IsZero() || due.Sub(noon) > at {
			break
		}
		w.now = max(w.now, due.Sub(noon))
		w.step(Tick{})
	}
	w.now = max(w.now, at)
	for _, ev := range events {
		w.step(ev)
	}
	return w
}

func (w *world) step(ev Event) {
	w.t.Helper()
	if all, reports := ev.(Reported); reports {
		for i := range all {
			if all[i].MostAt.IsZero() { // just now
				all[i].MostAt = noon.Add(w.now)
			}
		}
	}
	w.do(w.n.Step(ev, noon.Add(w.now)))
}

func (w *world) do(effects []Effect) {
	w.t.Helper()
	for _, e := range effects {
		w.done = append(w.done, e)
		if w.hold[strings.TrimPrefix(fmt.Sprintf("%T", e), "node.")] {
			if g, ok := e.(Gather); ok {
				w.pending = append(w.pending, g)
			}
			continue
		}
		switch e := e.(type) {
		case Prepare:
			w.step(Prepared{Workers: w.workers, MayStart: !w.silent})
		case Fork:
			if why, found := w.fork[e.Worker]; found {
				w.step(NotForked{e.Worker, why})
				continue
			}
			w.step(Forked{Worker: e.Worker, PID: 100*w.n.round() + e.Worker + 1})
		case Gather:
			w.answer(e)
		case Amend:
			var all []exitcodes.Finding
			for i := range w.n.workers {
				all = append(all, w.n.workers[i].finding)
			}
			if w.amended != nil {
				all[0] = *w.amended
			}
			w.step(Amended{all, w.hung})
		case Hold:
			w.step(Held{})
		case Dump:
			w.step(Dumped{w.asked})
		case Sweep:
			found := w.left
			if e.Signal == SIGKILL && !w.immune {
				w.left = nil
			}
			w.step(Swept{found})
		case StartHook:
			if why, found := w.hooks[e.Number]; found {
				w.step(NotForked{Hook, why})
			}
		case FlushHook:
			w.step(HookFlushed{[]byte("its output\n")})
		case Flush:
			w.step(Flushed{})
		case GiveTerminal:
			w.step(Handed{true})
		}
	}
}

func (w *world) answer(g Gather) {
	if w.judge != nil {
		w.judge(&g)
	}
	rules := w.rules
	if rules == nil {
		rules = exitcodes.NoRules()
	}
	w.step(Judged{g.Worker, exitcodes.Judge(g.Outcome, rules)})
}

// start begins a round.
func (w *world) start(at time.Duration, round int) *world { return w.at(at, Begin{Round: round}) }

// exits lets a worker exit with a code.
func (w *world) exits(at time.Duration, i, code int) *world {
	return w.at(at, Exited{Worker: i, Status: exitcodes.Status{Code: code}, At: noon.Add(at), Alone: w.last(i) && w.left == nil})
}

// dies lets a worker die of a signal.
func (w *world) dies(at time.Duration, i int, sig Signal) *world {
	return w.at(at, Exited{Worker: i, Status: exitcodes.Status{Signal: int(sig)}, At: noon.Add(at), Alone: w.last(i) && w.left == nil})
}

// last reports whether no other worker runs.
func (w *world) last(i int) bool {
	for k := range w.n.workers {
		if k != i && i != Hook && !w.n.workers[k].ended {
			return false
		}
	}
	return true
}

func (w *world) signal(at time.Duration, sig Signal) *world { return w.at(at, Signaled{Signal: sig}) }

// end is the job's order to end as one does with what this node has said last.
func (w *world) end(at time.Duration) *world {
	o := w.n.verdict.outcome
	return w.at(at, End{End: rendezvous.End{Verdict: o.Verdict, Reason: o.Reason, Message: o.Message, Code: o.Code}, EndsJob: true})
}

// took returns what was done since the last call, in short: what was sent to whom, and what the job was told.
func (w *world) took() string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, e := range w.done {
		switch e := e.(type) {
		case Send:
			who := fmt.Sprint(e.Worker)
			if e.Worker == Hook {
				who = "hook"
			}
			if e.Group {
				who += "'s group"
			}
			say("%v to %s", e.Signal, who)
		case Sweep:
			say("%v to what is left", e.Signal)
		case Failing:
			say("failing %s", e.Outcome.Verdict)
		case Gone:
			say("gone %s", e.Outcome.Verdict)
		case Leave:
			switch {
			case e.Sick != "":
				say("leave sick")
			case e.Saves:
				say("leave after the save")
			default:
				say("leave")
			}
		case Serve:
			say("serve %s", served(e))
		case Tell:
			say("tell %s", e.Text)
		case StartHook:
			say("hook %d", e.Number)
		case StopSelf:
			say("stop self %v", e.Group)
		case GiveTerminal:
			say("terminal to %d", e.Worker)
		case Prepare:
			say("prepare")
		case Hold:
			say("hold")
		case Release:
			say("release %d", e.Worker)
		case Dump:
			say("dump")
		case Abandon:
			say("abandon")
		case Probe:
			say("probe")
		case StopProbes:
			say("stop probes")
		case Join:
			say("join")
		}
	}
	w.done = nil
	return strings.TrimSpace(strings.Join(list, ", "))
}

// served is what the job was told of a save, in short.
func served(s Serve) string {
	text := "looks"
	switch {
	case !s.Looks:
		text = "blind"
	case s.Served:
		text = "done"
	case s.Answered && s.Step == nil:
		text = "at no step"
	case s.Answered:
		text = fmt.Sprintf("at %d, %v each, within %v", *s.Step, time.Duration(s.Each), time.Duration(s.Within))
	}
	if s.Who != "" {
		text += ": " + s.Who
	}
	return text
}

// wants fails the test where something else was done.
func (w *world) wants(want string) *world {
	w.t.Helper()
	if got := w.took(); got != want {
		w.t.Errorf("after %v: %q, want %q", w.now, got, want)
	}
	return w
}

// ended fails the test unless the node has ended like that.
func (w *world) ended(verdict exitcodes.Verdict, code int, says string) {
	w.t.Helper()
	if w.n.State() != Ended {
		w.t.Fatalf("after %v it is %v, want it to have ended", w.now, w.n.State())
	}
	if m := w.n.final; m.Verdict != verdict || m.ExitCode != code || !strings.Contains(m.Message, says) {
		w.t.Errorf("%s, %d, %q; want %s, %d, %q", m.Verdict, m.ExitCode, m.Message, verdict, code, says)
	}
	if w.n.ExitCode() != code {
		w.t.Errorf("exits with %d, want %d", w.n.ExitCode(), code)
	}
}

// record is the last message that was written.
func (w *world) record() (m exitcodes.Message) {
	w.t.Helper()
	for _, e := range w.done {
		if r, ok := e.(Record); ok {
			m = r.Message
		}
	}
	return m
}

// logged reports whether a line was logged since the last look.
func (w *world) logged(text string) bool {
	for _, e := range w.done {
		if l, ok := e.(Log); ok && strings.Contains(l.Text, text) {
			return true
		}
	}
	return false
}
