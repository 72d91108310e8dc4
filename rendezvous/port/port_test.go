package port

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func listen(t *testing.T, port int, options ...int) (net.Listener, error) {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 0) // Go sets it by itself
			for _, option := range options {
				if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}}
	return config.Listen(context.Background(), "tcp", fmt.Sprintf(":%d", port))
}

func TestReservedPortIsTheWorkers(t *testing.T) {
	for name, options := range map[string][]int{
		"SO_REUSEADDR": {unix.SO_REUSEADDR}, "SO_REUSEPORT": {unix.SO_REUSEPORT}, "both": {unix.SO_REUSEADDR, unix.SO_REUSEPORT},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Reserve(0)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			l, err := listen(t, p.Number, options...)
			if err != nil {
				t.Fatalf("the worker cannot take port %d: %v", p.Number, err)
			}
			defer l.Close()
			accepted := make(chan error, 1)
			go func() {
				c, err := l.Accept()
				if err == nil {
					c.Close()
				}
				accepted <- err
			}()
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Number))
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			if err := <-accepted; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReservedPortIsNobodyElses(t *testing.T) {
	p, err := Reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if l, err := listen(t, p.Number); err == nil {
		l.Close()
		t.Errorf("a program that wants port %d for itself alone was given it", p.Number)
	}
	if _, err := Reserve(p.Number); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("reserved twice: %v", err)
	}
	seen := map[int]bool{p.Number: true}
	for range 500 {
		q, err := Reserve(0)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Release()
		if seen[q.Number] {
			t.Fatalf("port %d was given twice", q.Number)
		}
		seen[q.Number] = true
	}
}

func TestReleasedPortIsFree(t *testing.T) {
	p, err := Reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	q, err := Reserve(p.Number)
	if err != nil {
		t.Fatal(err)
	}
	q.Release()
	var none *Port
	none.Release()
}
