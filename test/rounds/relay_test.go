package rounds_test

import (
	"net"
	"net/url"
	"testing"
	"time"
)

// slowly is a way to a server on which everything takes that long, in each direction: a link over an ocean.
func slowly(t *testing.T, target string, each time.Duration) (endpoint string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", u.Host)
			if err != nil {
				from.Close()
				continue
			}
			t.Cleanup(func() { from.Close(); to.Close() })
			go carry(to, from, each)
			go carry(from, to, each)
		}
	}()
	return "http://" + l.Addr().String()
}

// carry brings what comes from one end to the other, all of it as late, and the end with it.
func carry(to, from net.Conn, late time.Duration) {
	type parcel struct {
		due  time.Time
		data []byte
	}
	way := make(chan parcel, 1<<16)
	go func() {
		defer close(way)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				way <- parcel{time.Now().Add(late), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			from.Close()
		}
	}
	to.Close()
}
