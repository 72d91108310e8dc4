package main

import (
	"context"
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

const requestsBudget budget = 6 // for each node and round

// gangRounds measures how long it takes the agents of a job to begin a new round, from the failure on one of them
// until every one has the order to start: all have stopped before, and said so. They are real, each with a connection
// of its own, all in this process; only their workers are not, and stop at once. Etcd is another process. Beside that
// it measures the same messages without gangrun, and the rendezvous of torch, which is less: it begins when all nodes
// know already that they are to come.
func (l *lab) gangRounds() error {
	fmt.Println("\nrounds: one etcd on this machine, its files in the folder for temporary ones; all agents in one process")
	python := l.peers["torchrun"]
	if python == "" || l.quick {
		fmt.Println("rounds: without torch's rendezvous")
	}
	requests := &table{title: "rounds: requests to etcd for each node and round, besides those that keep leases alive"}
	traffic := &table{title: "rounds: to and from etcd for each node and round, KiB"}
	for _, size := range roundsSizes {
		if l.quick && size.nodes > 8 {
			continue
		}
		name := fmt.Sprintf("%d nodes", size.nodes)
		took := &table{
			title: fmt.Sprintf("rounds: %s, one's failure to the last order to start again, ms", name),
			peers: []string{"etcd alone", "torch"},
		}
		ours, bare, theirs := took.add("gangrun"), took.add("etcd alone"), took.add("torch")
		ours.budget = size.budget
		asked := requests.add(name)
		asked.budget = requestsBudget
		if err := l.roundsOf(size, ours, bare, asked, traffic.add(name)); err != nil {
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
	requests.print()
	traffic.print()
	return nil
}

// roundsOf measures a job of one size, and then its bare messages.
func (l *lab) roundsOf(size roundsSize, ours, bare, asked, traffic *row) error {
	server, err := l.startEtcd()
	if err != nil {
		return err
	}
	defer server.stop()
	ctx, cancel := context.WithTimeout(l.ctx, 5*patience)
	defer cancel()
	rounds := l.times(size.usual, 2)
	length, err := l.agentRounds(ctx, server, size.nodes, rounds, ours, asked, traffic)
	if err != nil {
		return fmt.Errorf("gangrun: %w", err)
	}
	if bare.values, err = bareRounds(ctx, server, size.nodes, rounds, length); err != nil {
		return fmt.Errorf("etcd alone: %w", err)
	}
	return nil
}

// Some requests come only seconds after a round: an agent hears with an answer that the store has gone on, and makes
// sure that its watches have missed nothing.
const (
	shortQuiet = 50 * time.Millisecond // between rounds that are timed
	longQuiet  = 3 * time.Second       // around rounds that are counted
)

// agentRounds lets a gang of agents go through so many rounds, and through some more whose requests are counted.
func (l *lab) agentRounds(
	ctx context.Context, server *etcdServer, nodes, rounds int, took, asked, traffic *row,
) (lengths, error) {
	g := joinParties(ctx, server, nodes)
	defer g.leave()
	if _, err := g.started(0); err != nil {
		return lengths{}, err
	}
	again := func(round int) error {
		failed := g.fail(rand.IntN(nodes), round)
		last, err := g.started(round + 1)
		took.values = append(took.values, milliseconds(last-failed))
		return err
	}
	counted := min(rounds, 3)
	if l.quick {
		counted = 1
	}
	for round := range rounds - counted {
		if _, err := server.quiet(ctx, shortQuiet); err != nil {
			return lengths{}, err
		}
		if err := again(round); err != nil {
			return lengths{}, err
		}
	}
	before, err := server.quiet(ctx, longQuiet)
	for i := 0; i < counted && err == nil; i++ {
		if err = again(rounds - counted + i); err != nil {
			break
		}
		var after counts
		after, err = server.quiet(ctx, longQuiet)
		asked.values = append(asked.values, (after.requests-before.requests)/float64(nodes))
		traffic.values = append(traffic.values, (after.bytes-before.bytes)/1024/float64(nodes))
		before = after
	}
	if err != nil {
		return lengths{}, err
	}
	return server.lengths(ctx)
}
