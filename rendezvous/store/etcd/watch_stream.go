package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// streams makes each of our streams a different one for etcd's client, which would otherwise use one for all.
var streams atomic.Int64

// stream follows one stream from a position on.
func (w *watch) stream(ctx context.Context, at *position) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "gangrun-watch", strconv.FormatInt(streams.Add(1), 10))
	opening := time.AfterFunc(w.store.timeout, cancel)
	opts := append(w.store.below(w.selector), clientv3.WithRev(at.rev+1))
	responses := w.store.client.Watch(ctx, w.store.prefix+w.selector, opts...)
	opening.Stop()

	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	const soon = 10 * time.Millisecond
	retry := time.NewTimer(soon)
	defer retry.Stop()
	delay := soon
	var goal int64           // what the store has shown, and this stream has not got to
	var behind time.Duration // since when
	for {
		select {
		case r, ok := <-responses:
			if !ok {
				return errors.New("the stream has ended")
			}
			if err := r.Err(); err != nil {
				return fmt.Errorf("the stream has ended: %w", err)
			}
			if len(r.Events) > 0 && r.Events[0].Kv.ModRevision <= at.rev {
				return fmt.Errorf("%w: revision %d after %d", errOld, r.Events[0].Kv.ModRevision, at.rev)
			}
			if r.Header.Revision < at.rev {
				return fmt.Errorf("revision %d after %d", r.Header.Revision, at.rev)
			}
			w.take(r, at)
		case p := <-w.proofs:
			w.prove(p, at)
		case <-w.wake:
			delay = soon
			if want := w.wanted(); want <= at.rev {
				w.ask(ctx, at, want)
			} // else it comes by itself, as a rule: that of the reader's own write does
			retry.Reset(delay)
		case <-retry.C:
			// The member may not have got there yet, and then it does not answer.
			if want := w.wanted(); want > at.rev {
				w.ask(ctx, at, want)
				delay = min(2*delay, time.Second)
				retry.Reset(delay)
			} else if want > 0 {
				w.send(store.Update{Rev: at.rev})
			}
		case <-tick.C:
			newest, heard := w.store.newest()
			now := w.store.clock()
			if goal <= at.rev {
				goal, behind = newest, now
			}
			if goal > at.rev && now-behind > stalled {
				return fmt.Errorf("%w: at %d, the store is at %d", errStalled, at.rev, goal)
			}
			w.ask(ctx, at, goal)
			if now-heard > quietFor {
				w.poll(ctx)
			}
		case <-at.replaced:
			return errReplaced
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take sends what a response has to tell.
func (w *watch) take(r clientv3.WatchResponse, at *position) {
	if len(r.Events) == 0 && w.store.suspect {
		return // it proves nothing
	}
	if len(r.Events) == 0 {
		at.rev = max(at.rev, r.Header.Revision)
		if want := w.wanted(); 0 < want && want <= at.rev {
			w.send(store.Update{Rev: at.rev})
		}
		return
	}
	for i := 0; w.store.suspect && i < len(r.Events); i++ {
		e := r.Events[i]
		if e.Type == clientv3.EventTypeDelete {
			delete(w.keys, string(e.Kv.Key))
		} else {
			w.keys[string(e.Kv.Key)] = true
		}
	}
	for _, u := range w.updates(r.Events) {
		at.rev = u.Rev
		w.send(u)
	}
}

// updates makes as few updates of the events as there can be when a key is in each at most once, and the events of one
// revision are not torn apart.
func (w *watch) updates(events []*clientv3.Event) []store.Update {
	var out []store.Update
	in := make(map[string]bool) // the keys of the last update
	for len(events) > 0 {
		rev, n, fits := events[0].Kv.ModRevision, 0, len(out) > 0
		for ; n < len(events) && events[n].Kv.ModRevision == rev; n++ {
			fits = fits && !in[string(events[n].Kv.Key)]
		}
		same := events[:n]
		events = events[n:]
		if !fits {
			out = append(out, store.Update{})
			clear(in)
		}
		u := &out[len(out)-1]
		u.Rev = rev
		for _, e := range same {
			in[string(e.Kv.Key)] = true
			kv := w.store.kv(e.Kv)
			switch {
			case kv.Key == tokenKey:
			case e.Type == clientv3.EventTypeDelete:
				u.Deleted = append(u.Deleted, store.Deletion{Key: kv.Key, Rev: rev})
			default:
				u.Changed = append(u.Changed, kv)
			}
		}
	}
	return out
}

// ask asks the member to say how far the stream has come, if it is not there yet.
func (w *watch) ask(ctx context.Context, at *position, want int64) {
	if want <= at.rev {
		if asked := w.wanted(); 0 < asked && asked <= at.rev {
			w.send(store.Update{Rev: at.rev})
		}
		return
	}
	if !w.asking.CompareAndSwap(false, true) {
		return
	}
	crash.Go(func() { // it may wait for a connection
		defer w.asking.Store(false)
		if w.store.suspect {
			if err := w.askForProof(ctx); err != nil && ctx.Err() == nil {
				w.store.log.Debug("a watch could not be compared with the store", "keys", w.selector, "error", err)
			}
			return
		}
		if err := w.store.client.RequestProgress(ctx); err != nil && ctx.Err() == nil {
			w.store.log.Debug("a watch was not told how far it is", "keys", w.selector, "error", err)
		}
	})
}

// poll asks the cluster for its revision, when nobody else has for a while.
func (w *watch) poll(ctx context.Context) {
	if !w.asking.CompareAndSwap(false, true) {
		return
	}
	crash.Go(func() {
		defer w.asking.Store(false)
		if _, err := w.store.verify(ctx); err != nil && ctx.Err() == nil {
			w.store.log.Debug("the store does not answer", "error", err)
		}
	})
}
