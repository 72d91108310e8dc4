package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// The name of the record in etcd.
const (
	roundsNamespace = "bench"
	roundsJob       = "rounds"
)

// parties are the agents of a job whose workers do not exist.
type parties struct {
	ctx    context.Context
	stop   context.CancelFunc
	agents []*agent.Agent
	ended  sync.WaitGroup
	starts chan start
}

// start says that a party has got the order to start a round, or why it never will.
type start struct {
	at    time.Duration
	round int
	err   error
}

// partyLease is how long a lease of theirs lasts.
const partyLease = 12 * time.Second

// joinParties joins so many agents to a job that restarts without end and without a pause. They and etcd share the
// processors of one machine; so that none is taken for dead because of that, their leases are
// long. They are not so long that the watches miss the answers to renewals, and ask in their place.
func joinParties(ctx context.Context, server *etcdServer, nodes int) *parties {
	spec := rendezvous.DefaultSpec(nodes)
	spec.Restarts = rendezvous.Restarts{Max: 1 << 30, Exhausted: rendezvous.ExhaustedRetry}
	g := &parties{starts: make(chan start, nodes)}
	g.ctx, g.stop = context.WithCancel(ctx)
	for i := range nodes {
		name := fmt.Sprintf("trainer-%04d", i)
		a := agent.Join(g.ctx, agent.Config{
			Connect: server.open, Name: name, Spec: spec, StopTime: time.Second, Lease: partyLease,
			Log:  slog.New(slog.DiscardHandler),
			Node: rendezvous.Node{Incarnation: name, Slots: 8, Address: name + ".example.org"},
		})
		g.agents = append(g.agents, a)
		g.ended.Go(func() { g.obey(a, name) })
	}
	return g
}

// open opens a connection to the record.
func (s *etcdServer) open(ctx context.Context) (store.Store, error) {
	st, err := etcd.Open(ctx, etcd.Config{Endpoints: []string{s.client}, Namespace: roundsNamespace, Job: roundsJob})
	if err != nil {
		return nil, err // not st: a nil pointer in an interface is not nil
	}
	return st, nil
}

// obey does what an agent orders, at once, until it ends.
func (g *parties) obey(a *agent.Agent, name string) {
	for {
		said := start{}
		select {
		case o := <-a.Orders():
			switch {
			case o.Start != nil:
				said = start{at: clock(), round: o.Start.Round.Number}
			case o.Stop != nil:
				a.Gone(o.Stop.Round, rendezvous.Outcome{}, nil)
				continue
			default:
				said = start{err: fmt.Errorf("%s is to end: %s: %s", name, o.End.Reason, o.End.Message)}
			}
		case <-g.ctx.Done():
			return
		}
		select {
		case g.starts <- said:
		case <-g.ctx.Done():
		}
		if said.err != nil {
			return
		}
	}
}

// fail makes the workers of a node fail, and returns when.
func (g *parties) fail(node, round int) time.Duration {
	killed := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "KilledBySIGKILL", Code: 137, Signal: 9}
	at := clock()
	g.agents[node].Failing(round, killed, nil)
	g.agents[node].Gone(round, killed, nil)
	return at
}

// started waits until all have been ordered to start a round, and returns when the last one was.
func (g *parties) started(round int) (last time.Duration, err error) {
	late := time.After(patience)
	for n := range g.agents {
		select {
		case s := <-g.starts:
			if s.err == nil && s.round != round {
				s.err = fmt.Errorf("a node starts round %d, not %d", s.round, round)
			}
			if s.err != nil {
				return 0, s.err
			}
			last = max(last, s.at)
		case <-late:
			return 0, fmt.Errorf("only %d of %d nodes have started round %d in %v", n, len(g.agents), round, patience)
		case <-g.ctx.Done():
			return 0, g.ctx.Err()
		}
	}
	return last, nil
}

// leave ends the agents, all at once: each gives its lease back.
func (g *parties) leave() {
	g.stop()
	for _, a := range g.agents {
		g.ended.Go(a.Close)
	}
	g.ended.Wait()
}
