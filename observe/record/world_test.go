package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a node on a machine on which everything works, and its recorder. Times are seconds since noon.
type world struct {
	t       *testing.T
	n       *node.Node
	r       *Recorder
	now     time.Duration
	workers []node.Worker
	refuse  string // why no worker can be started
	events  []event.Event
}

func newWorld(t *testing.T, workers int) *world {
	w := &world{t: t}
	for i := range workers {
		w.workers = append(w.workers, node.Worker{Rank: i, LocalRank: i})
	}
	w.n, _ = node.New(node.Policy{
		Job: "j", Node: "n", StartedAt: noon, MaxRestarts: 3, Grace: 25 * time.Second, RestartGrace: 5 * time.Second,
		StopSignals: []node.Signal{node.SIGTERM}, Leftovers: node.LeftoversKill,
	}, noon)
	w.r, w.events = New(Config{Source: "s", Version: "v1", Job: "j", Node: "n", MaxRestarts: 3, StartedAt: noon})
	return w
}

// at hands events in at that second, and answers what the node asks for.
func (w *world) at(second float64, events ...node.Event) *world {
	w.now = time.Duration(second * float64(time.Second))
	for len(events) > 0 {
		at := noon.Add(w.now)
		if e, ok := events[0].(node.Exited); ok {
			e.At = at
			events[0] = e
		}
		effects := w.n.Step(events[0], at)
		w.events = append(w.events, w.r.Step(at, events[0], effects)...)
		events = events[1:]
		for _, e := range effects {
			switch e := e.(type) {
			case node.Prepare:
				p := node.Prepared{Workers: w.workers, MayStart: true}
				if w.refuse != "" {
					p.Failure = &node.Failure{Why: w.refuse, Code: 127}
				}
				events = append(events, p)
			case node.Fork:
				events = append(events, node.Forked{Worker: e.Worker, PID: 100 + e.Worker})
			case node.Gather:
				events = append(events, node.Judged{Worker: e.Worker, Finding: exitcodes.Judge(e.Outcome, exitcodes.NoRules())})
			case node.Amend:
				events = append(events, node.Amended{})
			case node.Sweep:
				events = append(events, node.Swept{})
			case node.Flush:
				events = append(events, node.Flushed{})
			}
		}
	}
	return w
}

func (w *world) exit(i, code, signal int) node.Event {
	return node.Exited{Worker: i, Status: exitcodes.Status{Code: code, Signal: signal}, Alone: true}
}

func steps(numbers ...int64) (r node.Reported) {
	for _, n := range numbers {
		r = append(r, node.Report{Step: &n})
	}
	return r
}

func step(n int64) *int64 { return &n }

func budget(total, preemptions int, cause string) node.Event {
	return node.Budget{Budget: rendezvous.Budget{Used: total, Total: total, Preemptions: preemptions, Cause: cause}}
}

// told is the events in short: second, type, round, step, and what is special.
func (w *world) told() (lines []string) {
	for i, e := range w.events {
		if e.Seq != int64(i+1) || e.ID != fmt.Sprintf("s-%d", e.Seq) || e.V != 1 || e.Source != "s" || e.Node != "n" ||
			e.Job != "j" {
			w.t.Errorf("event %d: %+v", i, e)
		}
		if _, err := event.Parse(e.Encode()); err != nil {
			w.t.Error(err)
		}
		line := fmt.Sprintf("%v %s", e.At.Sub(noon).Seconds(), e.Type)
		if e.Round != nil {
			line += fmt.Sprintf(" r%d", *e.Round)
		}
		if e.Step != nil {
			line += fmt.Sprintf(" s%d", *e.Step)
		}
		switch {
		case e.Began != nil:
			if b := e.Began.Restart; b != nil {
				line += fmt.Sprintf(" %s %s total=%d", b.Kind, b.Reason, e.Began.Restarts.Total)
				if b.Node != "" {
					line += " on=" + b.Node
				}
			}
			if e.Began.LostSteps != nil {
				line += fmt.Sprintf(" lost=%d", *e.Began.LostSteps)
			}
			if e.Began.Banned != nil {
				line += fmt.Sprint(" banned=", e.Began.Banned)
			}
		case e.Running != nil:
			line += fmt.Sprintf(" workers=%d recovery=%v", e.Running.Workers, e.Running.RecoverySeconds)
		case e.Stopping != nil:
			line += fmt.Sprintf(" %s: %s", e.Stopping.By, e.Stopping.Why)
		case e.Failed != nil:
			line += fmt.Sprintf(" %s cause=%v", e.Failed.Reason, e.Failed.Cause)
			if e.Failed.Rank != nil {
				line += fmt.Sprintf(" rank=%d", *e.Failed.Rank)
			}
		case e.RoundEnd != nil:
			line += fmt.Sprintf(" %s %s %v", e.RoundEnd.Verdict, e.RoundEnd.Reason, e.RoundEnd.Workers)
		case e.Leave != nil:
			line += " " + e.Leave.Why
		case e.End != nil:
			line += fmt.Sprintf(" %s %s %d", e.End.Verdict, e.End.Reason, e.End.ExitCode)
		case e.Checkpoint != nil:
			line += fmt.Sprintf(" %s %d", e.Checkpoint.Path, e.Checkpoint.Step)
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) want(lines ...string) {
	w.t.Helper()
	if got := w.told(); !slices.Equal(got, lines) {
		w.t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}
