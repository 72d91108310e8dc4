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

// parties are agents of a job whose workers do not exist, in this process.
type parties struct {
	ctx    context.Context
	stop   context.CancelFunc
	first  int // which of the job's nodes are these, from here on
	agents []*agent.Agent
	ended  sync.WaitGroup
	said   chan start
}

// partyLease is how long a lease of theirs lasts.
const partyLease = 12 * time.Second

// joinParties joins some of a job's nodes, which restarts without end and without a pause. They and etcd share the
// processors of one machine; so that none is taken for dead because of that, their leases are
// long. They are not so long that the watches miss the answers to renewals, and ask in their place.
func joinParties(ctx context.Context, server *etcdServer, nodes, first, count int) *parties {
	spec := rendezvous.DefaultSpec(nodes)
	spec.Restarts = rendezvous.Restarts{Max: 1 << 30, Exhausted: rendezvous.ExhaustedRetry}
	g := &parties{first: first, said: make(chan start, count)}
	g.ctx, g.stop = context.WithCancel(ctx)
	for i := range count {
		name := fmt.Sprintf("trainer-%04d", first+i)
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
		case g.said <- said:
		case <-g.ctx.Done():
		}
		if said.err != nil {
			return
		}
	}
}

func (g *parties) starts() <-chan start { return g.said }

// fail makes the workers of a node fail.
func (g *parties) fail(node, round int) {
	killed := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: "KilledBySIGKILL", Code: 137, Signal: 9}
	g.agents[node-g.first].Failing(round, killed, nil)
	g.agents[node-g.first].Gone(round, killed, nil)
}

// leave ends the agents, all at once: each gives its lease back.
func (g *parties) leave() {
	g.stop()
	for _, a := range g.agents {
		g.ended.Go(a.Close)
	}
	g.ended.Wait()
}
