package agent

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// lagging hands news on as far as they may come, and holds transactions back while it is told to. Its lease is another
// way's matter.
type lagging struct {
	store.Store             // leases and transactions
	news        store.Store // watches

	mu   sync.Mutex
	upTo int64         // the last revision that is heard of
	more chan struct{} // closed when upTo changes
	mute chan struct{} // transactions wait until it is closed
}

const everything = 1 << 60

func newLagging(m *store.InMemory) *lagging {
	open := make(chan struct{})
	close(open)
	return &lagging{Store: m.Connect(clock), news: m.Connect(clock), upTo: everything, more: make(chan struct{}), mute: open}
}

func (l *lagging) hear(upTo int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upTo = upTo
	close(l.more)
	l.more = make(chan struct{})
}

func (l *lagging) holdCommits() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mute := make(chan struct{})
	l.mute = mute
	return func() { close(mute) }
}

func (l *lagging) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	l.mu.Lock()
	mute := l.mute
	l.mu.Unlock()
	select {
	case <-mute:
		return l.Store.Commit(ctx, txn)
	case <-ctx.Done():
		return store.Result{}, store.ErrUnreachable
	}
}

func (l *lagging) Watch(ctx context.Context, selector string) store.Watcher {
	return replayed{through(ctx, l.news.Watch(ctx, selector), func(u *store.Update) bool {
		for {
			l.mu.Lock()
			more := l.more
			heard := u.Rev <= l.upTo
			l.mu.Unlock()
			if heard {
				return true
			}
			select {
			case <-more:
			case <-ctx.Done():
				return false
			}
		}
	}).out}
}

// TestOldNewsAfterANewLease: a round is formed of which a member hears nothing, and it is out of reach until the others
// continue without it. Back again it has a new lease, with which its own deadline has moved, before it hears more than the
// beginning of that round. It may not start it: the next one runs.
func TestOldNewsAfterANewLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		spec := rendezvous.DefaultSpec(2)
		spec.MinNodes, spec.LastCall = 1, rendezvous.Duration(200*time.Millisecond)
		byHand := m.Connect(clock)
		defer byHand.Close()
		now := func() int64 { return storetest.Commit(t, byHand, store.Txn{Read: []string{jobKey}}).Rev }
		way := newLagging(m)
		one := join(t, m.Connect(clock), "node0", spec, nil)
		synctest.Wait() // until it leads
		other := join(t, way, "node1", spec, nil)
		parties{one, other}.start(0)
		one.Failing(0, killed, nil)
		one.Gone(0, killed, nil)
		if o := other.next(); o.Stop == nil {
			t.Fatalf("got %s", describe(o))
		}
		way.hear(now())
		other.Gone(0, rendezvous.Outcome{}, nil)
		one.starts(1)
		formed := now()
		way.Store.(interface{ Cut() }).Cut()
		one.stops()
		one.starts(2)
		way.hear(formed)
		release := way.holdCommits()
		way.Store.(interface{ Heal() }).Heal()
		time.Sleep(2 * time.Second)
		select {
		case o := <-other.Orders():
			t.Fatalf("got %s while round 2 runs", describe(o))
		default:
		}
		release()
		way.hear(everything)
		time.Sleep(time.Minute)
		one.Gone(2, well, nil)
		one.ends()
	})
}

// replaying hands each update of the job's record out again when it is told to.
type replaying struct {
	store.Store
	again chan struct{}
}

type replayed struct{ out chan store.Update }

func (r replayed) Updates() <-chan store.Update { return r.out }
func (replayed) Sync(int64)                     {}

func (r *replaying) Watch(ctx context.Context, selector string) store.Watcher {
	w := r.Store.Watch(ctx, selector)
	if selector != jobKey {
		return w
	}
	out := replayed{make(chan store.Update)}
	go func() {
		defer close(out.out)
		var all []store.Update
		send := func(u store.Update) {
			select {
			case out.out <- u:
			case <-ctx.Done():
			}
		}
		for {
			select {
			case u, ok := <-w.Updates():
				if !ok {
					return
				}
				all = append(all, u)
				send(u)
			case <-r.again:
				for _, u := range all {
					if !u.Reset {
						send(u)
					}
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// TestALateEventIsDropped deletes the job's record by hand, which the leader puts back; and when the next round runs, all
// that was ever told of the record is told once more.
func TestALateEventIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		s := &replaying{m.Connect(clock), make(chan struct{})}
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(jobKey)}})
		time.Sleep(time.Minute)
		p.Failing(0, killed, nil)
		p.Gone(0, killed, nil)
		p.starts(1)
		s.again <- struct{}{}
		time.Sleep(time.Minute)
		select {
		case o := <-p.Orders():
			t.Fatalf("got %s", describe(o))
		default:
		}
		p.Gone(p.round, well, nil)
		p.ends()
	})
}
