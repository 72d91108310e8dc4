// Package meeting says where the nodes of a job meet: in memory for one node, at an etcd that is there already, or at an
// etcd server within the gangrun at an address that all nodes know. It does not link etcd: package remote opens the
// latter two.
package meeting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/rendezvous/store"
)

// DefaultPort is the port of a store within gangrun, that of torchrun's c10d.
const DefaultPort = 29400

// Point is where the nodes meet. Its zero value is this process's memory.
type Point struct {
	// Endpoints are URLs of an etcd; CA, Cert, Key, UserFile and PasswordFile are how to get in.
	Endpoints              []string
	CA, Cert, Key          string
	UserFile, PasswordFile string
	// Host and Port are where a store within gangrun listens. The node that has this address hosts it; of several on
	// one machine, the first.
	Host string
	Port int
	Dir  string // for the hosted store's files; empty for a temporary folder

	Namespace, Job string // name the record
	ReadOnly       bool
	// Visitor begins no record of a job that has none.
	Visitor bool
	Log     *slog.Logger
}

// ErrRemote is returned by InMemory for a point that is elsewhere.
var ErrRemote = errors.New("the store is not in this process")

// InMemory opens the store of a node that is alone.
func InMemory(_ context.Context, p Point) (store.Store, error) {
	if !p.Alone() {
		return nil, ErrRemote
	}
	return store.NewMemory().Connect(store.Boottime), nil
}

// Alone reports whether no other node can be met here.
func (p Point) Alone() bool { return len(p.Endpoints) == 0 && p.Host == "" }

// Address is host:port of a store within gangrun.
func (p Point) Address() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// String names the point for a person, without passwords: those are in files.
func (p Point) String() string {
	switch {
	case len(p.Endpoints) > 0:
		return "etcd " + strings.Join(p.Endpoints, ",")
	case p.Host != "":
		return "the store within gangrun at " + p.Address()
	}
	return "this process"
}

// Reaches returns the address of this machine by which it reaches the host, for others to reach it by. Nothing is sent.
// Where the host's name does not resolve, as that of a pod for some time after its start, it is the first address of this
// machine that is not for itself alone.
func Reaches(host string, port int) (string, error) {
	c, err := net.Dial("udp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return ownAddress()
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

func ownAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("this machine's addresses: %w", err)
	}
	v6 := ""
	for _, a := range addresses {
		n, isNet := a.(*net.IPNet)
		switch {
		case !isNet || !n.IP.IsGlobalUnicast():
		case n.IP.To4() != nil:
			return n.IP.String(), nil
		case v6 == "":
			v6 = n.IP.String()
		}
	}
	if v6 == "" {
		return "", errors.New("this machine has no address by which others could reach it")
	}
	return v6, nil
}
