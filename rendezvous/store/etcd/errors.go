package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// kinds sorts etcd's own errors. All others mean that the cluster did not answer.
var kinds = []struct {
	err  error
	kind error
}{
	{rpctypes.ErrAuthFailed, store.ErrDenied},
	{rpctypes.ErrPermissionDenied, store.ErrDenied},
	{rpctypes.ErrUserEmpty, store.ErrDenied},
	{rpctypes.ErrUserNotFound, store.ErrDenied},
	{rpctypes.ErrInvalidAuthToken, store.ErrDenied},
	{rpctypes.ErrInvalidAuthMgmt, store.ErrDenied},
	{rpctypes.ErrLeaseNotFound, store.ErrLeaseLost},
	{rpctypes.ErrRequestTooLarge, store.ErrRefused},
	{rpctypes.ErrTooManyOps, store.ErrRefused},
	{rpctypes.ErrDuplicateKey, store.ErrRefused},
	{rpctypes.ErrEmptyKey, store.ErrRefused},
	{rpctypes.ErrNoSpace, store.ErrFull},
	{rpctypes.ErrCorrupt, store.ErrUnreachable},         // until somebody has repaired it
	{rpctypes.ErrTooManyRequests, store.ErrUnreachable}, // at the moment
	{rpctypes.ErrLeaseTTLTooLarge, store.ErrRefused},
}

// explain makes one line of an error: what was tried, where, the kind, the cause. The context is the caller's; its end
// is no fault of the cluster.
func (s *Store) explain(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.ctx.Err() != nil:
		return store.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %s: %w (last: %s)", s.where, what, context.Cause(ctx), oneLine(err))
	}
	cause, kind := classify(err)
	if kind == store.ErrUnreachable && len(s.access.endpoints) > 0 {
		if c, k := s.access.diagnose(ctx, cause); c != "" {
			cause, kind = c, k
		}
		if only := s.access.endpoints; len(only) == 1 { // the place names it
			cause = strings.TrimPrefix(cause, only[0]+": ")
		}
	}
	return fmt.Errorf("%s: %s: %w: %s", s.where, what, kind, cause)
}

// classify sorts an error of etcd's client.
func classify(err error) (cause string, kind error) {
	known := rpctypes.Error(err)
	for _, k := range kinds {
		if errors.Is(known, k.err) {
			return oneLine(known), k.kind
		}
	}
	if st, ok := status.FromError(err); ok {
		switch st.Code() {
		case codes.ResourceExhausted, codes.InvalidArgument:
			return oneLine(err), store.ErrRefused
		case codes.Unauthenticated, codes.PermissionDenied:
			return oneLine(err), store.ErrDenied
		}
	}
	var etcd rpctypes.EtcdError
	if errors.As(known, &etcd) && etcd.Code() == codes.Unavailable {
		return oneLine(known), store.ErrUnreachable
	}
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded ||
		clientv3.IsConnCanceled(err) {
		return "no answer in time", store.ErrUnreachable
	}
	return oneLine(err), store.ErrUnreachable
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
