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

// roundsRows is where a gang's values go: ms, requests, KiB, and what it asks in a minute while nothing happens.
type roundsRows struct{ took, asked, traffic, idle, idleBytes *row }

// gangRounds measures how long it takes the agents of a job to begin a new round, from the failure on one of them
// until every one has the order to start: all have stopped before, and said so. They are real, each with a connection
// of its own, in several processes; only their workers are not, and stop at once. Etcd is another process. Beside that
// it measures the same messages without gangrun, and the rendezvous of torch, which is less: it begins when all nodes
// know already that they are to come.
func (l *lab) gangRounds() error {
	fmt.Println("\nrounds: one etcd on this machine, its files in the temporary directory; at most 128 agents in one process")
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
		ours, bare, theirs := took.add("gangrun"), took.add("etcd alone"), took.add("torch")
		ours.budget = size.budget
		to := roundsRows{ours, requests.add(name), traffic.add(name), idle.add(name), idleTraffic.add(name)}
		to.asked.budget, to.traffic.budget = requestsBudget, trafficBudget
		if err := l.roundsOf(size, to, bare); err != nil {
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
	}
	for _, t := range []*table{requests, traffic, idle, idleTraffic} {
		t.print()
	}
	return nil
}

// roundsOf measures a job of one size, and then its bare messages.
func (l *lab) roundsOf(size roundsSize, to roundsRows, bare *row) error {
	server, err := l.startEtcd()
	if err != nil {
		return err
	}
	defer server.stop()
	ctx, cancel := context.WithTimeout(l.ctx, 5*patience)
	defer cancel()
	rounds := l.times(size.usual, 2)
	length, err := l.agentRounds(ctx, server, size.nodes, rounds, to)
	if err != nil {
		return fmt.Errorf("gangrun: %w", err)
	}
	if bare.values, err = bareRounds(ctx, server, size.nodes, rounds, length); err != nil {
		return fmt.Errorf("etcd alone: %w", err)
	}
	return nil
}

// agentRounds lets a gang of agents go through so many rounds, and through some more whose requests are counted.
func (l *lab) agentRounds(ctx context.Context, server *etcdServer, nodes, rounds int, to roundsRows) (lengths, error) {
	g, err := l.spread(ctx, server, nodes)
	if err != nil {
		return lengths{}, err
	}
	defer g.leave()
	if _, err := g.started(0); err != nil {
		return lengths{}, err
	}
	// Some requests come only seconds after a round: a node hears with the answer to a renewal that the store has gone on,
	// and makes sure that it has missed nothing. And an idle node asks now and then whether all is as it knows it.
	window := 12 * time.Second
	if l.quick {
		window = 5 * time.Second
	}
	if err := sleep(ctx, window/2); err != nil {
		return lengths{}, err
	}
	idle, err := server.idle(ctx, window)
	if err != nil {
		return lengths{}, err
	}
	to.idle.values = append(to.idle.values, (idle.requests+idle.renewals)*60/float64(nodes))
	to.idleBytes.values = append(to.idleBytes.values, idle.bytes/1024*60/float64(nodes))
	// The nodes say that they have started when the store has less to do: within a second, or less where they are few.
	settled := min(time.Duration(nodes)*10*time.Millisecond, time.Second)
	again := func(round int) error {
		if err := errors.Join(sleep(ctx, settled), server.quiet(ctx, idle)); err != nil {
			return err
		}
		failed := clock()
		if err := g.fail(rand.IntN(nodes), round); err != nil {
			return err
		}
		last, err := g.started(round + 1)
		to.took.values = append(to.took.values, milliseconds(last-failed))
		return err
	}
	counted := min(rounds, 3)
	for round := range rounds - counted {
		if err := again(round); err != nil {
			return lengths{}, err
		}
	}
	if err := sleep(ctx, window/2); err != nil {
		return lengths{}, err
	}
	before, err := server.counts(ctx)
	began := clock()
	for i := 0; i < counted && err == nil; i++ {
		err = again(rounds - counted + i)
	}
	if err == nil {
		err = sleep(ctx, max(window-(clock()-began), window/2))
	}
	if err != nil {
		return lengths{}, err
	}
	after, err := server.counts(ctx)
	if err != nil {
		return lengths{}, err
	}
	more, each := after.above(before, clock()-began, idle), float64(nodes*counted)
	to.asked.values = append(to.asked.values, more.requests/each)
	to.traffic.values = append(to.traffic.values, more.bytes/1024/each)
	return server.lengths(ctx)
}
