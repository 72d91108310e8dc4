// Package port reserves TCP ports at which the workers of a round meet.
package port

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Port is a TCP port that is kept for a worker: bound, so that nobody else is given it, but not listened on, so that
// the worker can still bind it. The worker has to ask for SO_REUSEADDR or SO_REUSEPORT, as every server does that can
// be restarted (torch's TCPStore, gRPC in TensorFlow and JAX).
type Port struct {
	Number int
	fd     int
}

// Reserve keeps a port on all addresses of this machine; 0 is any that is free. The error says which port it was.
func Reserve(number int) (*Port, error) {
	p, err := bind(unix.AF_INET6, &unix.SockaddrInet6{Port: number})
	if err == unix.EAFNOSUPPORT || err == unix.EADDRNOTAVAIL { // a machine without IPv6
		p, err = bind(unix.AF_INET, &unix.SockaddrInet4{Port: number})
	}
	if err != nil {
		what := "no free port"
		if number != 0 {
			what = fmt.Sprintf("port %d", number)
		}
		return nil, fmt.Errorf("%s for the workers to meet at: %w", what, err)
	}
	return p, nil
}

func bind(family int, address unix.Sockaddr) (*Port, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p, err := bound(fd, family, address)
	if err != nil {
		unix.Close(fd)
	}
	return p, err
}

func bound(fd, family int, address unix.Sockaddr) (*Port, error) {
	if family == unix.AF_INET6 { // for both families, whatever the machine's default is
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			return nil, err
		}
	}
	if err := unix.Bind(fd, address); err != nil {
		return nil, err
	}
	// Only now, for the worker to come: the kernel must not have given us a port that others hold in the same way.
	for _, option := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
			return nil, err
		}
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	p := &Port{fd: fd}
	switch a := name.(type) {
	case *unix.SockaddrInet6:
		p.Number = a.Port
	case *unix.SockaddrInet4:
		p.Number = a.Port
	}
	return p, nil
}

// Release gives the port back. A worker that listens on it is not touched.
func (p *Port) Release() {
	if p != nil {
		unix.Close(p.fd)
	}
}
