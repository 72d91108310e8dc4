package agent

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// standing is a way to a store on which transactions wait until they may pass.
type standing struct {
	store.Store
	pass    chan struct{}
	commits int
}

func (s *standing) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	<-s.pass
	s.commits++
	return s.Store.Commit(ctx, txn)
}

// TestWhoHasLeftIsRemovedBeside has more nodes leave than fit into one transaction: the leader does not wait until their
// keys are gone, it takes no transaction for each, and a key that has come back stays.
func TestWhoHasLeftIsRemovedBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		way := &standing{Store: m.Connect(clock), pass: make(chan struct{})}
		l := &leader{Agent: &Agent{log: slog.New(slog.DiscardHandler)}, store: way}
		const nodes = 2*removeAtOnce + removeAtOnce/2
		var left []rendezvous.Removal
		for i := range nodes {
			name := fmt.Sprintf("node %04d", i)
			res := storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(nodesKey+store.Escape(name), []byte("{}"))}})
			left = append(left, rendezvous.Removal{Name: name, ModRev: res.Rev})
			l.view.Token = res.Token
		}
		back := nodesKey + store.Escape(left[nodes-1].Name)
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(back, []byte("{}"))}})
		l.remove(left) // it comes back while the store stands still
		synctest.Wait()
		close(way.pass)
		synctest.Wait()
		there := storetest.Commit(t, byHand, store.Txn{Read: []string{nodesKey}}).Read
		if way.commits != 3 || len(there) != removeAtOnce/2 || there[len(there)-1].Key != back {
			t.Errorf("%d transactions, %d keys are there", way.commits, len(there))
		}
	})
}
