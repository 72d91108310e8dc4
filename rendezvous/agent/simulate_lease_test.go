package agent_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// lease is renewed as one in etcd is, three times in its time, and ends when that fails for too long.
type lease struct {
	w     *wire
	inner store.Lease
	ttl   time.Duration
	sent  atomic.Int64
	lost  chan struct{}
	until atomic.Int64 // when the store ends it
}

// Join implements store.Store.
func (w *wire) Join(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	s := w.n.s
	l := &lease{w: w, ttl: ttl, lost: make(chan struct{})}
	l.sent.Store(int64(s.now()))
	err := w.call(ctx, func() error {
		var err error
		if l.inner, err = s.server.Join(s.ctx, ttl); err == nil {
			l.until.Store(int64(s.now() + ttl))
			s.spawn(l.expire)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.spawn(l.keep)
	s.mu.Lock()
	w.lease = l
	s.mu.Unlock()
	return l, nil
}

// Grant implements store.Store.
func (w *wire) Grant(ctx context.Context, ttl time.Duration) (store.Lease, error) {
	l := &lease{w: w, ttl: ttl, lost: make(chan struct{})}
	err := w.call(ctx, func() error {
		var err error
		l.inner, err = w.n.s.server.Grant(w.n.s.ctx, ttl)
		return err
	})
	return l, err
}

// expire ends the lease in the store when its time is over.
func (l *lease) expire() {
	s := l.w.n.s
	for {
		left := time.Duration(l.until.Load()) - s.now()
		if left <= 0 {
			break
		}
		if !s.sleep(left) {
			return
		}
	}
	_ = l.inner.Close(s.ctx)
}

// keep renews the lease.
func (l *lease) keep() {
	s := l.w.n.s
	pause := l.ttl / 3
	for {
		select {
		case <-time.After(pause):
		case <-l.w.ctx.Done():
			return
		}
		if !l.w.n.awake() {
			return
		}
		sent := s.now()
		err := l.w.call(l.w.ctx, func() error {
			select {
			case <-l.inner.Lost():
				return store.ErrLeaseLost
			default:
			}
			l.until.Store(int64(s.now() + l.ttl))
			return nil
		})
		switch {
		case err == nil:
			l.sent.Store(int64(sent))
			pause = l.ttl / 3
		case errors.Is(err, store.ErrLeaseLost):
			close(l.lost)
			return
		default:
			pause = 50 * time.Millisecond
		}
	}
}

func (l *lease) ID() string { return l.inner.ID() }

func (l *lease) TTL() time.Duration { return l.ttl }

func (l *lease) Renewed() time.Duration { return time.Duration(l.sent.Load()) }

func (l *lease) Lost() <-chan struct{} { return l.lost }

func (l *lease) Close(ctx context.Context) error {
	return l.w.call(ctx, func() error { return l.inner.Close(l.w.n.s.ctx) })
}
