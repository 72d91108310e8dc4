package agent

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

var sick = rendezvous.Outcome{
	Verdict: exitcodes.Retry, Reason: exitcodes.ReasonNodeUnhealthy, Code: exitcodes.CodeNodeUnhealthy, Role: "root",
	NodeFault: true, Message: "the GPU driver reported Xid 79",
}

// hostKeys are the records of hosts in the store, with "!" where they go with a lease.
func hostKeys(t *testing.T, st store.Store) string {
	t.Helper()
	var list []string
	for _, kv := range storetest.Commit(t, st, store.Txn{Read: []string{hostsKey}}).Read {
		text := strings.TrimPrefix(kv.Key, hostsKey)
		if h, err := rendezvous.ParseHost(kv.Key, kv.Value); err == nil {
			text += fmt.Sprint(" ", h.Points)
		}
		if kv.Leased {
			text += "!"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// TestHostsLiveAsLongAsTheJob: what is known of hosts goes with the record of a job that has ended, comes back with a job
// that is opened again, and is gone when the record is. One that cannot be read is left alone, and goes, too.
func TestHostsLiveAsLongAsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		byHand := m.Connect(clock)
		defer byHand.Close()
		spec := rendezvous.DefaultSpec(2)
		spec.Restarts.Max = 1
		var said heard
		gang := func() parties {
			return gangOf(t, m, 2, spec, func(i int, c *Config) {
				c.Node.RunUID, c.Node.Host = "run", fmt.Sprint("gpu/", i) // not all that a name may have is fit for a key
				c.Log = slog.New(slog.NewTextHandler(&said, nil))
			})
		}
		fails := func(nodes parties, round int) {
			nodes[1].Failing(round, sick, nil)
			nodes[1].Gone(round, sick, nil)
			nodes[0].stops()
		}
		nodes := gang()
		nodes.start(0)
		storetest.Commit(t, byHand, store.Txn{Then: []store.Op{store.Put(hostsKey+"x", []byte("garbage"))}})
		fails(nodes, 0)
		nodes.start(1)
		if got := hostKeys(t, byHand); got != "gpu%2F1 1, x" {
			t.Errorf("after a fault: %s", got)
		}
		fails(nodes, 1)
		for _, p := range nodes {
			p.ends()
		}
		if got := hostKeys(t, byHand); got != "gpu%2F1 2!, x!" {
			t.Errorf("after the end: %s", got)
		}
		time.Sleep(time.Minute)
		nodes = gang()
		nodes.start(2)
		if got := hostKeys(t, byHand); got != "gpu%2F1 2, x" {
			t.Errorf("opened again: %s", got)
		}
		for _, p := range nodes {
			p.Gone(2, well, nil)
		}
		for _, p := range nodes {
			p.ends()
		}
		time.Sleep(rendezvous.DefaultTTL + time.Minute)
		if left := storetest.Commit(t, byHand, store.Txn{Read: []string{""}}).Read; len(left) != 0 {
			t.Errorf("%d keys are left", len(left))
		}
		if !said.has("a host's record cannot be used; its faults do not count") {
			t.Error("nothing is said of the record that cannot be read")
		}
	})
}

// TestABannedNodeWaits has one node of three, two of which suffice, fall sick three times. It waits then, and says why;
// who leads says so, once. When another one goes it is needed, takes part, and says so.
func TestABannedNodeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		spec := rendezvous.DefaultSpec(3)
		spec.MinNodes, spec.LastCall, spec.LastCallRestart = 2, rendezvous.Duration(time.Second), 0
		spec.Restarts.Max, spec.Restarts.Backoff = 100, 0
		var said heard
		var nodes []*party
		for i := range 3 {
			nodes = append(nodes, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, func(c *Config) {
				c.Node.Host = fmt.Sprint("gpu-", i)
				c.Log = slog.New(slog.NewTextHandler(&said, nil)).With("node", i)
			}))
		}
		for round := range 3 {
			for _, p := range nodes {
				p.starts(round)
			}
			nodes[2].Failing(round, sick, nil)
			nodes[2].Gone(round, sick, nil)
			nodes[0].stops()
			nodes[1].stops()
		}
		nodes[0].starts(3)
		nodes[1].starts(3)
		time.Sleep(3 * time.Second)
		for _, want := range []string{
			`msg="a host is banned: its nodes wait as spares while there are enough others" node=`,
			`msg=waiting node=2 why="round 3 runs without this node; host gpu-2 is banned until 2000-01-01 06:00:0`,
			`the last of its faults: NodeUnhealthy of node2 in round 2 (the GPU driver reported Xid 79); gangrun unban gpu-2 lifts that"`,
		} {
			if strings.Count(said.all(), want) != 1 {
				t.Errorf("not said once: %s\n%s", want, said.all())
			}
		}
		nodes[1].Leave()
		nodes[1].stops()
		nodes[0].stops()
		nodes[1].ends()
		nodes[0].starts(4)
		nodes[2].starts(4)
		time.Sleep(time.Second)
		if !said.has("this node's host is banned but takes part: there are too few others") {
			t.Errorf("nothing is said of that it is needed:\n%s", said.all())
		}
		for _, p := range []*party{nodes[0], nodes[2]} {
			p.Gone(4, well, nil)
		}
		nodes[0].ends()
		nodes[2].ends()
	})
}
