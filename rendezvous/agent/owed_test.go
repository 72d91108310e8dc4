package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// TestWhoHasStartedSaysSoWhenThereIsTime: the members of a large round do not all write at the moment when the store tells
// them to start. Each has within a second, and whoever is to stop before has at once.
func TestWhoHasStartedSaysSoWhenThereIsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 20
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		running := func(round int) (n int) {
			for _, kv := range storetest.Commit(t, byHand, store.Txn{Read: []string{nodesKey}}).Read {
				if node, err := rendezvous.ParseNode(kv.Key, kv.Value); err != nil {
					t.Fatal(err)
				} else if node.State == rendezvous.NodeRunning && node.Round == round {
					n++
				}
			}
			return n
		}
		nodes := gang(t, m, size)
		for _, p := range nodes {
			p.starts(0)
		}
		synctest.Wait()
		if n := running(0); n > 0 {
			t.Errorf("%d of %d have written at once", n, size)
		}
		time.Sleep(owedMost)
		if n := running(0); n != size {
			t.Errorf("after %v, %d of %d have written", owedMost, n, size)
		}
		nodes[0].Failing(0, killed, nil)
		nodes[0].Gone(0, killed, nil)
		for _, p := range nodes[1:] {
			p.stops()
		}
		for _, p := range nodes {
			p.starts(1)
		}
		nodes[0].Failing(1, killed, nil)
		synctest.Wait()
		for _, p := range nodes[1:] {
			if o := p.next(); o.Stop == nil {
				t.Fatalf("%s: got %s, want a stop", p.name, describe(o))
			}
		}
		synctest.Wait()
		if n := running(1); n != size {
			t.Errorf("%d of %d have said that their workers run, which are to stop", n, size)
		}
	})
}
