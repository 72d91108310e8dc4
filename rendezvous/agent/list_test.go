package agent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// listless is a way to the store on which the list of a round's members is not to be had, for so many times.
type listless struct {
	store.Store
	left atomic.Int64
}

func (l *listless) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	if len(txn.If) == 0 && len(txn.Read) == 1 && strings.HasPrefix(txn.Read[0], lists) && l.left.Add(-1) >= 0 {
		return store.Result{}, store.ErrUnreachable
	}
	return l.Store.Commit(ctx, txn)
}

// TestTheListIsMissed keeps from one node of many who takes part in the first round, until that stops: it has to say then
// that nothing of it runs, or nobody ever starts again.
func TestTheListIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		way := &listless{Store: m.Connect(clock)}
		way.left.Store(1)
		const n = 17 // the fewest whose round names a list
		spec := rendezvous.DefaultSpec(n)
		nodes := []*party{join(t, way, "node0", spec, nil)}
		for i := 1; i < n; i++ {
			nodes = append(nodes, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, nil))
		}
		others := nodes[1:]
		for _, p := range others {
			p.starts(0)
		}
		others[3].Failing(0, killed, nil)
		others[3].Gone(0, killed, nil)
		for i, p := range others {
			if i != 3 {
				p.stops()
			}
		}
		for _, p := range nodes {
			p.starts(1)
		}
		if way.left.Load() > 0 {
			t.Fatal("nobody has asked for the list")
		}
	})
}
