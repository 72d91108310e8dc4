package etcd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// tokenKey holds a random value that names this record. The cluster's own id cannot do that: a cluster that is started
// again with an empty directory and the same flags has the same one.
const tokenKey = "token"

// A connection that gives no sign of life for 10 s, the least that gRPC allows, and then none for 3 s, is closed.
// Until then requests find out by their own deadlines, and the next one goes to the next endpoint.
const (
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = 3 * time.Second
)

// window is how much may be on its way to us unread. Left to itself gRPC finds out what the connection could take, with a
// ping after each message that comes in, which costs both sides as much as the message.
const window = 1 << 20

// maxAnswer bounds what is read at once: page keys of the usual size, or a few of the largest.
const maxAnswer = 64 << 20

// Store is the record of one job in an etcd cluster. It implements store.Store.
type Store struct {
	client  *clientv3.Client
	keys    pb.KVClient
	leases  pb.LeaseClient
	watches pb.WatchClient
	access  access // without endpoints in an embedded store
	where   string // for errors
	prefix  string
	timeout time.Duration
	reader  bool // writes no token
	visitor bool // writes no token by itself
	suspect bool // its members may say too early how far a watch is
	log     *slog.Logger
	clock   store.Clock
	ctx     context.Context
	stop    context.CancelFunc
	ending  sync.WaitGroup

	mu       sync.Mutex
	token    string
	rev      int64         // the newest revision that any answer has shown
	heard    time.Duration // when there was an answer last
	replaced chan struct{} // closed, and made again, when the record turns out to be another one
}

var _ store.Store = (*Store)(nil)

// Open connects to a cluster, and returns when it has answered. Of the errors only store.ErrUnreachable is worth
// trying again for.
func Open(ctx context.Context, c Config) (*Store, error) {
	prefix, err := c.prefix()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrSettings, err)
	}
	return open(ctx, c, prefix)
}

// open is Open for what is below a prefix.
func open(ctx context.Context, c Config, prefix string) (*Store, error) {
	a, err := c.access()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrSettings, err)
	}
	s := newStore(prefix, c.timeout(), c.Log)
	s.access = a
	s.where = cmp.Or(c.Name, "etcd "+strings.Join(a.endpoints, ","))
	s.reader, s.visitor = c.ReadOnly, c.Visitor
	options := []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
			},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithReadBufferSize(8 << 10),
		grpc.WithWriteBufferSize(8 << 10),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
	}
	if a.token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(a.token)))
	}
	s.client, err = clientv3.New(clientv3.Config{
		Endpoints:            a.endpoints,
		TLS:                  a.tls,
		Username:             a.user,
		Password:             a.password,
		DialTimeout:          2 * s.timeout, // for the first request, which gets the authentication token
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		PermitWithoutStream:  false, // etcd would take it for an attack, and close the connection
		MaxCallRecvMsgSize:   maxAnswer,
		Context:              s.ctx,
		Logger:               Zap(c.Log),
		DialOptions:          options,
	})
	if err != nil {
		err = s.explain(ctx, "connect", err)
		s.stop()
		return nil, err
	}
	s.keys, s.leases = clientv3.RetryKVClient(s.client), clientv3.RetryLeaseClient(s.client)
	s.watches = pb.NewWatchClient(s.client.ActiveConnection())
	if s, err = s.meetFirst(ctx); err == nil {
		s.askVersions(ctx)
	}
	return s, err
}

// Clients are those of a server.
type Clients struct {
	Client  *clientv3.Client
	Keys    pb.KVClient
	Leases  pb.LeaseClient
	Watches pb.WatchClient
}

// New makes a Store of clients that are connected already, those of a server in this process. Where is for errors, the
// prefix one of store.Prefix. The Store closes the client.
func New(ctx context.Context, c Clients, where, prefix string, log *slog.Logger) (*Store, error) {
	s := newStore(prefix, requestTimeout, log)
	s.client, s.keys, s.leases, s.watches, s.where = c.Client, c.Keys, c.Leases, c.Watches, where
	return s.meetFirst(ctx)
}

// meetFirst makes sure that the cluster answers, and knows the record.
func (s *Store) meetFirst(ctx context.Context) (*Store, error) {
	_, err := s.verify(ctx)
	if err == nil && !s.visitor {
		_, err = s.establish(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func newStore(prefix string, timeout time.Duration, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Store{prefix: prefix, timeout: timeout, log: log, clock: store.Boottime, replaced: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock() // nothing is started after this
	s.stop()
	s.mu.Unlock()
	s.ending.Wait()
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: close: %w", s.where, err)
	}
	return nil
}

// spawn starts a part of the store that Close waits for, unless it is closed.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.ending.Go(crash.Guard(f))
	return true
}

// request returns the context of one request: bounded, and ended with the store.
func (s *Store) request(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithTimeout(ctx, s.timeout)
	release := context.AfterFunc(s.ctx, stop)
	return ctx, func() { release(); stop() }
}

// saw notes a revision of the record with this token that an answer has shown: the watches have to get there.
func (s *Store) saw(token string, rev int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = s.clock()
	if s.token == token {
		s.rev = max(s.rev, rev)
	}
}

// known is the record and its newest revision, as far as any answer has shown them.
func (s *Store) known() position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return position{rev: s.rev, token: s.token}
}

// newest returns what saw has noted.
func (s *Store) newest() (rev int64, heard time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rev, s.heard
}

// identity returns the token, and a channel that is closed when it is no longer true.
func (s *Store) identity() (token string, replaced <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token, s.replaced
}

// meet takes the token and the revision of an answer, and reports whether this is still the same record. A record
// without a token has never been written to. A revision that is behind what was known before the question is that of a
// restored backup.
func (s *Store) meet(token string, rev int64, known position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = s.clock()
	atLeast := known.rev
	if known.token != s.token { // it was of a record that somebody has found to be gone since
		atLeast = 0
	}
	if (s.token == "" || s.token == token) && rev >= atLeast {
		s.token, s.rev = token, max(s.rev, rev)
		return true
	}
	s.log.Warn("the store has been replaced by another one", "store", s.where, "token", token, "before", s.token)
	s.token, s.rev = token, rev
	close(s.replaced)
	s.replaced = make(chan struct{})
	return false
}

// verify asks the cluster, with a quorum, whether the record is still the same.
func (s *Store) verify(ctx context.Context) (same bool, err error) {
	known := s.known()
	req, done := s.request(ctx)
	defer done()
	got, err := s.client.Get(req, s.prefix+tokenKey)
	if err != nil {
		return false, s.explain(ctx, "read", err)
	}
	token := ""
	if len(got.Kvs) > 0 {
		token = string(got.Kvs[0].Value)
	}
	return s.meet(token, got.Header.Revision, known), nil
}

// establish gives the record a token if it has none and may have one.
func (s *Store) establish(ctx context.Context) (string, error) {
	if token, _ := s.identity(); token != "" || s.reader {
		return token, nil
	}
	token := rand.Text()
	key := s.prefix + tokenKey
	req, done := s.request(ctx)
	defer done()
	res, err := s.client.Txn(req).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, token)).
		Else(clientv3.OpGet(key)).
		Commit()
	if err != nil {
		return "", s.explain(ctx, "write", err)
	}
	if !res.Succeeded {
		if kvs := res.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			token = string(kvs[0].Value)
		}
	}
	s.meet(token, res.Header.Revision, position{})
	return token, nil
}
