package store

import (
	"context"
	"fmt"
)

// Candidates is where the candidates for the leader put their keys, one each.
const Candidates = "lead/"

// Leadership is a won election. It holds for as long as its key is there: every write of the leader has the condition
// Held among its own.
type Leadership struct {
	Key       string
	CreateRev int64
}

// Held holds while this leadership does.
func (l Leadership) Held() Cond { return Since(l.Key, l.CreateRev) }

// Campaign takes part in the election and returns when it is won. The candidate that has been there longest leads, as
// in etcd's concurrency.Election: each waits for the one before it only, so that an end wakes one and not all.
//
// The value says who the candidate is. Campaign may be called again on the same lease, after an error too. It returns
// ErrLeaseLost if the candidate's key is gone.
func Campaign(ctx context.Context, s Store, lease Lease, value []byte) (Leadership, error) {
	key := Candidates + lease.ID()
	res, err := s.Commit(ctx, Txn{
		If:   []Cond{Absent(key)},
		Then: []Op{PutLeased(key, value, lease)},
		Read: []string{key},
	})
	if err != nil {
		return Leadership{}, fmt.Errorf("campaign for leader: %w", err)
	}
	if len(res.Read) == 0 {
		return Leadership{}, fmt.Errorf("campaign for leader: %w", ErrLeaseLost)
	}
	me := Leadership{Key: key, CreateRev: res.Read[0].CreateRev}
	for {
		earlier, found, err := s.Before(ctx, Candidates, me.CreateRev)
		if err != nil {
			return Leadership{}, fmt.Errorf("ask who leads: %w", err)
		}
		if found && !earlier.Leased { // a candidate's key is on its lease: this one is somebody's by hand, and would stay for ever
			_, err := s.Commit(ctx, Txn{If: []Cond{Unchanged(earlier.Key, earlier.ModRev)}, Then: []Op{Delete(earlier.Key)}})
			if err != nil {
				return Leadership{}, fmt.Errorf("remove what is no candidate: %w", err)
			}
			continue
		}
		if found {
			if err := gone(ctx, s, lease, earlier); err != nil {
				return Leadership{}, err
			}
			continue
		}
		// Nobody was before us. That says nothing unless we are still there.
		res, err := s.Commit(ctx, Txn{If: []Cond{me.Held()}})
		if err != nil {
			return Leadership{}, fmt.Errorf("make sure of the leadership: %w", err)
		}
		if !res.OK {
			return Leadership{}, fmt.Errorf("make sure of the leadership: %w", ErrLeaseLost)
		}
		return me, nil
	}
}

// gone waits until a key is not the one that it was.
func gone(ctx context.Context, s Store, lease Lease, kv KV) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	updates := s.Watch(ctx, kv.Key).Updates()
	for {
		select {
		case <-lease.Lost():
			return fmt.Errorf("wait for the leadership: %w", ErrLeaseLost)
		case u, ok := <-updates:
			if !ok {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return ErrClosed
			}
			if len(u.Deleted) > 0 || u.Reset && len(u.Changed) == 0 {
				return nil
			}
			for _, now := range u.Changed {
				if now.CreateRev != kv.CreateRev || !now.Leased {
					return nil
				}
			}
		}
	}
}
