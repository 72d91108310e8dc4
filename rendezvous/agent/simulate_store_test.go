package agent_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// wire is one node's way to the store, and what goes wrong on it.
type wire struct {
	n        *simNode
	ctx      context.Context
	stop     context.CancelFunc
	lease    *lease // the last
	farewell bool   // the node ends well: what its agent still has to say passes
}

var errNoAnswer = fmt.Errorf("simulated: %w: no answer", store.ErrUnreachable)

// requestTime is how long an answer is waited for.
const requestTime = time.Second

func newWire(n *simNode) *wire {
	w := &wire{n: n}
	w.ctx, w.stop = context.WithCancel(n.s.ctx)
	return w
}

// call sends a request to the store, and brings its answer back. Either can be lost, and a request may arrive when nobody
// waits for its answer any more and the next one has been there before it.
func (w *wire) call(ctx context.Context, do func() error) error {
	s, n := w.n.s, w.n
	if !n.awake() || w.ctx.Err() != nil {
		return store.ErrClosed
	}
	s.mu.Lock()
	if n.dead && !w.farewell {
		s.mu.Unlock()
		return errNoAnswer
	}
	there, back, cut := s.latency(), s.latency(), s.now() < n.cutUntil
	if s.now() < n.slowUntil && s.chance(4) {
		there += s.random(6 * time.Second)
	}
	s.mu.Unlock()
	answer := make(chan error, 1)
	if !cut {
		s.spawn(func() {
			if !s.sleep(there) || w.cut() {
				return
			}
			err := do()
			if s.sleep(back) && !w.cut() && n.awake() {
				answer <- err
			}
		})
	}
	timer := time.NewTimer(requestTime)
	defer timer.Stop()
	for {
		select {
		case err := <-answer:
			return err
		case <-timer.C:
			if !n.awake() { // who stands still has no patience that ends
				return store.ErrClosed
			}
			select {
			case err := <-answer:
				return err
			default:
				return errNoAnswer
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return store.ErrClosed
		}
	}
}

func (w *wire) cut() bool {
	w.n.s.mu.Lock()
	defer w.n.s.mu.Unlock()
	return w.n.s.now() < w.n.cutUntil
}

// Commit implements store.Store.
func (w *wire) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	after := func() {}
	if slices.ContainsFunc(txn.Then, func(op store.Op) bool { return op.Key == "job" && !op.Delete }) {
		var lost bool
		if after, lost = w.leads(); lost {
			return store.Result{}, errNoAnswer
		}
	}
	if l, ok := txn.Ends.(*lease); ok {
		txn.Ends = l.inner
	}
	txn.Then = slices.Clone(txn.Then)
	for i, op := range txn.Then {
		if l, ok := op.Lease.(*lease); ok {
			txn.Then[i].Lease = l.inner
		}
	}
	var res store.Result
	err := w.call(ctx, func() error {
		var err error
		res, err = w.n.s.server.Commit(w.n.s.ctx, txn)
		after()
		return err
	})
	if err != nil {
		return store.Result{}, err
	}
	return res, nil
}

// leads lets happen what is to meet the leader's next write.
func (w *wire) leads() (after func(), lost bool) {
	s, n := w.n.s, w.n
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skip--; s.skip < 0 && s.leader != nil {
		s.armed, s.leader = append(s.armed, *s.leader), nil
	}
	if len(s.armed) == 0 || n.dead {
		return func() {}, false
	}
	f := s.armed[0]
	s.armed = s.armed[1:]
	s.failures++
	s.say("fault: %s: %s", n.incarnation, f)
	switch f.kind {
	case "leader crashes before its write":
		n.die(true)
		return nil, true
	case "leader crashes after its write":
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			n.die(true)
		}, false
	}
	n.pausedUntil = max(n.pausedUntil, s.now()+f.long)
	return func() {}, false
}

// Before implements store.Store.
func (w *wire) Before(ctx context.Context, selector string, createRev int64) (kv store.KV, found bool, err error) {
	var got store.KV
	var is bool
	err = w.call(ctx, func() error {
		var err error
		got, is, err = w.n.s.server.Before(w.n.s.ctx, selector, createRev)
		return err
	})
	if err != nil {
		return store.KV{}, false, err
	}
	return got, is, nil
}

// Revoke implements store.Store.
func (w *wire) Revoke(ctx context.Context, id string) error {
	return w.call(ctx, func() error { return w.n.s.server.Revoke(w.n.s.ctx, id) })
}

// Close implements store.Store.
func (w *wire) Close() error {
	w.stop()
	return nil
}

// watch hands on what the store tells, late, twice, and not while the node is cut off.
type watch struct {
	out   chan store.Update
	inner store.Watcher
}

func (w *watch) Updates() <-chan store.Update { return w.out }
func (w *watch) Sync(rev int64)               { w.inner.Sync(rev) }

// Watch implements store.Store.
func (w *wire) Watch(ctx context.Context, selector string) store.Watcher {
	ctx, stop := context.WithCancel(ctx)
	release := context.AfterFunc(w.ctx, stop)
	out := &watch{out: make(chan store.Update), inner: w.n.s.server.Watch(ctx, selector)}
	w.n.s.spawn(func() {
		defer stop()
		defer release()
		defer close(out.out)
		for u := range out.inner.Updates() {
			for range w.deliveries(selector, u) {
				if !w.arrives() {
					return
				}
				select {
				case out.out <- u:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	return out
}

// deliveries is how often something is delivered.
func (w *wire) deliveries(selector string, u store.Update) int {
	s := w.n.s
	s.mu.Lock()
	defer s.mu.Unlock()
	ofJob := slices.ContainsFunc(u.Changed, func(kv store.KV) bool { return kv.Key == "job" })
	again := 10
	if selector == "" { // the leader reads everything again each time
		again = 200
	}
	switch {
	case ofJob && !u.Reset && s.now() < w.n.lostUntil:
		return 0
	case s.chance(again):
		return 2
	}
	return 1
}

// arrives waits until something passes from the store to the node.
func (w *wire) arrives() bool {
	n, s := w.n, w.n.s
	s.mu.Lock()
	wait := s.latency()
	if late := n.lateUntil - s.now(); late > 0 {
		wait += s.random(late)
	}
	s.mu.Unlock()
	for {
		if !s.sleep(wait) || !n.awake() {
			return false
		}
		s.mu.Lock()
		wait = n.cutUntil - s.now()
		s.mu.Unlock()
		if wait <= 0 {
			return true
		}
	}
}
