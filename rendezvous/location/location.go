// Package location says where the store of a job is, and opens it there: in memory for one node, at an etcd that is there
// already, or at an etcd server within the gangrun at an address that all nodes know.
package location

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
)

// DefaultPort is the port of a store within gangrun, that of torchrun's c10d.
const DefaultPort = 29400

// Location is where the store is. Its zero value is this process's memory.
type Location struct {
	// Endpoints are URLs of an etcd; CA, Cert, Key, UserFile and PasswordFile are how to get in.
	Endpoints              []string
	CA, Cert, Key          string // of a store within gangrun: of both sides
	UserFile, PasswordFile string
	TokenFile              string // for a store within gangrun
	// Host and Port are where a store within gangrun listens. The node that has this address hosts it; of several on
	// one machine, the first.
	Host string
	Port int
	// First says that this node has the rank whose address Host is: if it has not, that is a mistake.
	First bool
	Dir   string // for the hosted store's files; empty for a temporary directory

	Namespace, Job string // name the record
	ReadOnly       bool
	// Visitor begins no record of a job that has none.
	Visitor bool
	Log     *slog.Logger
}

// InProcess reports whether no other node can reach the store.
func (l Location) InProcess() bool { return len(l.Endpoints) == 0 && l.Host == "" }

// Address is host:port of a store within gangrun.
func (l Location) Address() string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// String names the location for a person, without passwords: those are in files.
func (l Location) String() string {
	switch {
	case len(l.Endpoints) > 0:
		return "etcd " + strings.Join(l.Endpoints, ",")
	case l.Host != "":
		return "the store within gangrun at " + l.Address()
	}
	return "this process"
}
