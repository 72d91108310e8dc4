package agent

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/internal/shared"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// heard keeps what nodes log.
type heard struct{ shared.Buffer }

func (h *heard) all() string { return h.String() }

func (h *heard) has(what string) bool { return strings.Contains(h.all(), what) }

// TestAKeyComesBack deletes and overwrites a node's key by hand while its workers run. The others may not even notice:
// nothing stops, the key is there again within two renewals, and the node says what has happened.
func TestAKeyComesBack(t *testing.T) {
	const name, key = "node1", nodesKey + "node1"
	for what, tc := range map[string]struct {
		op   store.Op
		says string
	}{
		"deleted":                {store.Delete(key), "this node's key was deleted"},
		"overwritten":            {store.Put(key, []byte("garbage{")), "this node's key was overwritten"},
		"another version":        {store.Put(key, []byte(`{"v":99}`)), "this node's key was overwritten"},
		"everything was deleted": {store.Delete(""), "this node's key was deleted"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				var log heard
				spec := rendezvous.DefaultSpec(2)
				spec.MinNodes, spec.LastCall = 1, rendezvous.Duration(200*time.Millisecond)
				one := join(t, m.Connect(clock), "node0", spec, nil)
				other := join(t, m.Connect(clock), name, spec, func(c *Config) {
					c.Log = slog.New(slog.NewTextHandler(&log, nil))
				})
				one.starts(0)
				other.starts(0)
				time.Sleep(time.Minute)
				storetest.Commit(t, byHand, store.Txn{Then: []store.Op{tc.op}})
				time.Sleep(2*DefaultLease/3 + 2*tick)
				res := storetest.Commit(t, byHand, store.Txn{Read: []string{key}})
				if len(res.Read) != 1 || !res.Read[0].Leased {
					t.Fatalf("the key is not there again: %+v", res.Read)
				}
				if n, err := rendezvous.ParseNode(key, res.Read[0].Value); err != nil || n.State != rendezvous.NodeRunning {
					t.Errorf("%+v, %v", n, err)
				}
				if !log.has(tc.says) {
					t.Errorf("it does not say so: %s", log.all())
				}
				time.Sleep(5 * time.Minute)
				for _, p := range []*party{one, other} {
					select {
					case o := <-p.Orders():
						t.Fatalf("%s: got %s", p.name, describe(o))
					default:
					}
					p.Gone(0, well, nil)
				}
				one.ends()
				other.ends()
			})
		})
	}
}

// TestGarbageUnderAFreeName: it is overwritten, and where it is on a lease the node waits, and says nothing else meanwhile.
func TestGarbageUnderAFreeName(t *testing.T) {
	for name, leased := range map[string]bool{"nobody's": false, "on a lease": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := store.NewInMemory()
				byHand := m.Connect(clock)
				defer byHand.Close()
				op := store.Put(nodesKey+"node1", []byte("garbage{"))
				lease := storetest.Join(t, byHand, time.Second)
				if leased {
					op.Lease = lease
				}
				storetest.Commit(t, byHand, store.Txn{Then: []store.Op{op}})
				var log heard
				spec := rendezvous.DefaultSpec(2)
				one := join(t, m.Connect(clock), "node0", spec, nil)
				other := join(t, m.Connect(clock), "node1", spec, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
				if leased {
					time.Sleep(time.Minute)
					if text := log.all(); !log.has("holds something else") || strings.Count(text, "waiting") > 3 {
						t.Errorf("it does not say it, or says too much: %s", text)
					}
					if err := lease.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for _, p := range []*party{one, other} {
					p.starts(0)
					p.Gone(0, well, nil)
				}
				one.ends()
				other.ends()
			})
		})
	}
}
