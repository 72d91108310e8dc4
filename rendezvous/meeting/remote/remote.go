// Package remote opens a store that is not in this process alone: an etcd, or an etcd server that this process hosts for
// the other nodes.
package remote

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/rendezvous/meeting"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/embedded"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// Open opens the store at a point. Errors that trying again may change are store.ErrUnreachable.
func Open(ctx context.Context, p meeting.Point) (store.Store, error) {
	switch {
	case p.Alone():
		return meeting.InMemory(ctx, p)
	case len(p.Endpoints) > 0:
		return dial(ctx, p)
	}
	if !p.ReadOnly && local(ctx, p.Host) {
		s, err := host(ctx, p)
		if !errors.Is(err, store.ErrInUse) {
			return s, err
		}
	}
	p.Endpoints = []string{"http://" + p.Address()}
	return dial(ctx, p)
}

func dial(ctx context.Context, p meeting.Point) (store.Store, error) {
	s, err := etcd.Open(ctx, etcd.Config{
		Endpoints: p.Endpoints, CA: p.CA, Cert: p.Cert, Key: p.Key, UserFile: p.UserFile, PasswordFile: p.PasswordFile,
		Namespace: p.Namespace, Job: p.Job, ReadOnly: p.ReadOnly, Visitor: p.Visitor, Log: p.Log,
	})
	if err != nil {
		return nil, err // not s: a nil pointer in an interface is not nil
	}
	return s, nil
}

// host starts the store here.
func host(ctx context.Context, p meeting.Point) (store.Store, error) {
	server, err := embedded.Start(ctx, embedded.Config{Listen: p.Address(), Dir: p.Dir, Log: p.Log})
	if err != nil {
		return nil, err
	}
	s, err := server.Store(ctx, p.Namespace, p.Job)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &hosted{s, server}, nil
}

// local reports whether the host is this machine: by its name, which works before its DNS entry does, or by its address.
func local(ctx context.Context, host string) bool {
	if name, err := os.Hostname(); err == nil && (host == name || strings.HasPrefix(host, name+".")) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	there, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false
	}
	here, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(there, func(a net.IPAddr) bool {
		return a.IP.IsLoopback() || slices.ContainsFunc(here, func(h net.Addr) bool {
			n, isNet := h.(*net.IPNet)
			return isNet && n.IP.Equal(a.IP)
		})
	})
}
