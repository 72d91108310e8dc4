package kubelet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// Cluster is a network with a name server, and the pods in it.
type Cluster struct {
	t    testing.TB
	name string // of what the cluster has on this machine: this end of its network, and the beginning of namespaces
	net  string // the first three numbers of its addresses
	dns  *nameServer

	root, gangrun string // the containers' root filesystem, and the gangrun under test

	mu      sync.Mutex
	pods    []*Started
	changed chan struct{} // closed when a pod's status changes
}

// New makes a cluster, which ends with the test: whatever still runs then is killed. What the pods have printed is
// logged if the test has failed.
func New(t testing.TB) *Cluster {
	t.Helper()
	harness.Program(t, "ip", "install iproute2")
	harness.Program(t, "runc", "make peers")
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	c := &Cluster{t: t, root: harness.Peer(t, "rootfs"), gangrun: harness.Binary(t), changed: make(chan struct{})}
	c.connect()
	c.dns = serveNames(t, c.Host())
	t.Cleanup(c.end)
	return c
}

// connect makes the network: a bridge in a namespace of its own, where no firewall rule of this machine applies, to which
// this machine is linked as the pods are.
func (c *Cluster) connect() {
	c.t.Helper()
	var err error
	for range 100 { // the name of this end of the link is taken or not: so no two clusters have the same addresses
		id := 1 + rand.N(250)
		c.name, c.net = fmt.Sprint("kubelet", id), fmt.Sprint("10.214.", id)
		if err = ip("link", "add", c.name, "type", "veth", "peer", "name", "host-"+c.name); err == nil {
			break
		}
	}
	if err != nil {
		harness.Missing(c.t, "a network ("+err.Error()+")", "run the tests where ip link works")
	}
	c.ip("netns", "add", c.name)
	c.t.Cleanup(func() {
		c.ip("link", "delete", c.name) // while it is there: it goes with its other end
		c.ip("netns", "delete", c.name)
	})
	c.ip("link", "set", "host-"+c.name, "netns", c.name)
	c.ip("-n", c.name, "link", "add", "bridge", "type", "bridge")
	c.ip("-n", c.name, "link", "set", "host-"+c.name, "master", "bridge", "up")
	c.ip("-n", c.name, "link", "set", "bridge", "up")
	c.ip("address", "add", c.Host()+"/24", "dev", c.name)
	c.ip("link", "set", c.name, "up")
}

// Host is this machine's address within the cluster.
func (c *Cluster) Host() string { return c.net + ".1" }

// Service gives the pods a name: name, name.default.svc and so on resolve to those of them that run, from now on, instead
// of those to which it was given before. Without pods it is gone.
func (c *Cluster) Service(name string, pods ...*Started) { c.dns.set(name, pods) }

// Changed is closed at the next change of any pod's status. Ask for it before looking at a status.
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *Cluster) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// end kills all pods. Their networks are theirs to remove.
func (c *Cluster) end() {
	for _, p := range c.pods {
		p.Kill()
	}
	for _, p := range c.pods {
		<-p.Done()
		if c.t.Failed() {
			c.t.Logf("pod %s: %+v\n%s", p.Pod.Name, p.Status(), p.Output())
		}
	}
}

func (c *Cluster) ip(args ...string) {
	c.t.Helper()
	if err := ip(args...); err != nil {
		c.t.Error(err)
	}
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
