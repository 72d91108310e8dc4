package agent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestSlowNode: of three nodes with a rank each, the node that leads hears which one makes the others wait, by what they
// write once a minute, and when that is over; nobody else hears of it.
func TestSlowNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		nodes := gang(t, m, 3)
		nodes.start(0)
		type heard struct {
			by     int
			minute float64
			what   string
		}
		var got []heard
		began := time.Now()
		for minute := 1; minute <= 16; minute++ {
			for i, p := range nodes {
				own, step := int64(100_000), int64(60*minute)
				if i == 2 && minute <= 8 {
					own = 120_000
				}
				p.Progressed(rendezvous.Reached{Step: &step, Own: &rendezvous.OwnTime{
					Minute: minute, Usec: own, Step: 1_000_000, Steps: 60, Rank: i, RankUsec: own,
				}}, false)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			for i, p := range nodes {
				for more := true; more; {
					select {
					case o := <-p.Orders():
						if o.Slow == nil || o.Slow.Round != 0 {
							t.Fatal(describe(o))
						}
						text := fmt.Sprintf("%s over=%v: %v, not %v", o.Slow.Node, o.Slow.Over, o.Slow.Own, o.Slow.Others)
						got = append(got, heard{i, time.Since(began).Minutes(), text})
					default:
						more = false
					}
				}
			}
		}
		if len(got) != 2 || got[0].what != "node2 over=false: 120ms, not 100ms" || got[1].what != "node2 over=true: 100ms, not 100ms" ||
			got[0].by != got[1].by || got[0].minute > 6 || got[1].minute < 11 || got[1].minute > 15 {
			t.Errorf("%+v", got)
		}
	})
}
