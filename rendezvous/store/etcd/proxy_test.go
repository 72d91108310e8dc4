package etcd_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy is a way to a server that can be cut.
type proxy struct {
	listener net.Listener
	target   string
	tap      func() io.Writer // makes what gets what is sent over a connection to the server, too; nil: nobody does

	mu    sync.Mutex
	open  bool
	conns map[net.Conn]struct{}
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	return newTappedProxy(t, target, nil)
}

func newTappedProxy(t *testing.T, target string, tap func() io.Writer) *proxy {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: u.Host, tap: tap, open: true, conns: make(map[net.Conn]struct{})}
	t.Cleanup(func() { l.Close(); p.cut() })
	go p.serve()
	return p
}

func (p *proxy) endpoint() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.target)
		if err != nil {
			conn.Close()
			continue
		}
		if p.keep(conn, to) {
			from := io.Reader(conn)
			if p.tap != nil {
				from = io.TeeReader(conn, p.tap())
			}
			go func() { _, _ = io.Copy(to, from); to.Close() }()
			go func() { _, _ = io.Copy(conn, to); conn.Close() }()
		}
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if !p.open {
			c.Close()
			continue
		}
		p.conns[c] = struct{}{}
	}
	return p.open
}

// cut ends all connections and lets no new one through.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = false
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
}
