// Package relay is a way to a server on which everything takes as long as a test wants: a link over an ocean.
package relay

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Relay is one way.
type Relay struct {
	// URL is where it begins.
	URL string

	target   string
	late     atomic.Int64 // nanoseconds, in each direction
	listener net.Listener

	mu     sync.Mutex
	ended  bool
	open   map[net.Conn]bool
	closed sync.WaitGroup
}

// New opens a way to the server at a URL, which begins at an address of this machine.
func New(host, target string) (*Relay, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	r := &Relay{target: u.Host, open: map[net.Conn]bool{}}
	if r.listener, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		return nil, err
	}
	r.URL = "http://" + r.listener.Addr().String()
	r.closed.Go(r.serve)
	return r, nil
}

// Delay says how long everything takes from now on, in each direction.
func (r *Relay) Delay(late time.Duration) { r.late.Store(int64(late)) }

// Close ends the way, and what is on it.
func (r *Relay) Close() {
	r.listener.Close()
	r.mu.Lock()
	r.ended = true
	for conn := range r.open {
		conn.Close()
	}
	r.mu.Unlock()
	r.closed.Wait()
}

func (r *Relay) serve() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.closed.Go(func() {
			defer from.Close()
			to, err := net.Dial("tcp", r.target)
			if err != nil {
				return
			}
			defer to.Close()
			if !r.keep(from, to) {
				return
			}
			defer r.forget(from, to)
			var both sync.WaitGroup
			both.Go(func() { r.carry(to, from) })
			both.Go(func() { r.carry(from, to) })
			both.Wait()
		})
	}
}

func (r *Relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		r.open[conn] = true
	}
	return !r.ended
}

func (r *Relay) forget(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		delete(r.open, conn)
	}
}

// carry brings what comes from one end to the other, all of it late and in order, and the end with it.
func (r *Relay) carry(to, from net.Conn) {
	type parcel struct {
		due  time.Time
		data []byte
	}
	way := make(chan parcel, 1<<16)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(way)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				way <- parcel{time.Now().Add(time.Duration(r.late.Load())), data[:n]}
			}
			if err != nil {
				return
			}
		}
	})
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			from.Close()
		}
	}
	to.Close()
	reading.Wait()
}
