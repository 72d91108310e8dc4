package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// roundsSize is a job whose rounds are measured.
type roundsSize struct {
	nodes  int
	usual  int // rounds
	torch  int // rounds of torch, whose time grows with the nodes; 0: none
	budget budget
}

var roundsSizes = []roundsSize{
	{nodes: 2, usual: 60, torch: 10, budget: 20}, // ms
	{nodes: 8, usual: 60, torch: 5},
	{nodes: 64, usual: 30, torch: 2, budget: 25},
	{nodes: 256, usual: 20, budget: 80},
	{nodes: 1024, usual: 10, budget: 400},
}

// For each node and round.
const (
	requestsBudget budget = 6
	trafficBudget  budget = 8 // KiB
)

// roundsRows is where a gang's values go: ms, requests, KiB, what it asks in a minute while nothing happens, and what it
// takes of a processor.
type roundsRows struct{ took, asked, traffic, idle, idleBytes, used *row }

// gangRounds measures how long it takes the agents of a job to begin a new round, from the failure on one of them
// until every one has the order to start: all have stopped before, and said so. They are real, each with a connection
// of its own, in several processes; only their workers are not, and stop at once. Etcd is another process. Beside that
// it measures the same messages without gangrun, from as many processes, and the rendezvous of torch, which is less: it
// begins when all nodes know already that they are to come.
func (l *lab) gangRounds() error {
	fmt.Println("\nrounds: one etcd on this machine, its files in the temporary directory; at most 128 nodes in one process")
	python := l.peers["torchrun"]
	if python == "" || l.quick {
		fmt.Println("rounds: without torch's rendezvous")
	}
	requests := &table{title: "rounds: requests to etcd for each node and round, besides what an idle job asks"}
	traffic := &table{title: "rounds: to and from etcd for each node and round, besides an idle job's, KiB"}
	idle := &table{title: fmt.Sprintf(
		"rounds: an idle job's requests, renewals among them, for each node and minute; leases of %v", partyLease)}
	idleTraffic := &table{title: "rounds: to and from etcd for each node of an idle job and minute, KiB"}
	for _, size := range roundsSizes {
		if l.quick && size.nodes > 8 || l.nodes > 0 && size.nodes != l.nodes {
			continue
		}
		name := fmt.Sprintf("%d nodes", size.nodes)
		took := &table{
			title: fmt.Sprintf("rounds: %s, one's failure to the last order to start again, ms", name),
			peers: []string{"etcd alone", "torch"},
		}
		used := &table{
			title: fmt.Sprintf("rounds: %s, processor time of the nodes and of etcd for each node and round, ms", name),
			peers: []string{"etcd alone"},
		}
		ours, bare, theirs := took.add("gangrun"), took.add("etcd alone"), took.add("torch")
		ours.budget = size.budget
		to := roundsRows{ours, requests.add(name), traffic.add(name), idle.add(name), idleTraffic.add(name), used.add("gangrun")}
		to.asked.budget, to.traffic.budget = requestsBudget, trafficBudget
		if err := l.roundsOf(size, to, roundsRows{took: bare, used: used.add("etcd alone")}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if python != "" && !l.quick && size.torch > 0 {
			var err error
			theirs.values, err = l.torchRounds(python, size.nodes, min(l.times(size.torch, 1), size.torch))
			if err != nil {
				return fmt.Errorf("%s: torch: %w", name, err)
			}
		}
		took.print()
		used.print()
	}
	for _, t := range []*table{requests, traffic, idle, idleTraffic} {
		t.print()
	}
	return nil
}

// roundsOf measures a job of one size, and its bare messages. They take turns, each with an etcd of its own: what else this
// machine does meets both.
func (l *lab) roundsOf(size roundsSize, to, bareTo roundsRows) error {
	ctx, cancel := context.WithTimeout(l.ctx, 6*patience)
	defer cancel()
	ours, err := l.session(ctx, size)
	if err != nil {
		return err
	}
	defer ours.server.stop()
	bare, err := l.session(ctx, size)
	if err != nil {
		return err
	}
	defer bare.server.stop()
	g, err := ours.begin(share{})
	if err != nil {
		return fmt.Errorf("gangrun: %w", err)
	}
	defer g.leave()
	round, n, err := ours.warm(g, to)
	if err != nil {
		return fmt.Errorf("gangrun: %w", err)
	}
	if err := ours.turns(g, round, bare, n, to, bareTo); err != nil {
		return err
	}
	if err := ours.cost(g, round+ours.rounds, to); err != nil {
		return fmt.Errorf("gangrun: %w", err)
	}
	return nil
}

// session is a job of so many nodes that goes through so many rounds.
type session struct {
	*lab
	ctx    context.Context
	server *etcdServer
	nodes  int
	rounds int
	always load // what the idle job asks
}

func (l *lab) session(ctx context.Context, size roundsSize) (*session, error) {
	server, err := l.startEtcd()
	return &session{lab: l, ctx: ctx, server: server, nodes: size.nodes, rounds: l.times(size.usual, 2)}, err
}

// window is how long is counted what an idle job asks, and a few rounds. Some requests come only seconds after a round: a
// node hears with the answer to a renewal that the store has gone on, and makes sure that it has missed nothing. And an idle
// node asks now and then whether all is as it knows it.
func (s *session) window() time.Duration {
	if s.quick {
		return 5 * time.Second
	}
	return 12 * time.Second
}

// warm counts what an idle job asks, and then goes through as many rounds as it takes until its record is as long as it
// gets. It returns how many those were, and how long the values are that each round writes.
func (s *session) warm(g *scattered, to roundsRows) (rounds int, n lengths, err error) {
	if err = sleep(s.ctx, s.window()/2); err != nil {
		return rounds, n, err
	}
	if s.always, err = s.server.idle(s.ctx, s.window()); err != nil {
		return rounds, n, err
	}
	to.idle.values = append(to.idle.values, (s.always.requests+s.always.renewals)*60/float64(s.nodes))
	to.idleBytes.values = append(to.idleBytes.values, s.always.bytes/1024*60/float64(s.nodes))
	const stops = 6
	for ; rounds < stops && err == nil; rounds++ {
		err = s.fail(g, rounds, roundsRows{took: &row{}, used: &row{}})
	}
	if err != nil {
		return rounds, n, err
	}
	n, err = s.server.lengths(s.ctx)
	return rounds, n, err
}

// turns measures rounds of gangrun's agents, from this one on, and as many of nodes that only send the messages.
func (s *session) turns(g *scattered, round int, bare *session, n lengths, to, bareTo roundsRows) error {
	b, err := bare.begin(share{bare: true, lengths: n})
	if err != nil {
		return fmt.Errorf("etcd alone: %w", err)
	}
	defer b.leave()
	for i := range s.rounds {
		if err := s.fail(g, round+i, to); err != nil {
			return fmt.Errorf("gangrun: %w", err)
		}
		if err := bare.fail(b, i, bareTo); err != nil {
			return fmt.Errorf("etcd alone: %w", err)
		}
	}
	return nil
}

// cost counts the requests of a few rounds, from this one on.
func (s *session) cost(g *scattered, round int, to roundsRows) error {
	const counted = 3
	if err := sleep(s.ctx, s.window()/2); err != nil {
		return err
	}
	before, err := s.server.counts(s.ctx)
	began := clock()
	for i := 0; i < counted && err == nil; i++ {
		err = s.fail(g, round+i, roundsRows{took: &row{}, used: &row{}})
	}
	if err == nil {
		err = sleep(s.ctx, max(s.window()-(clock()-began), s.window()/2))
	}
	if err != nil {
		return err
	}
	after, err := s.server.counts(s.ctx)
	more, each := after.above(before, clock()-began, s.always), float64(s.nodes*counted)
	to.asked.values = append(to.asked.values, more.requests/each)
	to.traffic.values = append(to.traffic.values, more.bytes/1024/each)
	return err
}

// begin starts the nodes, and waits until all have started round 0.
func (s *session) begin(of share) (*scattered, error) {
	of.client, of.nodes = s.server.client, s.nodes
	g, err := s.spread(s.ctx, of)
	if err != nil {
		return nil, err
	}
	if _, err := g.started(0); err != nil {
		g.leave()
		return nil, err
	}
	return g, nil
}

// fail makes a node fail in a round, once nothing of the one before is left to be said.
func (s *session) fail(g *scattered, round int, to roundsRows) error {
	// The nodes say that they have started when the store has less to do: within a second, or less where they are few.
	settled := min(time.Duration(s.nodes)*10*time.Millisecond, time.Second)
	if err := errors.Join(sleep(s.ctx, settled), s.server.quiet(s.ctx, s.always)); err != nil {
		return err
	}
	before, err := s.used(g)
	if err != nil {
		return err
	}
	failed := clock()
	if err := g.fail(rand.IntN(s.nodes), round); err != nil {
		return err
	}
	last, err := g.started(round + 1)
	if err != nil {
		return err
	}
	after, err := s.used(g)
	if err != nil {
		return err
	}
	to.took.values = append(to.took.values, milliseconds(last-failed))
	to.used.values = append(to.used.values, milliseconds(after-before)/float64(s.nodes))
	return nil
}

// used is the processor time of the nodes and of etcd until now.
func (s *session) used(g *scattered) (time.Duration, error) {
	nodes, err := g.used()
	etcd, etcdErr := processorTime(s.server.cmd.Process.Pid)
	return nodes + etcd, errors.Join(err, etcdErr)
}
