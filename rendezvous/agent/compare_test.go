package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// blind does not show what becomes of the job's record: to the leader, and to the node's half.
type blind struct {
	store.Store
	mu   sync.Mutex
	left map[string]int // so often, by what is watched
	// refused is how many writes the store has refused. At some point it is of no use any more to go on.
	refused int
}

func (b *blind) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	res, err := b.Store.Commit(ctx, txn)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && !res.OK && len(txn.Then) > 0 {
		if b.refused++; b.refused > 100 {
			return store.Result{}, store.ErrUnreachable
		}
	}
	return res, err
}

func (b *blind) Watch(ctx context.Context, selector string) store.Watcher {
	w := b.Store.Watch(ctx, selector)
	if selector != "" && selector != jobKey {
		return w
	}
	return through(ctx, w, func(u *store.Update) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		drop := b.left[selector] > 0 && !u.Reset && slices.ContainsFunc(u.Changed, func(kv store.KV) bool { return kv.Key == jobKey })
		if drop {
			b.left[selector]--
		}
		return !drop
	})
}

// TestTheLeaderComparesWhatItHasRead changes the job's record behind the leader's back, and then lets a worker fail: what
// the leader decides on its old view must not undo the change.
func TestTheLeaderComparesWhatItHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		b := &blind{Store: m.Connect(clock)}
		p := join(t, b, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		time.Sleep(time.Second)
		b.mu.Lock()
		b.left = map[string]int{"": 2, jobKey: 1}
		b.mu.Unlock()
		read := func() *rendezvous.Job {
			kv := storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey}}).Read[0]
			job, err := rendezvous.ParseJob(kv.Key, kv.Value)
			if err != nil {
				t.Fatal(err)
			}
			return job
		}
		job := read()
		job.Seq++
		job.Handled = append(job.Handled, "behind its back")
		value, err := rendezvous.Encode(job)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(jobKey, value)}})
		began := time.Now()
		p.Failing(0, killed, nil)
		p.Gone(0, killed, nil)
		p.starts(1)
		b.mu.Lock()
		defer b.mu.Unlock()
		if took := time.Since(began); took >= time.Second || b.refused > 10 { // the node's half compares, too, and later
			t.Errorf("the leader has found out after %v, and %d refusals", took, b.refused)
		}
		if job := read(); !slices.Contains(job.Handled, "behind its back") || job.Round != 1 {
			t.Errorf("round %d, handled %v", job.Round, job.Handled)
		}
	})
}

// TestLateNewsAreOld changes the job's record twice, and lets the node read it before its watch tells of either. What the
// watch tells then is over, and no record that has come back.
func TestLateNewsAreOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		s := &late{Store: m.Connect(clock), hold: make(chan struct{})}
		close(s.hold)
		var log heard
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		p.starts(0)
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.hold = make(chan struct{})
		hold := s.hold
		s.mu.Unlock()
		for range 2 {
			kv := storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey}}).Read[0]
			job, err := rendezvous.ParseJob(kv.Key, kv.Value)
			if err != nil {
				t.Fatal(err)
			}
			job.Seq++
			value, err := rendezvous.Encode(job)
			if err != nil {
				t.Fatal(err)
			}
			storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(jobKey, value)}})
		}
		time.Sleep(DefaultLease) // it compares, and reads
		close(hold)
		time.Sleep(time.Minute)
		if !log.has("rereading it") || log.has("gone back") {
			t.Errorf("it says %s", log.all())
		}
		p.Gone(0, well, nil)
		p.ends()
	})
}

// late holds back what the node's half watches of the job.
type late struct {
	store.Store
	mu   sync.Mutex
	hold chan struct{} // closed: nothing is held
}

func (l *late) Watch(ctx context.Context, selector string) store.Watcher {
	w := l.Store.Watch(ctx, selector)
	if selector != jobKey {
		return w
	}
	return through(ctx, w, func(*store.Update) bool {
		l.mu.Lock()
		hold := l.hold
		l.mu.Unlock()
		<-hold
		return true
	})
}
