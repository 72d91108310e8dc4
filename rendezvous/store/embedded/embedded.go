// Package embedded is an etcd server within this process: the store of a job that has no etcd of its own.
//
// Each start is a new, empty store. What a store has to survive, the nodes bring along; so nothing is ever read back
// from its disk, and nothing is waited for to be written to it.
package embedded

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"google.golang.org/grpc"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// Config says where the server listens and keeps its files.
type Config struct {
	// Listen is host:port; without a host, all addresses. The clients of the job connect there.
	Listen string
	// CA, Cert and Key are PEM files: with them it speaks TLS only, and to none without a certificate of that CA.
	CA, Cert, Key string
	// TokenFile holds one line, without which nobody is answered. Without it, and without a CA, whoever reaches the
	// address is.
	TokenFile string
	// Dir is where it makes a directory of its own; os.TempDir if empty. The directory goes with the server.
	Dir string
	// Log gets what the server reports; none if nil.
	Log *slog.Logger
}

// What the server may use. A job's record is far below 1 MiB for 1,000 nodes.
const (
	quota       = 64 << 20  // of the data base
	segment     = 1 << 20   // of the write-ahead log: etcd reserves 64 MB, twice, which in a tmpfs is memory
	snapshots   = 1000      // changes between two snapshots: what is in between is kept in memory
	catchUp     = 10        // and this many beyond: there is no other member that could ask for them
	compactions = "1000"    // revisions that stay readable for watches that are behind
	buffer      = 4 << 10   // for each direction of each connection
	window      = 256 << 10 // of what may be on its way to it unread: else it sends a ping for each request that comes in
)

// Server is a running server.
type Server struct {
	etcd   *embed.Etcd
	where  string
	addr   string
	log    *slog.Logger
	dir    *directory
	closed chan struct{} // ends the streams of clients
	once   sync.Once
}

// Start starts a server and returns when it can be used. The error is store.ErrInUse if somebody listens there already.
func Start(ctx context.Context, c Config) (*Server, error) {
	host, port, err := listening(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("embedded store: %w", err)
	}
	dir, err := makeDirectory(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded store: %w", err)
	}
	s := &Server{addr: net.JoinHostPort(host, port), log: c.Log, dir: dir, closed: make(chan struct{})}
	s.where = "embedded store at " + s.addr
	conf, err := s.config(c, host, port)
	if err != nil {
		dir.remove()
		return nil, fmt.Errorf("%s: %w", s.where, err)
	}
	s.etcd, err = embed.StartEtcd(conf)
	if err != nil {
		dir.remove()
		if inUse(err) {
			err = store.ErrInUse
		}
		return nil, fmt.Errorf("%s: %w", s.where, err)
	}
	select {
	case <-s.etcd.Server.ReadyNotify():
		return s, nil
	case err = <-s.etcd.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.Close()
	return nil, fmt.Errorf("%s: start: %w", s.where, err)
}

// listening makes the address complete. It tries it first: etcd's own error for a taken one is long.
func listening(addr string) (host, port string, err error) {
	try, err := net.Listen("tcp", addr)
	if err != nil {
		if inUse(err) {
			return "", "", fmt.Errorf("%s: %w", addr, store.ErrInUse)
		}
		return "", "", err
	}
	defer try.Close()
	return net.SplitHostPort(try.Addr().String()) // :: or 0.0.0.0, whichever this machine has
}

func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

func (s *Server) config(given Config, host, port string) (*embed.Config, error) {
	// The first start of a program counts: there is one server in a gangrun.
	smallSegments()
	c := embed.NewConfig()
	c.Name = "gangrun"
	c.Dir = s.dir.path
	c.InitialClusterToken = rand.Text()
	// There are no peers, and nobody listens for them. The member needs an address all the same.
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	c.ListenPeerUrls, c.AdvertisePeerUrls = nil, []url.URL{peer}
	c.InitialCluster = c.Name + "=" + peer.String()
	client := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if given.Cert != "" {
		if _, err := tls.LoadX509KeyPair(given.Cert, given.Key); err != nil {
			return nil, fmt.Errorf("%w: certificate %s with key %s: %w", store.ErrSettings, given.Cert, given.Key, err)
		}
		client.Scheme = "https"
		t := &c.ClientTLSInfo
		t.CertFile, t.KeyFile, t.TrustedCAFile, t.ClientCertAuth = given.Cert, given.Key, given.CA, true
	}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	// HTTP (metrics, health, the JSON gateway) is on a socket of its own: on the network there is gRPC alone.
	c.ListenClientHttpUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(s.dir.path, "http")}}
	c.EnableGRPCGateway = false

	c.UnsafeNoFsync = true
	c.QuotaBackendBytes = quota
	c.SnapshotCount, c.SnapshotCatchUpEntries = snapshots, catchUp
	c.MaxSnapFiles, c.MaxWalFiles = 1, 1
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModeRevision, compactions
	// A single member has nobody to wait for; it still waits one election before it leads.
	c.TickMs, c.ElectionMs = 50, 250
	c.GRPCAdditionalServerOptions = []grpc.ServerOption{
		grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer), grpc.ChainStreamInterceptor(s.endStreams),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
	}
	if given.TokenFile != "" {
		token, err := etcd.Line("the store's token", given.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrSettings, err)
		}
		c.GRPCAdditionalServerOptions = append(c.GRPCAdditionalServerOptions, etcd.AskForToken(token)...)
	}
	c.LogLevel = "error"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(etcd.Zap(s.log))
	return c, nil
}

var smallSegments = sync.OnceFunc(func() { wal.SegmentSizeBytes = segment })

// endStreams ends the clients' streams when the server closes. Otherwise it waits for them, for some seconds.
func (s *Server) endStreams(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	next grpc.StreamHandler) error {
	ctx, stop := context.WithCancel(stream.Context())
	defer stop()
	crash.Go(func() {
		select {
		case <-s.closed:
			stop()
		case <-ctx.Done():
		}
	})
	return next(srv, endingStream{stream, ctx})
}

type endingStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s endingStream) Context() context.Context { return s.ctx }

// Addr is where it listens, as host:port.
func (s *Server) Addr() string { return s.addr }

// Failed gets an error when the server ends by itself, and is closed after Close.
func (s *Server) Failed() <-chan error { return s.etcd.Err() }

// Store returns a connection within this process, without a network between. It fails where a name cannot be part of a key.
func (s *Server) Store(ctx context.Context, namespace, job string) (store.Store, error) {
	prefix, err := store.Prefix(namespace, job)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.where, err)
	}
	server := s.etcd.Server
	return etcd.New(ctx, etcd.Clients{
		Client:  v3client.New(server),
		Keys:    adapter.KvServerToKvClient(v3rpc.NewQuotaKVServer(server)),
		Leases:  adapter.LeaseServerToLeaseClient(v3rpc.NewQuotaLeaseServer(server)),
		Watches: adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(server)),
	}, s.where, prefix, s.log)
}

// Close stops the server and removes its files. Close the stores first. The error is that of removing them.
func (s *Server) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.etcd.Close()
	})
	return s.dir.remove()
}
