// Package serve shows a run over HTTP: metrics, health, where it stands, and all of that on a page. It is read-only,
// and whoever reads slowly is dropped.
package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/observe/account"
)

const (
	mostConnections = 64                     // at once; a further one waits until another is gone
	requestTime     = 10 * time.Second       // for a request to come in, and for the answer to go out
	idleTime        = 2 * time.Minute        // between two requests of a connection
	mostHeader      = 16 << 10               // bytes
	lastWords       = 300 * time.Millisecond // for those who look at the page to be shown the end
)

// Config is what is shown.
type Config struct {
	Metrics *prometheus.Registry
	At      func(now time.Time) account.Summary
	Alive   func() bool // whether gangrun does its work; it may take a moment
	Feed    *Feed
	Log     *slog.Logger
	Names   string // how a person names this server, as a sentence for who asks for it by a name that is not known

	patience time.Duration // 0: requestTime
}

// Server listens at one address.
type Server struct {
	http    *http.Server
	listen  net.Listener
	once    sync.Once
	closing chan struct{}
	looking *atomic.Int64 // at the page
}

// Listen serves at an address such as :9400 until Close. The error says why it cannot.
func Listen(address string, cfg Config) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	patience := cmp.Or(cfg.patience, requestTime)
	closing, looking := make(chan struct{}), new(atomic.Int64)
	s := &Server{
		listen:  &limited{Listener: l, free: make(chan struct{}, mostConnections)},
		closing: closing, looking: looking,
		http: &http.Server{
			Handler:     handler(cfg, stream(cfg, patience, looking, closing), namesHere(address)),
			ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: idleTime,
			MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		},
	}
	crash.Go(func() { _ = s.http.Serve(s.listen) }) // it ends with Close
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listen.Addr() }

// Close ends the listening and all connections. Who looks at the page is shown the end.
func (s *Server) Close() { s.once.Do(s.close) }

func (s *Server) close() {
	close(s.closing)
	if s.looking.Load() > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		_ = s.http.Shutdown(ctx) // who is too slow for that is dropped
	}
	_ = s.http.Close()
}

func handler(cfg Config, events http.HandlerFunc, own names) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", own.only(cfg.Names, servePage()))
	mux.HandleFunc("/events", own.only(cfg.Names, events))
	mux.Handle("/metrics", promhttp.HandlerFor(cfg.Metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 8}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !cfg.Alive() {
			text(w, http.StatusServiceUnavailable, "gangrun makes no progress")
			return
		}
		text(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := cfg.At(time.Now())
		switch {
		case s.Phase == account.Ended:
			text(w, http.StatusServiceUnavailable, "the run has ended")
		case s.Leaving != "":
			text(w, http.StatusServiceUnavailable, "this node is leaving")
		default: // forming, too: who hides a node that is not ready must not keep the others from finding it
			text(w, http.StatusOK, string(s.Phase))
		}
	})
	mux.HandleFunc("/status", own.only(cfg.Names, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(cfg.At(time.Now())) // whoever asked has gone
	}))
	return guarded(mux)
}

func text(w http.ResponseWriter, code int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, s)
}

// guarded refuses what does not read, and says what a browser may do with an answer: nothing.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			text(w, http.StatusMethodNotAllowed, "this only shows; GET it")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limited bounds how many connections there are at once.
type limited struct {
	net.Listener
	free chan struct{}
}

// Accept waits for a connection, and before that for room for one.
func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, free: l.free}, nil
}

// counted gives its place back when it is closed.
type counted struct {
	net.Conn
	free chan struct{}
	once sync.Once
}

// Close closes the connection.
func (c *counted) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}
