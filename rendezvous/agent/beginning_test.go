package agent

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// apart is a way to the store on which the job's record never says which round begins with it, as that of a leader for
// whose round there was no room in it.
type apart struct{ store.Store }

func (a apart) Watch(ctx context.Context, selector string) store.Watcher {
	return through(ctx, a.Store.Watch(ctx, selector), func(u *store.Update) bool {
		u.Changed = slices.Clone(u.Changed)
		for i, kv := range u.Changed {
			if job, _, err := rendezvous.ParseBeginning(kv.Key, kv.Value); kv.Key == jobKey && err == nil {
				u.Changed[i].Value, _ = rendezvous.Encode(job)
			}
		}
		return true
	})
}

// TestARoundThatDoesNotComeAlong: a node that hears only that a round runs reads at once which it is.
func TestARoundThatDoesNotComeAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		spec := rendezvous.DefaultSpec(2)
		g := parties{join(t, apart{m.Connect(clock)}, "node0", spec, nil), join(t, apart{m.Connect(clock)}, "node1", spec, nil)}
		g.start(0)
		began := time.Now()
		g.fail(0, 0)
		g.start(1)
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it takes them %v", took)
		}
		g.succeed(1)
	})
}
