package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// TestProgressed: how far the nodes have come stands in the store, written at most once in the time of a renewal and on
// the node's lease; and of nodes that all got nowhere the one that is behind is the cause.
func TestProgressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		spec := rendezvous.DefaultSpec(2)
		spec.Restarts.Never = true
		one := join(t, m.Connect(clock), "node0", spec, nil)
		other := join(t, m.Connect(clock), "node1", spec, nil)
		one.starts(0)
		other.starts(0)
		puts, watch := 0, byHand.Watch(t.Context(), progress)
		const span = time.Minute
		for at := time.Duration(0); at < span; at += 100 * time.Millisecond {
			step := int64(at / (100 * time.Millisecond))
			one.Progressed(rendezvous.Reached{Step: &step, Phase: "train"})
			time.Sleep(100 * time.Millisecond)
			for more := true; more; {
				select {
				case u := <-watch.Updates():
					puts += len(u.Changed)
				default:
					more = false
				}
			}
		}
		if most := int(span/(DefaultLease/3)) + 1; puts > most || puts < most/2 {
			t.Errorf("written %d times, want at most %d", puts, most)
		}
		last, less := int64(600), int64(599)
		one.Progressed(rendezvous.Reached{Step: &last})
		other.Progressed(rendezvous.Reached{Step: &less})
		time.Sleep(DefaultLease/3 + 2*tick)
		res := storetest.Commit(t, byHand, store.Txn{Read: []string{progress}})
		if len(res.Read) != 2 || !res.Read[0].Leased || string(res.Read[1].Value) != `{"v":1,"round":0,"step":599}` {
			t.Fatalf("%+v", res.Read)
		}

		hang := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonHang, Code: 212, Role: "suspect", Message: "got nowhere"}
		one.Failing(0, hang, nil)
		one.Gone(0, hang, nil)
		other.Gone(0, hang, nil)
		end := one.ends()
		if end.Cause.Node != "node1" || !strings.Contains(end.Message, "behind: node1, at step 599 of 600") {
			t.Errorf("%+v: %+v", end, end.Cause)
		}
		other.ends()
		one.Close()
		other.Close()
		time.Sleep(DefaultLease)
		if res := storetest.Commit(t, byHand, store.Txn{Read: []string{progress}}); len(res.Read) != 0 {
			t.Errorf("left: %+v", res.Read)
		}
	})
}
