package etcd

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// TestClassify: only what trying again does not fix is said to be so.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ err, kind error }{
		{rpctypes.ErrGRPCNoSpace, store.ErrFull},
		{rpctypes.ErrNoSpace, store.ErrFull},
		{rpctypes.ErrGRPCCorrupt, store.ErrUnreachable},
		{rpctypes.ErrGRPCRequestTooManyRequests, store.ErrUnreachable},
		{rpctypes.ErrGRPCNoLeader, store.ErrUnreachable},
		{rpctypes.ErrGRPCTimeout, store.ErrUnreachable},
		{rpctypes.ErrGRPCRequestTooLarge, store.ErrRefused},
		{rpctypes.ErrGRPCTooManyOps, store.ErrRefused},
		{rpctypes.ErrGRPCPermissionDenied, store.ErrDenied},
		{rpctypes.ErrGRPCLeaseNotFound, store.ErrLeaseLost},
		{errors.New("anything else"), store.ErrUnreachable},
	} {
		if _, kind := classify(tt.err); kind != tt.kind {
			t.Errorf("%v: %v, want %v", tt.err, kind, tt.kind)
		}
	}
}
