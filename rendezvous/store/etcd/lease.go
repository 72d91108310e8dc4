package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// lease is a lease and its renewals. They go over a stream of our own: etcd's client does not tell when it has sent
// one, and its KeepAliveOnce makes a new stream, and with passwords a new login, each time.
type lease struct {
	store   *Store
	id      clientv3.LeaseID
	ttl     time.Duration
	renewed atomic.Int64
	lost    chan struct{}
	once    sync.Once
	ctx     context.Context
	stop    context.CancelFunc
}

// Join implements store.Store.
func (s *Store) Join(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	l, err := s.grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	if !s.spawn(l.keep) {
		return nil, store.ErrClosed
	}
	return l, nil
}

// Grant implements store.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	l, err := s.grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (s *Store) grant(ctx context.Context, ttl time.Duration) (*lease, error) {
	if s.ctx.Err() != nil {
		return nil, store.ErrClosed
	}
	req, done := s.request(ctx)
	defer done()
	sent := s.clock()
	granted, err := s.client.Grant(req, max(1, int64((ttl+time.Second-1)/time.Second)))
	if err != nil {
		return nil, s.explain(ctx, "join", err)
	}
	l := &lease{store: s, id: granted.ID, ttl: time.Duration(granted.TTL) * time.Second, lost: make(chan struct{})}
	l.renewed.Store(int64(sent))
	l.ctx, l.stop = context.WithCancel(s.ctx)
	return l, nil
}

func leaseID(id clientv3.LeaseID) string { return strconv.FormatInt(int64(id), 16) }

// Revoke implements store.Store.
func (s *Store) Revoke(ctx context.Context, id string) error {
	n, err := strconv.ParseInt(id, 16, 64)
	if err != nil {
		return fmt.Errorf("%s: revoke %q: %w: no lease has this id", s.where, id, store.ErrRefused)
	}
	req, done := s.request(ctx)
	defer done()
	if _, err := s.client.Revoke(req, clientv3.LeaseID(n)); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return s.explain(ctx, "revoke a lease", err)
	}
	return nil
}

func (l *lease) ID() string             { return leaseID(l.id) }
func (l *lease) TTL() time.Duration     { return l.ttl }
func (l *lease) Renewed() time.Duration { return time.Duration(l.renewed.Load()) }
func (l *lease) Lost() <-chan struct{}  { return l.lost }

// Close implements store.Lease. That the lease is gone already is no error.
func (l *lease) Close(ctx context.Context) error {
	l.stop()
	req, done := l.store.request(ctx)
	defer done()
	if _, err := l.store.client.Revoke(req, l.id); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return l.store.explain(ctx, "give the lease back", err)
	}
	l.over()
	return nil
}

func (l *lease) over() {
	l.stop()
	l.once.Do(func() { close(l.lost) })
}

// keep renews the lease three times in its time. When that fails it tries again at once, which goes to another
// endpoint, then less and less often.
func (l *lease) keep() {
	defer l.stop()
	pause := newPause()
	for l.ctx.Err() == nil {
		err := l.renewals(pause)
		switch {
		case l.ctx.Err() != nil:
			return
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			l.over()
			// A store that was replaced knows no lease of the old one.
			if _, err := l.store.verify(l.store.ctx); err != nil {
				l.store.log.Info("cannot tell why the lease is lost", "error", err)
			}
			return
		}
		l.store.log.Debug("the lease was not renewed", "store", l.store.where, "lease", l.ID(), "error", err)
		pause.wait(l.ctx)
	}
}

// renewals renews the lease over one stream until something goes wrong.
func (l *lease) renewals(pause *pause) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(l.ctx))
	defer cancel()
	// Four attempts fit into the time of a lease: of three members, the one that does not answer may be chosen again.
	limit := min(l.store.timeout, l.ttl/6)
	opening := time.AfterFunc(limit, cancel)
	stream, err := l.store.leases.LeaseKeepAlive(ctx, grpc.WaitForReady(true))
	opening.Stop()
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	last := "" // the store that has answered last
	for {
		token, replaced := l.store.identity()
		due := time.Duration(l.renewed.Load()) + l.ttl/3 - l.store.clock()
		if last != "" && token != last {
			due = 0 // replaced since
		}
		wait := time.NewTimer(due)
		select {
		case <-wait.C:
		case <-replaced: // find out at once
			wait.Stop()
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
		sent := l.store.clock()
		answering := time.AfterFunc(limit, cancel)
		if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(l.id)}); err != nil {
			answering.Stop()
			return fmt.Errorf("renew: %w", err)
		}
		answer, err := stream.Recv()
		answering.Stop()
		if err != nil {
			return rpctypes.Error(err)
		}
		if answer.TTL <= 0 {
			return rpctypes.ErrLeaseNotFound
		}
		last = token
		l.renewed.Store(int64(sent))
		l.store.saw(token, answer.GetHeader().GetRevision())
		pause.reset()
	}
}
