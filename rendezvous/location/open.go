package location

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/rendezvous/store/embedded"
	"github.com/gangrun/gangrun/rendezvous/store/etcd"
)

// Open opens the store there. Errors that trying again may change are store.ErrUnreachable.
func Open(ctx context.Context, l Location) (store.Store, error) {
	switch {
	case l.InProcess():
		return store.NewInMemory().Connect(store.Boottime), nil
	case len(l.Endpoints) > 0:
		return dial(ctx, l, "")
	}
	where := l.String() + ", on another node"
	switch {
	case l.ReadOnly:
	case !local(ctx, l.Host):
		if l.First {
			where = fmt.Sprintf("%s, which this node hosts as rank 0 only where %s is its name or its address: it is neither, or cannot be looked up", l, l.Host)
		}
	default:
		s, err := host(ctx, l)
		if !errors.Is(err, store.ErrInUse) {
			return s, err
		}
		if other := ownedBy(ctx, l); other != "" { // it goes when that one ends
			return nil, fmt.Errorf("the store at %s is that of job %q; this one waits until that has ended, or give it another port: %w", l.Address(), other, store.ErrUnreachable)
		}
		where += " of this machine, if no other program has taken the port"
	}
	l.Endpoints = []string{l.Address()} // with certificates it is https
	return dial(ctx, l, where)
}

// ownedBy is the job that has the store at a port of this machine, where that is another one; empty where it cannot be told.
func ownedBy(ctx context.Context, l Location) string {
	jobs, _, err := Jobs(ctx, l)
	if err != nil || len(jobs) == 0 || slices.ContainsFunc(jobs, func(j Job) bool { return j.Name == l.Job }) {
		return ""
	}
	return jobs[0].Name
}

func dial(ctx context.Context, l Location, where string) (store.Store, error) {
	s, err := etcd.Open(ctx, etcd.Config{
		Name:      where,
		Endpoints: l.Endpoints, CA: l.CA, Cert: l.Cert, Key: l.Key, UserFile: l.UserFile, PasswordFile: l.PasswordFile,
		TokenFile: l.TokenFile,
		Namespace: l.Namespace, Job: l.Job, ReadOnly: l.ReadOnly, Visitor: l.Visitor, Log: l.Log,
	})
	if err != nil {
		return nil, err // not s: a nil pointer in an interface is not nil
	}
	return s, nil
}

// host starts the store here.
func host(ctx context.Context, l Location) (store.Store, error) {
	server, err := embedded.Start(ctx, embedded.Config{
		Listen: l.Address(), CA: l.CA, Cert: l.Cert, Key: l.Key, TokenFile: l.TokenFile, Dir: l.Dir, Log: l.Log,
	})
	if err != nil {
		return nil, err
	}
	s, err := server.Store(ctx, l.Namespace, l.Job)
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
