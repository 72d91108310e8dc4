package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// proof is what a linearizable read has shown of the keys of a watch: how many there are, the newest revision of any of
// them, and that of the store.
type proof struct{ count, newest, rev int64 }

// askForProof reads how the keys of the watch are by now. It stands in for the question how far the stream has come,
// where the answer to that one may overtake what it speaks of.
func (w *watch) askForProof(ctx context.Context) error {
	opts := append(w.store.below(w.selector), clientv3.WithKeysOnly(), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend))
	req, done := w.store.request(ctx)
	defer done()
	got, err := w.store.client.Get(req, w.store.prefix+w.selector, opts...)
	if err != nil {
		return w.store.explain(ctx, "read", err)
	}
	p := proof{count: got.Count, rev: got.Header.Revision}
	if len(got.Kvs) > 0 {
		p.newest = got.Kvs[0].ModRevision
	}
	select {
	case w.proofs <- p:
	case <-ctx.Done():
	}
	return nil
}

// prove moves the watch on where a read shows that nothing is on its way: every change since makes a key newer than what
// was seen, or takes one away. Otherwise the events will come.
func (w *watch) prove(p proof, at *position) {
	if p.rev <= at.rev || p.newest > at.rev || p.count != int64(len(w.keys)) {
		return
	}
	at.rev = p.rev
	if want := w.wanted(); 0 < want && want <= at.rev {
		w.send(store.Update{Rev: at.rev})
	}
}
