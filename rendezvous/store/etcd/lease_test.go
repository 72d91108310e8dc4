package etcd

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// slowLeases answers renewals when the test says so.
type slowLeases struct {
	pb.LeaseClient
	asked  chan time.Duration // when each request came
	answer chan int64         // with this TTL; below 0, the stream breaks
}

type slowStream struct {
	grpc.ClientStream
	ctx    context.Context
	leases slowLeases
}

func (s slowLeases) LeaseKeepAlive(ctx context.Context, _ ...grpc.CallOption) (
	grpc.BidiStreamingClient[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse], error) {
	return &slowStream{ctx: ctx, leases: s}, nil
}

func (s *slowStream) Send(*pb.LeaseKeepAliveRequest) error {
	s.leases.asked <- store.Boottime()
	return nil
}

func (s *slowStream) Recv() (*pb.LeaseKeepAliveResponse, error) {
	select {
	case ttl := <-s.leases.answer:
		if ttl < 0 {
			return nil, errors.New("broken")
		}
		return &pb.LeaseKeepAliveResponse{TTL: ttl, Header: &pb.ResponseHeader{Revision: 7}}, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// TestRenewed: a renewal counts from when it was sent, and only if it was answered.
func TestRenewed(t *testing.T) {
	leases := slowLeases{asked: make(chan time.Duration), answer: make(chan int64)}
	s := newStore("/p/", time.Minute, slog.New(slog.DiscardHandler))
	s.token = "a"
	s.leases = leases
	s.client = clientv3.NewCtxClient(t.Context())
	s.client.KV = deadKV{}
	l := &lease{store: s, id: 1, ttl: time.Hour, lost: make(chan struct{})}
	first := store.Boottime() - l.ttl // the next one is due
	l.renewed.Store(int64(first))
	l.ctx, l.stop = context.WithCancel(s.ctx)
	s.spawn(l.keep)
	defer func() { s.stop(); s.ending.Wait() }()

	asked := <-leases.asked
	if l.Renewed() != first {
		t.Error("renewed before there was an answer")
	}
	leases.answer <- -1
	again := <-leases.asked
	if l.Renewed() != first {
		t.Error("renewed without an answer")
	}
	leases.answer <- 5
	for rev := int64(0); rev != 7; rev, _ = s.newest() { // noted last
		runtime.Gosched()
	}
	if got := l.Renewed(); got > again || got <= asked {
		t.Errorf("renewed at %v, sent before %v and after %v", got, again, asked)
	}

	before := l.Renewed()
	s.meet("b", 1, position{}) // the store is another one: the lease asks at once
	<-leases.asked
	leases.answer <- 0
	<-l.Lost()
	if l.Renewed() != before {
		t.Error("a lease that is lost was renewed")
	}
}

// deadKV cannot be reached.
type deadKV struct{ clientv3.KV }

func (deadKV) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return nil, errors.New("not here")
}
