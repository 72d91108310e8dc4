package agent

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestDrainedWhileForming has the nodes of a round leave one after the other, the last one, which has not led so far, only once the
// job waits for the next round. The job is suspended all the same: it would else be found, perhaps a day later, as one whose time to
// gather its nodes is over.
func TestDrainedWhileForming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		nodes, s := gang(t, m, 3), m.Connect(clock)
		nodes.start(0)
		last := nodes[2]
		for _, p := range nodes[:2] {
			p.Leave()
			p.Gone(0, rendezvous.Outcome{}, nil)
		}
		last.stops()
		for phaseOf(t, s) != rendezvous.Forming {
			time.Sleep(time.Millisecond)
		}
		last.Leave()
		began := time.Now()
		for _, p := range nodes {
			p.ends()
		}
		if got := phaseOf(t, s); got != rendezvous.Suspended {
			t.Errorf("the job is %s", got)
		}
		if took := time.Since(began); took >= partTime {
			t.Errorf("that took %v: the last node has waited for nothing", took)
		}
	})
}

// TestDrainedUnseen has the last node of a round say farewell just before the leader, which has not seen that, writes that the others
// continue without those that left. The record is newer than each farewell, and nobody who wrote it knew of the last: the leader stays
// until it has decided on all that there was.
func TestDrainedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		var last *party
		stopped := make(chan struct{})
		held := sync.OnceFunc(func() {
			last.Leave()
			close(stopped)
			time.Sleep(100 * time.Millisecond) // the farewell is written
		})
		before := func(txn store.Txn) {
			for _, op := range txn.Then {
				if job, err := rendezvous.ParseJob(op.Key, op.Value); op.Key == jobKey && err == nil && job.Phase == rendezvous.Forming &&
					job.Round == 0 {
					held()
				}
			}
		}
		nodes := gangOf(t, m, 3, rendezvous.DefaultSpec(3), func(i int, c *Config) {
			c.Connect = func(context.Context) (store.Store, error) {
				time.Sleep(time.Duration(i) * time.Millisecond) // the first leads
				return hooked{m.Connect(clock), before}, nil
			}
		})
		nodes.start(0)
		last = nodes[2]
		for _, p := range nodes[:2] {
			p.Leave()
			p.Gone(0, rendezvous.Outcome{}, nil)
		}
		last.stops()
		<-stopped
		for _, p := range nodes {
			p.ends()
		}
		if got := phaseOf(t, m.Connect(clock)); got != rendezvous.Suspended {
			t.Errorf("the job is %s", got)
		}
	})
}

// hooked is a store that calls before what is written.
type hooked struct {
	store.Store
	before func(store.Txn)
}

func (h hooked) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	h.before(txn)
	return h.Store.Commit(ctx, txn)
}

// TestLeftWhileForming has one of three leave while the job waits for a fourth: it goes, and the job waits on.
func TestLeftWhileForming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		nodes, s := gang(t, m, 3), m.Connect(clock)
		nodes.start(0)
		nodes[0].Leave()
		nodes[0].Gone(0, rendezvous.Outcome{}, nil)
		nodes[1].stops()
		nodes[2].stops()
		began := time.Now()
		nodes[0].ends()
		if took := time.Since(began); took >= partTime {
			t.Errorf("the first took %v: the others had gone on without it", took)
		}
		began = time.Now()
		nodes[1].Leave()
		nodes[1].ends()
		if took := time.Since(began); took > partTime {
			t.Errorf("the second took %v", took)
		}
		if got := phaseOf(t, s); got != rendezvous.Forming {
			t.Errorf("the job is %s", got)
		}
	})
}

// phaseOf is the phase of the job's record in the store.
func phaseOf(t *testing.T, s store.Store) rendezvous.Phase {
	t.Helper()
	res, err := s.Commit(context.Background(), store.Txn{Read: []string{jobKey}})
	if err != nil || len(res.Read) != 1 {
		t.Fatalf("%d records of the job: %v", len(res.Read), err)
	}
	job, err := rendezvous.ParseJob(jobKey, res.Read[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	return job.Phase
}
