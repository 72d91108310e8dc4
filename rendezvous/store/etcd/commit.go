package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// Commit implements store.Store. It is one request, and one more before the very first write to a job. Every
// transaction has the record's token among its conditions, so that none of them happens in a store that took its place.
func (s *Store) Commit(ctx context.Context, txn store.Txn) (store.Result, error) {
	if err := txn.Check(); err != nil {
		return store.Result{}, err
	}
	if s.ctx.Err() != nil {
		return store.Result{}, store.ErrClosed
	}
	if s.reader && len(txn.Then) > 0 {
		return store.Result{}, fmt.Errorf("%s: commit: %w: it was opened for reading", s.where, store.ErrRefused)
	}
	token, replaced := s.identity()
	if token == "" && len(txn.Then) > 0 {
		var err error
		if token, err = s.establish(ctx); err != nil {
			return store.Result{}, err
		}
	}
	if txn.Token != "" && txn.Token != token {
		return store.Result{}, fmt.Errorf("%s: commit: %w", s.where, store.ErrChanged)
	}
	ops, err := s.ops(txn.Then)
	if err != nil {
		return store.Result{}, err
	}
	if txn.Ends != nil || txn.Lasts {
		token, err := s.ops([]store.Op{{Key: tokenKey, Value: []byte(token), Lease: txn.Ends}})
		if err != nil {
			return store.Result{}, err
		}
		ops = append(ops, token...)
	}
	whose := clientv3.OpGet(s.prefix + tokenKey)
	var reads []clientv3.Op
	for _, selector := range txn.Read {
		reads = append(reads, s.get(selector))
	}
	otherwise := append([]clientv3.Op{whose}, reads...)
	for _, selector := range txn.Else {
		otherwise = append(otherwise, s.get(selector))
	}
	told := token == "" || deletes(txn.Then, tokenKey) // else its condition has shown it
	if told {
		ops = append(ops, whose)
	}
	req, done := s.request(ctx)
	defer done()
	res, err := s.client.Txn(req).If(s.conds(txn.If, token)...).Then(append(ops, reads...)...).Else(otherwise...).Commit()
	if err != nil {
		return store.Result{}, s.explain(ctx, "commit", err)
	}
	answers, now := res.Responses, token
	switch {
	case !res.Succeeded:
		now, answers = value(answers[0]), answers[1:]
	case told:
		now, answers = value(answers[len(ops)-1]), answers[len(ops):]
	default:
		answers = answers[len(ops):]
	}
	if !res.Succeeded && now != token {
		select {
		case <-replaced: // another one has noticed already
		default:
			s.meet(now, res.Header.Revision, position{})
		}
		return store.Result{}, fmt.Errorf("%s: commit: %w", s.where, store.ErrChanged)
	}
	if now == token {
		s.saw(token, res.Header.Revision)
	} else { // this was our first look, or we have just deleted everything
		s.meet(now, res.Header.Revision, position{})
	}
	out := store.Result{OK: res.Succeeded, Rev: res.Header.Revision, Token: now}
	for _, a := range answers {
		out.Read = append(out.Read, s.kvs(a.GetResponseRange())...)
	}
	return out, nil
}

// deletes reports whether a key is among those that are deleted.
func deletes(ops []store.Op, key string) bool {
	return slices.ContainsFunc(ops, func(op store.Op) bool { return op.Delete && store.Selects(op.Key, key) })
}

// value is that of the key that was read, empty where there is none.
func value(read *pb.ResponseOp) string {
	if kvs := read.GetResponseRange().Kvs; len(kvs) > 0 {
		return string(kvs[0].Value)
	}
	return ""
}

func (s *Store) ops(ops []store.Op) ([]clientv3.Op, error) {
	var out []clientv3.Op
	for _, op := range ops {
		switch {
		case op.Delete:
			out = append(out, clientv3.OpDelete(s.prefix+op.Key, s.below(op.Key)...))
		case op.Lease == nil:
			out = append(out, clientv3.OpPut(s.prefix+op.Key, string(op.Value)))
		default:
			l, ok := op.Lease.(*lease)
			if !ok {
				return nil, fmt.Errorf("put %q: %w: the lease is of another store", op.Key, store.ErrLeaseLost)
			}
			out = append(out, clientv3.OpPut(s.prefix+op.Key, string(op.Value), clientv3.WithLease(l.id)))
		}
	}
	return out, nil
}

func (s *Store) conds(conds []store.Cond, token string) []clientv3.Cmp {
	var out []clientv3.Cmp
	if token != "" {
		out = append(out, clientv3.Compare(clientv3.Value(s.prefix+tokenKey), "=", token))
	}
	for _, c := range conds {
		of := clientv3.ModRevision(s.prefix + c.Key)
		if c.Create {
			of = clientv3.CreateRevision(s.prefix + c.Key)
		}
		out = append(out, clientv3.Compare(of, "=", c.Rev))
	}
	return out
}

// get reads what a selector stands for.
func (s *Store) get(selector string) clientv3.Op {
	return clientv3.OpGet(s.prefix+selector, s.below(selector)...)
}

func (s *Store) below(selector string) []clientv3.OpOption {
	if store.IsPrefix(selector) {
		return []clientv3.OpOption{clientv3.WithPrefix()}
	}
	return nil
}

func (s *Store) kvs(res *pb.RangeResponse) []store.KV {
	var out []store.KV
	for _, kv := range res.Kvs {
		if kv := s.kv(kv); kv.Key != tokenKey {
			out = append(out, kv)
		}
	}
	return out
}

// kv makes a key relative again. A value that none of us can have written is left out: whoever reads it finds it empty,
// as any other that is corrupt.
func (s *Store) kv(kv *mvccpb.KeyValue) store.KV {
	out := store.KV{
		Key: strings.TrimPrefix(string(kv.Key), s.prefix), Value: kv.Value, CreateRev: kv.CreateRevision,
		ModRev: kv.ModRevision, Leased: kv.Lease != 0,
	}
	if out.Leased {
		out.Lease = leaseID(clientv3.LeaseID(kv.Lease))
	}
	if len(out.Value) > store.MaxValue {
		s.log.Warn("a value in the store is too large and was left out", "store", s.where, "key", string(kv.Key),
			"bytes", len(kv.Value), "max", store.MaxValue)
		out.Value = nil
	}
	return out
}

// Before implements store.Store, as concurrency.Election finds the candidate to wait for.
func (s *Store) Before(ctx context.Context, selector string, createRev int64) (store.KV, bool, error) {
	if s.ctx.Err() != nil {
		return store.KV{}, false, store.ErrClosed
	}
	opts := append(s.below(selector), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortDescend),
		clientv3.WithMaxCreateRev(createRev-1), clientv3.WithLimit(1))
	token, _ := s.identity()
	req, done := s.request(ctx)
	defer done()
	got, err := s.client.Get(req, s.prefix+selector, opts...)
	if err != nil {
		return store.KV{}, false, s.explain(ctx, "read", err)
	}
	s.saw(token, got.Header.Revision)
	if len(got.Kvs) == 0 {
		return store.KV{}, false, nil
	}
	return s.kv(got.Kvs[0]), true, nil
}
