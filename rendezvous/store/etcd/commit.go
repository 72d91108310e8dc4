package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

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
		own, err := s.ops([]store.Op{{Key: tokenKey, Value: []byte(token), Lease: txn.Ends}})
		if err != nil {
			return store.Result{}, err
		}
		ops = append(ops, own...)
	}
	whose := s.get(tokenKey)
	told := token == "" || deletes(txn.Then, tokenKey) // else its condition has shown it
	if told {
		ops = append(ops, whose)
	}
	reads := s.gets(txn.Read)
	r := &pb.TxnRequest{
		Compare: s.conds(txn.If, token), Success: slices.Concat(ops, reads),
		Failure: slices.Concat([]*pb.RequestOp{whose}, reads, s.gets(txn.Else)),
	}
	req, done := s.request(ctx)
	defer done()
	res, err := s.keys.Txn(req, r, grpc.MaxCallRecvMsgSize(maxAnswer))
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

func (s *Store) ops(ops []store.Op) ([]*pb.RequestOp, error) {
	out := make([]*pb.RequestOp, 0, len(ops)+1)
	for _, op := range ops {
		key := []byte(s.prefix + op.Key)
		if op.Delete {
			out = append(out, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{
				RequestDeleteRange: &pb.DeleteRangeRequest{Key: key, RangeEnd: s.end(op.Key)},
			}})
			continue
		}
		put := &pb.PutRequest{Key: key, Value: op.Value}
		if op.Lease != nil {
			l, ok := op.Lease.(*lease)
			if !ok {
				return nil, fmt.Errorf("put %q: %w: the lease is of another store", op.Key, store.ErrLeaseLost)
			}
			put.Lease = int64(l.id)
		}
		out = append(out, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}})
	}
	return out, nil
}

func (s *Store) conds(conds []store.Cond, token string) []*pb.Compare {
	out := make([]*pb.Compare, 0, len(conds)+1)
	if token != "" {
		out = append(out, &pb.Compare{
			Key: []byte(s.prefix + tokenKey), Target: pb.Compare_VALUE, TargetUnion: &pb.Compare_Value{Value: []byte(token)},
		})
	}
	for _, c := range conds {
		is := &pb.Compare{
			Key: []byte(s.prefix + c.Key), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: c.Rev},
		}
		if c.Create {
			is.Target, is.TargetUnion = pb.Compare_CREATE, &pb.Compare_CreateRevision{CreateRevision: c.Rev}
		}
		out = append(out, is)
	}
	return out
}

// get reads what a selector stands for.
func (s *Store) get(selector string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{
		RequestRange: &pb.RangeRequest{Key: []byte(s.prefix + selector), RangeEnd: s.end(selector)},
	}}
}

func (s *Store) gets(selectors []string) []*pb.RequestOp {
	out := make([]*pb.RequestOp, len(selectors))
	for i, selector := range selectors {
		out[i] = s.get(selector)
	}
	return out
}

// end is where the keys end for which a selector stands; nil: it stands for one.
func (s *Store) end(selector string) []byte {
	if store.IsPrefix(selector) {
		return []byte(clientv3.GetPrefixRangeEnd(s.prefix + selector))
	}
	return nil
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
