// Package puppet has the workers of a job tell a test where they stand, and do what it says. A worker connects to the socket
// "test" in the stage's directory, says who it is in one line of JSON, and reads orders, a line each.
package puppet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Puppet is what all workers have in common: embed it in what a worker says of itself.
type Puppet struct {
	conn net.Conn
	gone atomic.Bool
}

func (p *Puppet) self() *Puppet { return p }

// Do tells the worker what to do.
func (p *Puppet) Do(format string, args ...any) { fmt.Fprintf(p.conn, format+"\n", args...) }

// Gone reports whether the worker is known to be gone.
func (p *Puppet) Gone() bool { return p.gone.Load() }

// worker is a type that embeds Puppet.
type worker[W any] interface {
	*W
	self() *Puppet
}

// Stage is where the workers of a test come, and go.
type Stage[W any, P worker[W]] struct {
	Dir string // with a short name; of use for whatever else the workers share

	t       *testing.T
	meet    func(P)
	mu      sync.Mutex
	all     []P
	changed chan struct{} // closed when a worker comes or goes
}

// Open waits for workers until the test ends. meet is called with each one before anybody else sees it.
func Open[W any, P worker[W]](t *testing.T, meet func(P)) *Stage[W, P] {
	t.Helper()
	dir, err := os.MkdirTemp("", "puppets") // a test's own directory is too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &Stage[W, P]{Dir: dir, t: t, meet: meet, changed: make(chan struct{})}
	socket := filepath.Join(dir, "test")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o755, socket: 0o777} { // a worker may be another user
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.hear(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		all, _ := s.Look()
		for _, w := range all {
			w.self().conn.Close()
		}
		serving.Wait()
		os.RemoveAll(dir)
	})
	return s
}

// hear hears of a worker, and of its end.
func (s *Stage[W, P]) hear(conn net.Conn) {
	lines := bufio.NewReader(conn)
	hello, err := lines.ReadBytes('\n')
	if err != nil {
		conn.Close() // it was killed before it could say who it is
		return
	}
	w := P(new(W))
	w.self().conn = conn
	if err := json.Unmarshal(hello, w); err != nil {
		s.t.Errorf("%q: %v", hello, err)
	}
	s.meet(w)
	s.change(func() { s.all = append(s.all, w) })
	_, _ = io.Copy(io.Discard, lines)
	s.change(func() { w.self().gone.Store(true) })
}

func (s *Stage[W, P]) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Look returns the workers that have come so far, in that order, and what is closed when one comes or goes.
func (s *Stage[W, P]) Look() (all []P, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all), s.changed
}
