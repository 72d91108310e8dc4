package agent

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// puts counts how often a node tries to write its key.
type puts struct {
	store.Store
	of atomic.Int64
}

func (p *puts) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	time.Sleep(time.Millisecond) // or who asks again at once never lets time pass
	for _, op := range txn.Then {
		if strings.HasPrefix(op.Key, nodesKey) {
			p.of.Add(1)
		}
	}
	return p.Store.Commit(ctx, txn)
}

// takeKey gives a node's key to another incarnation.
func takeKey(t *testing.T, byHand store.Store, name string) {
	t.Helper()
	defer byHand.Close()
	kv := storetest.Commit(t, byHand, store.Txn{Read: []string{nodesKey + name}}).Read[0]
	node, err := rendezvous.ParseNode(kv.Key, kv.Value)
	if err != nil {
		t.Fatal(err)
	}
	node.Incarnation = name + "#another"
	value, err := rendezvous.Encode(node)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(kv.Key, value)}})
}

// TestItsKeyIsAnotherOnes: another incarnation has the key of a node whose workers take a minute to stop. It asks for
// the key no more: that one is not to be had.
func TestItsKeyIsAnotherOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		s := &puts{Store: m.Connect(clock)}
		p := join(t, s, "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		time.Sleep(time.Minute)
		before := s.of.Load()
		takeKey(t, m.Connect(clock), "node0")
		if o := p.next(); o.Stop == nil || !strings.Contains(o.Stop.Why, "taken its place") {
			t.Fatalf("got %s", describe(o))
		}
		time.Sleep(time.Minute)
		if tried := s.of.Load() - before; tried > 2 {
			t.Errorf("it has tried to write its key %d times", tried)
		}
		p.Gone(0, rendezvous.Outcome{}, nil)
		if e := p.ends(); e.Reason != rendezvous.ReasonReplaced {
			t.Errorf("%+v", e)
		}
	})
}

// TestItsFarewellIsNotHeard: another incarnation takes the key of a node that leaves. There is no place for its farewell, so it
// ends at once.
func TestItsFarewellIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		p := join(t, m.Connect(clock), "node0", rendezvous.DefaultSpec(1), nil)
		p.starts(0)
		p.Leave()
		p.stops()
		takeKey(t, m.Connect(clock), "node0")
		began := time.Now()
		p.Gone(0, rendezvous.Outcome{}, nil)
		p.ends()
		if took := time.Since(began); took > farewellTime/4 {
			t.Errorf("it has ended after %v", took)
		}
	})
}
