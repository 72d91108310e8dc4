package etcd

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

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

// watch is one watch. That of etcd's client goes on by itself after a lost connection, and does not notice when the store
// it then talks to is another one, or when the member at the other end does nothing any more. So each stream is followed
// with suspicion, and given up for a new one at another endpoint when it falls behind.
type watch struct {
	store    *Store
	selector string
	box      *mailbox.Mailbox[store.Update]
	wake     chan struct{}
	keys     map[string]bool // that there are, as etcd names them: kept where progress has to be proven

	mu   sync.Mutex
	sync int64 // the newest revision that the reader has asked for
	told int64 // and the one that it was told of
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, selector string) store.Watcher {
	w := &watch{
		store: s, selector: selector, box: mailbox.New(store.Update.With), wake: make(chan struct{}, 1),
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

// tell hands an update to the reader.
func (w *watch) tell(u store.Update) {
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
	w.tell(store.Update{Reset: true, Changed: kvs, Rev: at.rev})
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
