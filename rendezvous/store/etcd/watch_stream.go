package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// stream is one stream of etcd's, with one watch on it. It is our own and not that of etcd's client, which would hand
// each event over three times before we see it, and open other streams without a word.
type stream struct {
	*watch
	ctx context.Context
	raw pb.Watch_WatchClient

	mu sync.Mutex // of at.rev: what comes is taken by one goroutine, and what does not is noticed by another
	at *position

	asking  sync.Mutex // while a question is under way
	sending sync.Mutex
	beside  sync.WaitGroup // what else goes on
}

var (
	errSlow  = errors.New("no stream in time")
	errEnded = errors.New("the stream has ended")
)

// stream follows one stream from a position on.
func (w *watch) stream(ctx context.Context, at *position) error {
	ctx, end := context.WithCancelCause(clientv3.WithRequireLeader(ctx))
	s := &stream{watch: w, ctx: ctx, at: at}
	defer s.beside.Wait()
	defer end(errEnded)
	opening := time.AfterFunc(w.store.timeout, func() { end(errSlow) })
	defer opening.Stop()
	err := s.open()
	if err == nil {
		s.beside.Go(crash.Guard(func() { end(s.attend()) }))
		err = s.receive(opening)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (s *stream) open() (err error) {
	if s.raw, err = s.store.watches.Watch(s.ctx, grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(maxAnswer)); err != nil {
		return fmt.Errorf("open a stream: %w", rpctypes.Error(err))
	}
	create := &pb.WatchCreateRequest{
		Key: []byte(s.store.prefix + s.selector), RangeEnd: s.store.end(s.selector), StartRevision: s.at.rev + 1,
	}
	_ = s.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}}) // else Recv says why
	return nil
}

func (s *stream) send(r *pb.WatchRequest) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.raw.Send(r)
}

// receive takes what comes.
func (s *stream) receive(opening *time.Timer) error {
	for {
		r, err := s.raw.Recv()
		if err != nil {
			return fmt.Errorf("%w: %w", errEnded, rpctypes.Error(err))
		}
		if err := refusal(r); err != nil {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
		if r.Created {
			opening.Stop()
			continue
		}
		if err := s.take(r); err != nil {
			return err
		}
	}
}

// refusal is why the store ends a watch, if it does.
func refusal(r *pb.WatchResponse) error {
	switch {
	case r.CompactRevision != 0:
		return rpctypes.ErrCompacted
	case r.Canceled:
		return fmt.Errorf("the store does not go on: %q", r.CancelReason)
	}
	return nil
}

// take sends what a response has to tell.
func (s *stream) take(r *pb.WatchResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, revision := s.at, r.GetHeader().GetRevision()
	if len(r.Events) > 0 && r.Events[0].Kv.ModRevision <= at.rev {
		return fmt.Errorf("%w: revision %d after %d", errOld, r.Events[0].Kv.ModRevision, at.rev)
	}
	if revision < at.rev {
		return fmt.Errorf("revision %d after %d", revision, at.rev)
	}
	if len(r.Events) == 0 {
		if !s.store.suspect { // else it proves nothing
			s.reached(revision)
		}
		return nil
	}
	s.remember(r.Events)
	for _, u := range s.updates(r.Events) {
		at.rev = u.Rev
		s.tell(u)
	}
	return nil
}

// reached notes that the view is complete up to a revision, and tells it to a reader who waits for that.
func (s *stream) reached(rev int64) {
	s.at.rev = max(s.at.rev, rev)
	if want := s.wanted(); 0 < want && want <= s.at.rev {
		s.tell(store.Update{Rev: s.at.rev})
	}
}

// attend notices what does not come, and asks for it, until the stream is of no more use.
func (s *stream) attend() error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	const soon = 10 * time.Millisecond
	retry := time.NewTimer(soon)
	defer retry.Stop()
	delay := soon
	var goal int64           // what the store has shown, and this stream has not got to
	var behind time.Duration // since when
	for {
		select {
		case <-s.wake:
			delay = soon
			s.catchUp() // else it comes by itself, as a rule: that of the reader's own write does
			retry.Reset(delay)
		case <-retry.C:
			// The member may not have got there yet, and then it does not answer.
			if !s.catchUp() {
				s.ask()
				delay = min(2*delay, time.Second)
				retry.Reset(delay)
			}
		case <-tick.C:
			newest, heard := s.store.newest()
			now, rev := s.store.clock(), s.revision()
			if goal <= rev {
				goal, behind = newest, now
			}
			if goal > rev && now-behind > stalled {
				return fmt.Errorf("%w: at %d, the store is at %d", errStalled, rev, goal)
			}
			if s.catchUp(); goal > rev {
				s.ask()
			}
			if now-heard > quietFor {
				s.poll()
			}
		case <-s.at.replaced:
			return errReplaced
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

func (s *stream) revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.rev
}

// catchUp reports whether the view has got to what the reader waits for, and tells it so.
func (s *stream) catchUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached(s.at.rev)
	return s.wanted() <= s.at.rev
}

// ask asks the member to say how far the stream has come.
func (s *stream) ask() {
	s.apart(func() {
		if s.store.suspect {
			if err := s.askForProof(s.ctx); err != nil && s.ctx.Err() == nil {
				s.store.log.Debug("a watch could not be compared with the store", "keys", s.selector, "error", err)
			}
			return
		}
		r := &pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}
		if err := s.send(r); err != nil && s.ctx.Err() == nil {
			s.store.log.Debug("a watch was not told how far it is", "keys", s.selector, "error", err)
		}
	})
}

// poll asks the cluster for its revision, when nobody else has for a while.
func (s *stream) poll() {
	s.apart(func() {
		if _, err := s.store.verify(s.ctx); err != nil && s.ctx.Err() == nil {
			s.store.log.Debug("the store does not answer", "error", err)
		}
	})
}

// apart does something that may have to wait for a connection, unless it still does the last.
func (s *stream) apart(f func()) {
	if !s.asking.TryLock() {
		return
	}
	s.beside.Go(crash.Guard(func() {
		defer s.asking.Unlock()
		f()
	}))
}

// updates makes as few updates of the events as there can be when a key is in each at most once, and the events of one
// revision are not torn apart.
func (w *watch) updates(events []*mvccpb.Event) []store.Update {
	var out []store.Update
	in := make(map[string]bool) // the keys of the last update
	for len(events) > 0 {
		rev, n, fits := events[0].Kv.ModRevision, 0, len(out) > 0
		for ; n < len(events) && events[n].Kv.ModRevision == rev; n++ {
			fits = fits && !in[string(events[n].Kv.Key)]
		}
		same := events[:n]
		events = events[n:]
		if !fits {
			out = append(out, store.Update{})
			clear(in)
		}
		u := &out[len(out)-1]
		u.Rev = rev
		for _, e := range same {
			in[string(e.Kv.Key)] = true
			kv := w.store.kv(e.Kv)
			switch {
			case kv.Key == tokenKey:
			case e.Type == mvccpb.Event_DELETE:
				u.Deleted = append(u.Deleted, store.Deletion{Key: kv.Key, Rev: rev})
			default:
				u.Changed = append(u.Changed, kv)
			}
		}
	}
	return out
}
