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

// bareNode is a client of etcd, and nothing else.
type bareNode struct {
	*clientv3.Client
	orders clientv3.WatchChan
	key    string
}

// bareRounds measures the messages that no round can do without, with nobody who thinks about them: one node says that
// it failed, an order to stop goes to all, each says that it has stopped, and an order to start goes to all.
func bareRounds(ctx context.Context, server *etcdServer, nodes, rounds int, n lengths) (took []float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	node, job, round := strings.Repeat("n", n.node), strings.Repeat("j", n.job), strings.Repeat("r", n.round)
	var gang []*bareNode
	defer func() {
		for _, b := range gang {
			_ = b.Close() // its context may have ended before
		}
	}()
	for i := range nodes {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.client}, Context: ctx, Logger: zap.NewNop()})
		if err != nil {
			return nil, err
		}
		b := &bareNode{Client: c, key: fmt.Sprintf("%s%04d", bareNodes, i)}
		gang = append(gang, b)
		if b.orders, err = b.follow(ctx, bareOrders); err != nil {
			return nil, err
		}
	}
	told, err := gang[0].follow(ctx, bareNodes)
	if err != nil {
		return nil, err
	}
	lead := func() error {
		if err := await(ctx, told, 1, bareNodes); err != nil {
			return err
		}
		if _, err := gang[0].Txn(ctx).Then(clientv3.OpPut(bareJob, job)).Commit(); err != nil {
			return err
		}
		if err := await(ctx, told, nodes, bareNodes); err != nil {
			return err
		}
		_, err := gang[0].Txn(ctx).Then(clientv3.OpPut(bareJob, job), clientv3.OpPut(bareRound, round)).Commit()
		return err
	}
	obey := func(b *bareNode) error {
		if err := await(ctx, b.orders, 1, bareJob); err != nil {
			return err
		}
		if _, err := b.Put(ctx, b.key, node); err != nil {
			return err
		}
		return await(ctx, b.orders, 1, bareRound)
	}
	for range rounds {
		if err := server.quiet(ctx, load{}); err != nil {
			return took, err
		}
		parts := append([]func() error{lead}, make([]func() error, nodes)...)
		for i, b := range gang {
			parts[i+1] = func() error { return obey(b) }
		}
		ended := make(chan error, len(parts))
		var all sync.WaitGroup
		began := clock()
		for _, part := range parts {
			all.Go(func() { ended <- part() })
		}
		_, err := gang[nodes-1].Put(ctx, gang[nodes-1].key, node)
		all.Wait()
		took = append(took, milliseconds(clock()-began))
		close(ended)
		for e := range ended {
			err = errors.Join(err, e)
		}
		if err != nil {
			return took, err
		}
	}
	return took, nil
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
