package rounds_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// trouble is what comes over an etcd of three members while a job runs.
type trouble struct {
	name string
	// way is how the nodes reach the cluster: flags. Nil: as it is.
	way func(t *testing.T, c *etcdserver.Cluster) []string
	// begin brings it, and returns what ends it, nil when nothing has to.
	begin func(t *testing.T, c *etcdserver.Cluster) (end func())
	// stops: nothing can be decided before the end.
	stops bool
	// change has the last word on each server.
	change func(t testing.TB) func(*etcdserver.Server)
}

var troubles = []trouble{
	{name: "compaction", begin: func(t *testing.T, c *etcdserver.Cluster) func() {
		compact(t, c.Admin(t))
		return func() { compact(t, c.Admin(t)) }
	}},
	{name: "a member is lost", begin: func(t *testing.T, c *etcdserver.Cluster) func() {
		c.Servers[0].Kill() // which the nodes ask first
		return func() { restart(t, c, c.Servers[0]) }
	}},
	{name: "a member is paused", begin: func(t *testing.T, c *etcdserver.Cluster) func() {
		paused := leaderOf(t, c)
		if err := paused.Pause(); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := paused.Resume(); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{name: "no majority", stops: true, begin: func(t *testing.T, c *etcdserver.Cluster) func() {
		c.Servers[1].Kill()
		c.Servers[2].Kill()
		return func() { restart(t, c, c.Servers[1:]...) }
	}},
	{name: "the whole cluster is started again", stops: true, begin: func(t *testing.T, c *etcdserver.Cluster) func() {
		c.End()
		return func() { restart(t, c, c.Servers...) }
	}},
	{name: "far away", way: func(t *testing.T, c *etcdserver.Cluster) []string {
		var ways []string
		for _, s := range c.Servers {
			ways = append(ways, slowly(t, s.Client, 200*time.Millisecond))
		}
		return []string{"--store", strings.Join(ways, ",")}
	}},
	{name: "TLS and a password", change: etcdserver.Secured, way: func(t *testing.T, c *etcdserver.Cluster) []string {
		return withPassword(t, c)
	}},
}

// withPassword has the cluster ask for a password, too, and returns how to get in.
func withPassword(t *testing.T, c *etcdserver.Cluster) []string {
	t.Helper()
	s := c.Servers[0]
	user, password := c.AskPassword(t)
	return []string{
		"--store", storeOf(c), "--store-ca", s.CA, "--store-cert", s.Cert, "--store-key", s.Key,
		"--store-user-file", user, "--store-password-file", password,
	}
}

func restart(t *testing.T, c *etcdserver.Cluster, servers ...*etcdserver.Server) {
	t.Helper()
	if err := c.Restart(servers...); err != nil {
		t.Fatal(err)
	}
}

// compact forgets all that is not the present.
func compact(t *testing.T, client *clientv3.Client) {
	t.Helper()
	now, err := client.Get(t.Context(), "/")
	if err == nil {
		_, err = client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leaderOf is the member that leads the cluster.
func leaderOf(t *testing.T, c *etcdserver.Cluster) *etcdserver.Server {
	t.Helper()
	admin := c.Admin(t)
	for _, s := range c.Servers {
		status, err := admin.Status(t.Context(), s.Client)
		if err != nil {
			t.Fatal(err)
		}
		if status.Leader == status.Header.MemberId {
			return s
		}
	}
	t.Fatal("nobody leads the cluster")
	return nil
}

// TestTroubles runs a job of two nodes on three members of an etcd through each trouble: a worker fails while it lasts,
// and another one when it is over. Each costs one restart, and nothing else happens.
func TestTroubles(t *testing.T) {
	some := troubles
	if os.Getenv("GANGRUN_TEST_LONG") == "" {
		seed := rand.Uint64()
		t.Logf("three of them: seed %d", seed)
		some = nil
		for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(troubles))[:3] {
			some = append(some, troubles[i])
		}
	}
	for _, trouble := range some {
		t.Run(trouble.name, func(t *testing.T) { trouble.comesOver(t, "") })
	}
}

// TestTroublesOfOtherEtcds is the same on servers of other releases.
func TestTroublesOfOtherEtcds(t *testing.T) {
	programs := etcdserver.Others(t)
	if len(programs) == 0 {
		t.Skip("etcd 3.5 and 3.6, and others by GANGRUN_TEST_ETCD, are not run: make test-long")
	}
	for _, program := range programs {
		for _, trouble := range troubles {
			t.Run(filepath.Base(program)+" "+trouble.name, func(t *testing.T) { trouble.comesOver(t, program) })
		}
	}
}

// comesOver runs a job through the trouble, on servers of that program.
func (trouble trouble) comesOver(t *testing.T, program string) {
	t.Parallel()
	change := func(*etcdserver.Server) {}
	if trouble.change != nil {
		change = trouble.change(t)
	}
	c := etcdserver.StartFor(t, "127.0.0.1", 3, func(s *etcdserver.Server) {
		s.Program = program
		change(s)
	})
	way := []string{"--store", storeOf(c)}
	if trouble.way != nil {
		way = trouble.way(t, c)
	}
	p := newParty(t, append([]string{"--nodes", "2", "--job", jobName(t), "--restart-backoff", "1ms:2ms"}, way...)...)
	nodes := p.startAll(2)
	first := p.round(0, 2)
	end := func() {}
	if trouble.begin != nil {
		end = trouble.begin(t, c)
	}
	first[0].Do("kill 9")
	p.stopped(first[0])
	if trouble.stops {
		end()
	}
	second := p.round(1, 2)
	p.is(second, names(first)...)
	if !trouble.stops {
		end()
	}
	second[1].Do("kill 9")
	third := p.round(2, 2)
	p.is(third, names(first)...)
	finish(third)
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Used != 2 {
			t.Errorf("%s ends with restarts %+v", e.Node, *e.Restarts)
		}
	}
}
