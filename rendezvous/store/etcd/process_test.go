package etcd_test

import (
	"log/slog"
	"os"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/rendezvous/store/etcd"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	os.Exit(m.Run())
}

// cluster is a cluster of servers, all of which end with the test.
type cluster struct {
	*etcdserver.Cluster
	t *testing.T
}

func newCluster(t *testing.T, size int, change func(*etcdserver.Server)) *cluster {
	t.Helper()
	return &cluster{etcdserver.StartFor(t, "127.0.0.1", size, change), t}
}

// start starts servers that were killed.
func (c *cluster) start(servers ...*etcdserver.Server) {
	c.t.Helper()
	if err := c.Restart(servers...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) client() *clientv3.Client {
	c.t.Helper()
	return c.Admin(c.t)
}

// config is a Config for a job of this cluster.
func (c *cluster) config(job string) etcd.Config {
	return etcd.Config{Endpoints: c.Endpoints(), Namespace: "test", Job: job, Log: testLog(c.t)}
}

func (c *cluster) open(job string) *etcd.Store {
	c.t.Helper()
	return open(c.t, c.config(job))
}

func open(t *testing.T, c etcd.Config) *etcd.Store {
	t.Helper()
	s, err := etcd.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}
