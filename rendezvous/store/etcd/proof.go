package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// proof is what a linearizable read has shown of the keys of a watch: how many there are, the newest revision of any of
// them, and that of the store.
type proof struct{ count, newest, rev int64 }

// askForProof reads how the keys of the watch are by now. It stands in for the question how far the stream has come,
// where the answer to that one may overtake what it speaks of.
func (s *stream) askForProof(ctx context.Context) error {
	opts := append(s.store.below(s.selector), clientv3.WithKeysOnly(), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend))
	req, done := s.store.request(ctx)
	defer done()
	got, err := s.store.client.Get(req, s.store.prefix+s.selector, opts...)
	if err != nil {
		return s.store.explain(ctx, "read", err)
	}
	p := proof{count: got.Count, rev: got.Header.Revision}
	if len(got.Kvs) > 0 {
		p.newest = got.Kvs[0].ModRevision
	}
	s.prove(p)
	return nil
}

// prove moves the watch on where a read shows that nothing is on its way: every change since makes a key newer than what
// was seen, or takes one away. Otherwise the events will come.
func (s *stream) prove(p proof) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.rev > s.at.rev && p.newest <= s.at.rev && p.count == int64(len(s.keys)) {
		s.reached(p.rev)
	}
}

// remember notes which keys there are.
func (s *stream) remember(events []*mvccpb.Event) {
	for i := 0; s.store.suspect && i < len(events); i++ {
		e := events[i]
		if e.Type == mvccpb.Event_DELETE {
			delete(s.keys, string(e.Kv.Key))
		} else {
			s.keys[string(e.Kv.Key)] = true
		}
	}
}
