package agent

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// TestProgressed: how far the nodes have come stands in the store, on the node's lease: written at most once a minute
// while steps move, soon after they stand still, and with the word that workers have failed or are gone. Of nodes that
// all got nowhere the one that is behind is the cause.
func TestProgressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		spec := rendezvous.DefaultSpec(2)
		spec.Restarts.Never = true
		nodes := gangOf(t, m, 2, spec, nil)
		nodes.start(0)
		one, other := nodes[0], nodes[1]
		puts, watch := 0, byHand.Watch(t.Context(), progress)
		const span = time.Hour
		for at := time.Duration(0); at < span; at += 100 * time.Millisecond {
			step := int64(at / (100 * time.Millisecond))
			one.Progressed(rendezvous.Reached{Step: &step, Phase: "train"}, false)
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
		if most := int(span/time.Minute) + 1; puts > most || puts < most/2 {
			t.Errorf("written %d times in %v, want at most %d", puts, span, most)
		}
		stands := func(want ...string) {
			t.Helper()
			var got []string
			for _, kv := range storetest.Commit(t, byHand, store.Txn{Read: []string{progress}}).Read {
				if got = append(got, string(kv.Value)); !kv.Leased {
					t.Errorf("%s is on no lease", kv.Key)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("there is %q, want %q", got, want)
			}
		}
		at := func(step int64) rendezvous.Reached { return rendezvous.Reached{Step: &step} }
		one.Progressed(at(600), false)
		time.Sleep(time.Minute + DefaultLease/3 + tick)
		other.Progressed(at(598), false)
		time.Sleep(DefaultLease/3 + tick)
		other.Progressed(at(599), true)
		time.Sleep(DefaultLease/3 + tick)
		stands(`{"v":1,"round":0,"step":600}`, `{"v":1,"round":0,"step":599,"still":true}`)
		// Whoever asks a node hears of all, and those that cannot be read tell nothing.
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(progress+"x", []byte("{"))}})
		if first := other.Reached(); first != nil {
			t.Errorf("nobody has asked before: %v", first)
		}
		time.Sleep(tick)
		if all := other.Reached(); len(all) != 2 || *all["node0"].Step != 600 || *all["node1"].Step != 599 {
			t.Errorf("%v", all)
		}
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Delete(progress + "x")}})

		// Both go on by ten before they hang.
		one.Progressed(at(610), false)
		other.Progressed(at(609), false)
		hang := rendezvous.Outcome{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonHang, Code: 212, Role: "suspect", Message: "made no progress"}
		one.Failing(0, hang, nil)
		one.Gone(0, hang, nil)
		other.Gone(0, hang, nil)
		end := one.ends()
		if end.Cause.Node != "node1" || !strings.Contains(end.Message, "behind: node1, at step 609 of 610") {
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
