package etcd

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/internal/mailbox"
)

// earlyCluster has one key, and tells how far a watch is before it tells of the event, as etcd 3.4.23 does.
type earlyCluster struct {
	clientv3.KV
	stream chan *pb.WatchResponse
	key    atomic.Int64 // revision of the key
	rev    atomic.Int64
}

func (c *earlyCluster) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return &clientv3.GetResponse{
		Header: &pb.ResponseHeader{Revision: c.rev.Load()}, Count: 1,
		Kvs: []*mvccpb.KeyValue{{Key: []byte("/p/job"), ModRevision: c.key.Load()}},
	}, nil
}

func (c *earlyCluster) Watch(ctx context.Context, _ ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	return &fakeStream{ctx: ctx, feed: c.stream, asked: func() { c.stream <- at(c.rev.Load()) }}, nil
}

// early is a watch of such a cluster at revision 5, and how it ends.
func early(t *testing.T, suspect bool) (*watch, *earlyCluster, chan error) {
	t.Helper()
	began := time.Now()
	s := newStore("/p/", time.Second, slog.New(slog.DiscardHandler))
	s.clock = func() time.Duration { return time.Since(began) }
	s.token, s.rev, s.suspect = "a", 5, suspect
	c := &earlyCluster{stream: make(chan *pb.WatchResponse)}
	c.rev.Store(5)
	c.key.Store(5)
	s.client = clientv3.NewCtxClient(t.Context())
	s.client.KV, s.watches = c, c
	w := &watch{
		store: s, selector: "job", box: mailbox.New(store.Update.With), wake: make(chan struct{}, 1),
		keys: map[string]bool{"/p/job": true},
	}
	go w.box.Run(t.Context())
	_, replaced := s.identity()
	ended := make(chan error, 1)
	go func() { ended <- w.stream(t.Context(), &position{rev: 5, token: "a", replaced: replaced}) }()
	c.stream <- created
	return w, c, ended
}

// TestAnEarlyAnswerProvesNothing: where progress may overtake events, nobody is told of a revision before its event.
func TestAnEarlyAnswerProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := early(t, true)
		c.key.Store(7)
		c.rev.Store(9)
		w.Sync(9)
		c.stream <- at(9) // too early
		time.Sleep(time.Second)
		select {
		case u := <-w.box.Out():
			t.Fatalf("told of %s, and an event is on its way", text(u))
		default:
		}
		c.stream <- at(7, changed(7))
		if got := text(<-w.box.Out()); got != "7:+job7" {
			t.Errorf("got %s", got)
		}
		if got := text(<-w.box.Out()); got != "9:" {
			t.Errorf("got %s, want to hear that nothing else has happened", got)
		}
	})
}

// TestOldNewsShowThatTheViewIsWrong: an event that progress has overtaken ends the watch, which starts over.
func TestOldNewsShowThatTheViewIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c, ended := early(t, false)
		c.rev.Store(9)
		w.Sync(9)
		if got := text(<-w.box.Out()); got != "9:" {
			t.Errorf("got %s", got)
		}
		c.stream <- at(7, changed(7))
		if err := <-ended; !errors.Is(err, errOld) {
			t.Errorf("ended with %v, want %v", err, errOld)
		}
	})
}
