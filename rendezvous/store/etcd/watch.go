package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/internal/mailbox"
)

const (
	// page is how many keys are read at once.
	page = 512
	// stalled is how long a watch may stay behind what the store has shown elsewhere.
	stalled = 3 * time.Second
	// quiet is how long there may be no answer of any kind before a watch asks for one.
	quietFor = 5 * time.Second
)

// watch is one watch. etcd's own goes on by itself after a lost connection, and does not notice when the store it
// then talks to is another one, or when the member at the other end does nothing any more. So each stream is followed
// with suspicion, and given up for a new one at another endpoint when it falls behind.
type watch struct {
	store    *Store
	selector string
	box      *mailbox.Mailbox[store.Update]
	wake     chan struct{}
	asking   atomic.Bool

	keys   map[string]bool // that there are, as etcd names them: kept where progress has to be proven
	proofs chan proof

	mu   sync.Mutex
	sync int64 // the newest revision that the reader has asked for
	told int64 // and the one that it was told of
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, selector string) store.Watcher {
	w := &watch{
		store: s, selector: selector, box: mailbox.New(store.Update.With),
		wake: make(chan struct{}, 1), proofs: make(chan proof, 1),
	}
	ctx, stop := context.WithCancel(ctx)
	started := s.spawn(func() {
		defer stop()
		defer context.AfterFunc(s.ctx, stop)()
		var pump sync.WaitGroup
		pump.Go(crash.Guard(func() { w.box.Run(ctx) }))
		w.run(ctx)
		pump.Wait()
	})
	if !started {
		stop()
		w.box.Run(ctx)
	}
	return w
}

func (w *watch) Updates() <-chan store.Update { return w.box.Out() }

func (w *watch) Sync(rev int64) {
	w.mu.Lock()
	w.sync = max(w.sync, rev)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wanted is the revision that the reader waits for, if it does.
func (w *watch) wanted() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sync > w.told {
		return w.sync
	}
	return 0
}

// send hands an update to the reader.
func (w *watch) send(u store.Update) {
	u.Token, _ = w.store.identity()
	w.mu.Lock()
	w.told = u.Rev
	if u.Reset { // what was asked for was a revision of what is gone
		w.sync = 0
	}
	w.mu.Unlock()
	if u.Reset {
		w.box.Replace(u)
	} else {
		w.box.Put(u)
	}
}

// position is how far a watch has come in which record.
type position struct {
	rev      int64
	token    string
	replaced <-chan struct{}
}

var (
	errReplaced = errors.New("the record is another one")
	errStalled  = errors.New("the watch has fallen behind")
	errOld      = errors.New("an update is older than what was known already")
)

func (w *watch) run(ctx context.Context) {
	pause := newPause()
	for ctx.Err() == nil {
		at, err := w.snapshot(ctx)
		if err == nil {
			err = w.follow(ctx, at, pause)
		}
		if ctx.Err() == nil {
			level := slog.LevelInfo
			if errors.Is(err, errOld) {
				level = slog.LevelWarn
			}
			w.store.log.Log(ctx, level, "a watch starts again", "store", w.store.where, "keys", w.selector, "reason", err)
			pause.wait(ctx)
		}
	}
}

// snapshot reads and sends the whole state.
func (w *watch) snapshot(ctx context.Context) (position, error) {
	if !w.store.visitor {
		if _, err := w.store.establish(ctx); err != nil {
			return position{}, err
		}
	}
	kvs, at, err := w.read(ctx, page)
	if err != nil {
		return at, err
	}
	w.store.meet(at.token, at.rev, position{})
	var token string
	if token, at.replaced = w.store.identity(); token != at.token {
		return at, errReplaced // between the two lines above
	}
	w.send(store.Update{Reset: true, Changed: kvs, Rev: at.rev})
	return at, nil
}

// read reads the whole state as of one revision, in pages.
func (w *watch) read(ctx context.Context, limit int64) ([]store.KV, position, error) {
	s := w.store
	var at position
	var kvs []store.KV
	w.keys = make(map[string]bool)
	first, next := s.prefix+w.selector, s.prefix+w.selector
	opts := []clientv3.OpOption{clientv3.WithLimit(limit)}
	if store.IsPrefix(w.selector) {
		opts = append(opts, clientv3.WithRange(clientv3.GetPrefixRangeEnd(first)))
	}
	for {
		req, done := s.request(ctx)
		// The token is read along, or the pages might be of two records.
		res, err := s.client.Txn(req).Then(clientv3.OpGet(s.prefix+tokenKey), clientv3.OpGet(next, opts...)).Commit()
		done()
		if err != nil {
			err = s.explain(ctx, "read "+strconv.Quote(w.selector), err)
			if errors.Is(err, store.ErrRefused) && limit > 1 {
				return w.read(ctx, limit/8) // so much in so few keys
			}
			return nil, at, err
		}
		token := ""
		if kvs := res.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			token = string(kvs[0].Value)
		}
		if at.rev == 0 {
			at = position{rev: res.Header.Revision, token: token}
			opts = append(opts, clientv3.WithRev(at.rev))
		} else if token != at.token {
			return nil, at, errReplaced
		}
		got := res.Responses[1].GetResponseRange()
		kvs = append(kvs, s.kvs(got)...)
		for i := 0; s.suspect && i < len(got.Kvs); i++ {
			w.keys[string(got.Kvs[i].Key)] = true
		}
		if !got.More || len(got.Kvs) == 0 {
			return kvs, at, nil
		}
		next = string(got.Kvs[len(got.Kvs)-1].Key) + "\x00"
	}
}

// follow follows stream after stream for as long as nothing is missed by that.
func (w *watch) follow(ctx context.Context, at position, pause *pause) error {
	for {
		began := w.store.clock()
		err := w.stream(ctx, &at)
		if ctx.Err() != nil || errors.Is(err, errReplaced) || errors.Is(err, errOld) || errors.Is(err, rpctypes.ErrCompacted) {
			return err
		}
		w.store.log.Debug("a watch goes on over another stream", "store", w.store.where, "keys", w.selector, "reason", err)
		if w.store.clock()-began > quietFor {
			pause.reset()
		}
		for {
			pause.wait(ctx)
			same, err := w.store.verify(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				w.store.log.Debug("a watch waits for the store", "keys", w.selector, "error", err)
				continue
			}
			if token, replaced := w.store.identity(); !same || replaced != at.replaced || at.token != "" && token != at.token {
				return errReplaced
			}
			break
		}
	}
}

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
