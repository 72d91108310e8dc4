package rounds_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// storeOf is a cluster as --store takes it.
func storeOf(c *etcdserver.Cluster) string { return strings.Join(c.Endpoints(), ",") }

// freeAddr returns an address at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := etcdserver.FreeAddr("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// sharedCluster is one server for all tests that only need one to be there. Their jobs have names of their own.
type sharedCluster struct {
	once sync.Once
	dir  string
	c    *etcdserver.Cluster
	err  error
}

var shared sharedCluster

func (s *sharedCluster) get(t *testing.T) *etcdserver.Cluster {
	t.Helper()
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "rounds-etcd"); s.err == nil {
			s.c, s.err = etcdserver.Start(s.dir, "127.0.0.1", 1, nil)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.c
}

func (s *sharedCluster) end() {
	if s.c != nil {
		s.c.End()
	}
	_ = os.RemoveAll(s.dir)
}
