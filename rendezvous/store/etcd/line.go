package etcd

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// line is the stream over which all watches of a store go: one for a node, however much it watches. One question how far
// it has come is answered for all of them.
type line struct {
	number string
	ctx    context.Context // ends when it is given up
	giveUp context.CancelFunc

	mu      sync.Mutex
	asked   int64         // the newest revision that any watch has asked for
	askedAt time.Duration // when, by the store's clock
}

// askEach is how often one question is asked.
const askEach = time.Second

// mayAsk reports whether no watch has just asked whether the line is at this revision: the answer goes to all of them.
func (l *line) mayAsk(rev int64, now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rev <= l.asked && now-l.askedAt < askEach*9/10 {
		return false
	}
	l.asked, l.askedAt = rev, now
	return true
}

// lines numbers them: etcd's client makes one stream of all watches whose requests carry the same metadata.
var lines atomic.Int64

// line is the one that is in use.
func (s *Store) line() *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil || s.lines.ctx.Err() != nil {
		l := &line{number: strconv.FormatInt(lines.Add(1), 10)}
		l.ctx, l.giveUp = context.WithCancel(s.ctx)
		s.lines = l
	}
	return s.lines
}

// over is a context for a watch on this line.
func (l *line) over(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	release := context.AfterFunc(l.ctx, cancel)
	return metadata.AppendToOutgoingContext(ctx, "gangrun-watch", l.number), func() { release(); cancel() }
}
