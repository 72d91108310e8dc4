package store_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

func TestMemory(t *testing.T) {
	jobs := make(map[string]*store.InMemory)
	storetest.Run(t, func(t *testing.T, job string) store.Store {
		if jobs[job] == nil {
			jobs[job] = store.NewInMemory()
		}
		return jobs[job].Connect(nil)
	})
}

// clock is the bubble's, as a Clock.
func clock() store.Clock {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

func TestCutHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		a, b := m.Connect(clock()), m.Connect(clock())
		defer a.Close()
		defer b.Close()
		view, other := storetest.Follow(t, a, ""), storetest.Follow(t, b, "")
		l := storetest.Join(t, a, 5*time.Second)
		storetest.Commit(t, a, store.Txn{Then: []store.Op{store.PutLeased("nodes/a", []byte("1"), l)}})
		view.Until("the key", func() bool { return len(view.Keys) == 1 })

		a.Cut()
		cut := l.Renewed()
		time.Sleep(4 * time.Second)
		if l.Renewed() != cut {
			t.Error("a lease was renewed through a cut connection")
		}
		if _, err := a.Commit(t.Context(), store.Txn{}); !errors.Is(err, store.ErrUnreachable) {
			t.Errorf("commit: %v", err)
		}
		a.Heal()
		time.Sleep(4 * time.Second) // past the time that it had left
		other.Until("the key", func() bool { return other.Text() == "nodes/a=1" })

		a.Cut()
		other.Until("its end", func() bool { return other.Text() == "" })
		select {
		case <-l.Lost():
			t.Error("word of the end has come through a cut connection")
		default:
		}
		last := storetest.Commit(t, b, store.Txn{Then: []store.Op{store.Put("job", []byte("1"))}})
		a.Heal()
		storetest.Wait(t, "word of the end", l.Lost())
		view.Until("what was missed", func() bool { return view.Rev >= last.Rev })
		if want := "+nodes/a=1 -nodes/a +job=1"; view.History() != want || view.Resets != 1 {
			t.Errorf("%s with %d resets, want %s", view.History(), view.Resets, want)
		}
	})
}

func TestCompact(t *testing.T) {
	m := store.NewInMemory()
	a, b := m.Connect(nil), m.Connect(nil)
	defer a.Close()
	defer b.Close()
	view := storetest.Follow(t, a, "")
	view.Until("the start", func() bool { return view.Resets == 1 })
	a.Cut()
	storetest.Commit(t, b, store.Txn{Then: []store.Op{store.Put("job", []byte("1"))}})
	last := storetest.Commit(t, b, store.Txn{Then: []store.Op{store.Put("job", []byte("2"))}})
	m.Compact()
	a.Heal()
	view.Until("the state", func() bool { return view.Rev >= last.Rev })
	if view.History() != "+job=2" || view.Resets != 2 {
		t.Errorf("%s with %d resets", view.History(), view.Resets)
	}
}

func TestReplace(t *testing.T) {
	m := store.NewInMemory()
	s := m.Connect(nil)
	defer s.Close()
	l := storetest.Join(t, s, time.Hour)
	old := storetest.Commit(t, s, store.Txn{Then: []store.Op{store.PutLeased("job", nil, l)}})
	view := storetest.Follow(t, s, "")
	view.Until("the key", func() bool { return len(view.Keys) == 1 })
	m.Replace()
	view.Until("an empty state", func() bool { return view.Resets == 2 && len(view.Keys) == 0 })
	if view.Token == old.Token {
		t.Error("the token is the same")
	}
	storetest.Wait(t, "the end of the lease", l.Lost())
}
