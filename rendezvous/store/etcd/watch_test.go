package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
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

func TestUpdates(t *testing.T) {
	for _, tt := range []struct{ name, events, want string }{
		{"one", "+a5", "5:+a5"},
		{"several keys", "+a5 +b6 -c7", "7:+a5+b6-c7"},
		{"one transaction", "+a5 -b5", "5:+a5-b5"},
		{"a key again", "+a5 +a6", "5:+a5 6:+a6"},
		{"put again after it was gone", "+a5 -a6 +a7", "5:+a5 6:-a6 7:+a7"},
		{"a transaction is not torn apart", "+a5 +b6 +a6 +c7", "5:+a5 7:+b6+a6+c7"},
		{"the token", "+token5", "5:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &watch{store: &Store{prefix: "/p/", log: slog.New(slog.DiscardHandler)}}
			var events []*mvccpb.Event
			for _, e := range strings.Fields(tt.events) {
				key, rev := e[1:len(e)-1], int64(e[len(e)-1]-'0')
				kv := &mvccpb.KeyValue{Key: []byte("/p/" + key), ModRevision: rev}
				event := &mvccpb.Event{Type: mvccpb.Event_PUT, Kv: kv}
				if e[0] == '-' {
					event.Type = mvccpb.Event_DELETE
				}
				events = append(events, event)
			}
			var got []string
			for _, u := range w.updates(events) {
				got = append(got, text(u))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s, want %s", s, tt.want)
			}
		})
	}
}

func text(u store.Update) string {
	s := fmt.Sprintf("%d:", u.Rev)
	for _, kv := range u.Changed {
		s += fmt.Sprintf("+%s%d", kv.Key, kv.ModRev)
	}
	for _, d := range u.Deleted {
		s += fmt.Sprintf("-%s%d", d.Key, d.Rev)
	}
	return s
}

// fakeStream is a stream that the test feeds; asked is called when somebody asks how far it is.
type fakeStream struct {
	pb.Watch_WatchClient
	ctx   context.Context
	feed  chan *pb.WatchResponse
	asked func()
}

func (f *fakeStream) Send(r *pb.WatchRequest) error {
	if r.GetProgressRequest() != nil {
		f.asked()
	}
	return nil
}

func (f *fakeStream) Recv() (*pb.WatchResponse, error) {
	select {
	case r, ok := <-f.feed:
		if !ok {
			return nil, io.EOF
		}
		return r, nil
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	}
}

// fakeCluster answers reads and opens watches that the test feeds.
type fakeCluster struct {
	clientv3.KV
	token   atomic.Pointer[string]
	rev     atomic.Int64
	watches chan chan *pb.WatchResponse
}

func (f *fakeCluster) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	kv := &mvccpb.KeyValue{Value: []byte(*f.token.Load())}
	return &clientv3.GetResponse{Header: &pb.ResponseHeader{Revision: f.rev.Load()}, Kvs: []*mvccpb.KeyValue{kv}}, nil
}

func (f *fakeCluster) Watch(ctx context.Context, _ ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	s := &fakeStream{ctx: ctx, feed: make(chan *pb.WatchResponse, 1), asked: func() {}} // and no answer
	s.feed <- created
	f.watches <- s.feed
	return s, nil
}

var created = &pb.WatchResponse{Header: &pb.ResponseHeader{Revision: 100}, Created: true} // which says nothing of the events

func at(rev int64, events ...*mvccpb.Event) *pb.WatchResponse {
	return &pb.WatchResponse{Header: &pb.ResponseHeader{Revision: rev}, Events: events}
}

func changed(rev int64) *mvccpb.Event {
	return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("/p/job"), ModRevision: rev}}
}

// TestFollow: a stream that says nothing any more is given up when the store is known to be further, and only then; one
// of a store that has been replaced is not continued.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newStore("/p/", time.Second, slog.New(slog.DiscardHandler))
		s.clock = func() time.Duration { return time.Since(began) }
		s.token, s.rev = "a", 5
		f := &fakeCluster{watches: make(chan chan *pb.WatchResponse, 1)}
		f.rev.Store(5)
		f.token.Store(new("a"))
		s.client = clientv3.NewCtxClient(t.Context())
		s.client.KV, s.watches = f, f
		w := &watch{store: s, selector: "job", box: mailbox.New(store.Update.With), wake: make(chan struct{}, 1)}
		go w.box.Run(t.Context())
		_, replaced := s.identity()
		ended := make(chan error, 1)
		go func() { ended <- w.follow(t.Context(), position{rev: 5, token: "a", replaced: replaced}, newPause()) }()

		<-f.watches
		time.Sleep(time.Minute) // nothing happens, and that is all right
		select {
		case <-f.watches:
			t.Fatal("a quiet stream was given up")
		default:
		}
		f.rev.Store(9)
		s.saw("a", 9)
		second := <-f.watches
		second <- at(9, changed(8)) // other keys have brought the rest about
		if got := text(<-w.box.Out()); got != "8:+job8" {
			t.Errorf("got %s", got)
		}
		w.Sync(9)
		second <- at(9)
		if got := text(<-w.box.Out()); got != "9:" {
			t.Errorf("got %s", got)
		}

		f.token.Store(new("b"))
		close(second)
		if err := <-ended; !errors.Is(err, errReplaced) {
			t.Errorf("ended with %v, want %v", err, errReplaced)
		}
	})
}

func TestTooLargeIsLeftOut(t *testing.T) {
	s := &Store{prefix: "/p/", log: slog.New(slog.DiscardHandler)}
	for _, n := range []int{store.MaxValue, store.MaxValue + 1} {
		kv := s.kv(&mvccpb.KeyValue{Key: []byte("/p/job"), Value: make([]byte, n)})
		if want := n; n > store.MaxValue && kv.Value != nil || n <= store.MaxValue && len(kv.Value) != want {
			t.Errorf("of %d bytes %d are left", n, len(kv.Value))
		}
	}
}
