package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// The tests run in bubbles, where time passes only while everybody waits for it: this is the clock there.
func clock() time.Duration { return time.Duration(time.Now().UnixNano()) }

// incarnations counts the nodes of all tests.
var incarnations atomic.Int64

// party is one node whose workers are simulated: it does what it is told and says so.
type party struct {
	*Agent
	t     *testing.T
	name  string
	round int
}

func join(t *testing.T, s store.Store, name string, spec rendezvous.Spec, change func(*Config)) *party {
	t.Helper()
	cfg := Config{
		Connect: func(context.Context) (store.Store, error) { return s, nil }, Name: name, Spec: spec, Clock: clock,
		StopTime: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Node: rendezvous.Node{
			Incarnation: fmt.Sprintf("%s#%d", name, incarnations.Add(1)), Slots: 2, Address: name,
		},
	}
	if testing.Verbose() {
		all := &slog.HandlerOptions{Level: slog.LevelDebug}
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), all)).With("node", name)
	}
	if change != nil {
		change(&cfg)
	}
	p := &party{Agent: Join(context.Background(), cfg), t: t, name: name, round: -1}
	t.Cleanup(p.Close)
	return p
}

// patience is longer than anything here is to take.
const patience = 5 * time.Minute

// next waits for the next order.
func (p *party) next() Order {
	p.t.Helper()
	select {
	case o := <-p.Orders():
		return o
	case <-time.After(patience):
		p.t.Fatalf("%s: no order", p.name)
	}
	return Order{}
}

// starts waits for the order to start and returns the round.
func (p *party) starts(number int) *Start {
	p.t.Helper()
	o := p.next()
	for o.Stop != nil && o.Stop.Round < number { // it crossed our word that nothing runs any more
		o = p.next()
	}
	if o.Start == nil || o.Start.Round.Number != number {
		p.t.Fatalf("%s: got %+v, want the start of round %d", p.name, describe(o), number)
	}
	if !p.MayStart() {
		p.t.Errorf("%s: the order to start comes too late", p.name)
	}
	p.round = number
	return o.Start
}

func (p *party) stops() {
	p.t.Helper()
	o := p.next()
	if o.Stop == nil || o.Stop.Round != p.round {
		p.t.Fatalf("%s: got %s, want the stop of round %d", p.name, describe(o), p.round)
	}
	p.Gone(p.round, rendezvous.Outcome{}, nil)
}

func (p *party) ends() *rendezvous.End {
	p.t.Helper()
	o := p.next()
	for o.Stop != nil && o.Stop.Round == p.round {
		o = p.next()
	}
	if o.End == nil {
		p.t.Fatalf("%s: got %s, want the end", p.name, describe(o))
	}
	p.Close()
	return o.End
}

func describe(o Order) string {
	switch {
	case o.Start != nil:
		return fmt.Sprintf("start of round %d", o.Start.Round.Number)
	case o.Slow != nil:
		return fmt.Sprintf("slow: %+v", *o.Slow)
	case o.Stop != nil:
		return fmt.Sprintf("stop of round %d: %s", o.Stop.Round, o.Stop.Why)
	}
	return fmt.Sprintf("end: %+v", o.End)
}

var (
	killed = rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "KilledBySIGKILL", Code: 137, Signal: 9, Role: "root"}
	broken = rendezvous.Outcome{
		Verdict: exitcodes.Fatal, Reason: "Error", Code: 1, Role: "root", Message: "rank 3: ValueError",
	}
	well = rendezvous.Outcome{Verdict: exitcodes.Success}
)

// parties are the nodes of a job.
type parties []*party

func gang(t *testing.T, m *store.InMemory, n int) parties {
	t.Helper()
	return gangOf(t, m, n, rendezvous.DefaultSpec(n), nil)
}

// gangOf is so many nodes of a job with this spec. Change, if not nil, has the last word on each.
func gangOf(t *testing.T, m *store.InMemory, n int, spec rendezvous.Spec, change func(i int, c *Config)) (g parties) {
	t.Helper()
	for i := range n {
		g = append(g, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, func(c *Config) {
			if change != nil {
				change(i, c)
			}
		}))
	}
	return g
}

// start waits until all are told to start a round.
func (g parties) start(round int) {
	for _, p := range g {
		p.t.Helper()
		p.starts(round)
	}
}

// hearNothing is for a moment at which nobody may have been told anything.
func (g parties) hearNothing() {
	for _, p := range g {
		p.t.Helper()
		select {
		case o := <-p.Orders():
			p.t.Fatalf("%s: got %s", p.name, describe(o))
		default:
		}
	}
}

// fail has a worker of one of two nodes fail in a round, and the other one stop for it.
func (g parties) fail(which, round int) {
	g[which].t.Helper()
	g[which].Failing(round, killed, nil)
	g[which].Gone(round, killed, nil)
	g[1-which].stops()
}

// succeed ends the round, and so the job.
func (g parties) succeed(round int) {
	for _, p := range g {
		p.Gone(round, well, nil)
	}
	for _, p := range g {
		p.t.Helper()
		if e := p.ends(); e.Verdict != exitcodes.Success {
			p.t.Errorf("%s: %+v", p.name, *e)
		}
	}
}
