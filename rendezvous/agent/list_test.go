package agent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// TestTheListIsMissed keeps from one node of many who takes part in a round, until that stops: it has to say then that
// nothing of it runs, or nobody ever starts again.
func TestTheListIsMissed(t *testing.T) {
	for name, missed := range map[string]int{"of the first round": 0, "of another one": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 18 // one more than are needed for a round to name a list
				m := store.NewInMemory()
				way := &listless{Store: m.Connect(clock)}
				spec := rendezvous.DefaultSpec(n)
				spec.MinNodes, spec.LastCallRestart = n-1, rendezvous.Duration(100*time.Millisecond)
				nodes := []*party{join(t, way, "node0", spec, nil)}
				for i := 1; i < n; i++ {
					nodes = append(nodes, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, nil))
				}
				if missed == 0 {
					way.left.Store(1)
				}
				for round := range missed {
					for _, p := range nodes {
						p.starts(round)
					}
					last := nodes[len(nodes)-1]
					nodes = nodes[:len(nodes)-1]
					last.Leave()
					for _, p := range nodes {
						p.stops()
					}
					way.left.Store(1)
					last.stops()
					last.ends()
				}
				others := nodes[1:]
				for _, p := range others {
					p.starts(missed)
				}
				others[3].Failing(missed, killed, nil)
				others[3].Gone(missed, killed, nil)
				for i, p := range others {
					if i != 3 {
						p.stops()
					}
				}
				for _, p := range nodes {
					p.starts(missed + 1)
				}
				if way.left.Load() > 0 {
					t.Fatal("nobody has asked for the list")
				}
			})
		})
	}
}
