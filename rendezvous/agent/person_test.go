package agent

import (
	"testing"
	"testing/synctest"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/storetest"
)

// person is somebody at the store who should not be there.
type person struct {
	t *testing.T
	store.Store
}

// meddling runs a test with a store and a person at it.
func meddling(t *testing.T, test func(t *testing.T, m *store.InMemory, by person)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := store.NewInMemory()
		by := person{t, m.Connect(clock)}
		defer by.Close()
		test(t, m, by)
	})
}

// does writes and deletes.
func (p person) does(ops ...store.Op) {
	p.t.Helper()
	storetest.Commit(p.t, p, store.Txn{Then: ops})
}

func (p person) deletes(selectors ...string) {
	p.t.Helper()
	var ops []store.Op
	for _, s := range selectors {
		ops = append(ops, store.Delete(s))
	}
	p.does(ops...)
}

func (p person) reads(selectors ...string) []store.KV {
	p.t.Helper()
	return storetest.Commit(p.t, p, store.Txn{Read: selectors}).Read
}

// charged is how many restarts the job's record counts.
func (p person) charged() int {
	p.t.Helper()
	kv := p.reads(jobKey)[0]
	job, err := rendezvous.ParseJob(kv.Key, kv.Value)
	if err != nil {
		p.t.Fatal(err)
	}
	return job.Budget.Total
}
