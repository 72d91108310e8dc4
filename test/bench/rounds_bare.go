package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// The keys of the bare messages.
const (
	bareOrders = "bare/orders/"
	bareNodes  = "bare/nodes/"
	bareJob    = bareOrders + "job"
	bareRound  = bareOrders + "round"
)

// bare are nodes that are clients of etcd, and nothing else, in this process. They send the messages that no round can
// do without, with nobody who thinks about them: one node says that it failed, an order to stop goes to all, each says
// that it has stopped, and an order to start goes to all. What they send is as long as what gangrun's nodes send. The client
// is etcd's own, as it comes: it sends the pings that gangrun's do without.
type bare struct {
	ctx     context.Context
	stop    context.CancelFunc
	nodes   int // of the whole job
	first   int // which of them are these, from here on
	lengths lengths
	clients []*bareNode
	ended   sync.WaitGroup
	said    chan start
}

// bareNode is one of them.
type bareNode struct {
	*clientv3.Client
	orders clientv3.WatchChan
	key    string
}

// joinBare connects some of a job's nodes. The job's first one leads.
func joinBare(ctx context.Context, server *etcdServer, nodes, first, count int, n lengths) (*bare, error) {
	g := &bare{nodes: nodes, first: first, lengths: n, said: make(chan start, count)}
	g.ctx, g.stop = context.WithCancel(ctx)
	for i := range count {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.client}, Context: g.ctx, Logger: zap.NewNop()})
		if err != nil {
			g.leave()
			return nil, err
		}
		b := &bareNode{Client: c, key: fmt.Sprintf("%s%04d", bareNodes, first+i)}
		g.clients = append(g.clients, b)
		if b.orders, err = b.follow(g.ctx, bareOrders); err != nil {
			g.leave()
			return nil, err
		}
	}
	if first == 0 {
		told, err := g.clients[0].follow(g.ctx, bareNodes)
		if err != nil {
			g.leave()
			return nil, err
		}
		g.ended.Go(func() { g.until(func() error { return g.lead(told) }) })
	}
	for _, b := range g.clients {
		round := 0
		g.ended.Go(func() {
			g.until(func() error {
				g.say(start{at: clock(), round: round})
				round++
				return g.obey(b)
			})
		})
	}
	return g, nil
}

// until does one round after the other until that fails.
func (g *bare) until(fails func() error) {
	for {
		if err := fails(); err != nil {
			g.say(start{err: err})
			return
		}
	}
}

func (g *bare) say(s start) {
	select {
	case g.said <- s:
	case <-g.ctx.Done():
	}
}

// lead gives the orders of one round.
func (g *bare) lead(told clientv3.WatchChan) error {
	job, round := strings.Repeat("j", g.lengths.job), strings.Repeat("r", g.lengths.round)
	if err := await(g.ctx, told, 1, bareNodes); err != nil {
		return err
	}
	if _, err := g.clients[0].Txn(g.ctx).Then(clientv3.OpPut(bareJob, job)).Commit(); err != nil {
		return err
	}
	if err := await(g.ctx, told, g.nodes, bareNodes); err != nil {
		return err
	}
	_, err := g.clients[0].Txn(g.ctx).Then(clientv3.OpPut(bareJob, job), clientv3.OpPut(bareRound, round)).Commit()
	return err
}

// obey goes through one round as one of its nodes.
func (g *bare) obey(b *bareNode) error {
	if err := await(g.ctx, b.orders, 1, bareJob); err != nil {
		return err
	}
	if err := g.tell(b); err != nil {
		return err
	}
	return await(g.ctx, b.orders, 1, bareRound)
}

func (g *bare) tell(b *bareNode) error {
	_, err := b.Put(g.ctx, b.key, strings.Repeat("n", g.lengths.node))
	return err
}

func (g *bare) fail(node, _ int) {
	g.ended.Go(func() {
		if err := g.tell(g.clients[node-g.first]); err != nil {
			g.say(start{err: err})
		}
	})
}

func (g *bare) starts() <-chan start { return g.said }

func (g *bare) leave() {
	g.stop()
	for _, b := range g.clients {
		_ = b.Close() // its context has ended before
	}
	g.ended.Wait()
}

// follow begins a watch, and returns when it is there.
func (b *bareNode) follow(ctx context.Context, prefix string) (clientv3.WatchChan, error) {
	events := b.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	select {
	case r, ok := <-events:
		if !ok || r.Err() != nil {
			return nil, fmt.Errorf("no watch of %s: %w", prefix, errors.Join(r.Err(), ctx.Err()))
		}
		return events, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("no watch of %s in %v", prefix, patience)
	}
}

// await waits for so many events of keys that begin so.
func await(ctx context.Context, events clientv3.WatchChan, n int, key string) error {
	for n > 0 {
		select {
		case r, ok := <-events:
			if !ok || r.Err() != nil {
				return fmt.Errorf("a watch has ended: %w", errors.Join(r.Err(), ctx.Err()))
			}
			for _, e := range r.Events {
				if strings.HasPrefix(string(e.Kv.Key), key) {
					n--
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
