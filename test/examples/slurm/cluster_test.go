package slurm_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// cluster is a Slurm of two nodes. Its directory is what the nodes share.
type cluster struct {
	dir     string
	daemons []*exec.Cmd
}

var (
	shared cluster
	begun  = sync.OnceValue(func() error { return shared.start() })
)

// needCluster is the cluster that all tests share.
func needCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		harness.Missing(t, "root", "run the tests as root")
	}
	if program := missing(); program != "" {
		harness.Missing(t, program, "make peers")
	}
	if err := begun(); err != nil {
		t.Fatalf("the cluster does not start: %v\n%s", err, shared.logs())
	}
	return &shared
}

const (
	head   = "10.99.0.1"
	node1  = "10.99.0.11"
	node2  = "10.99.0.12"
	bridge = "nodes"
)

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) start() error {
	if err := c.prepare(); err != nil {
		return err
	}
	if out, err := exec.Command("sh", "-c", network, bridge, head, c.file("hosts")).CombinedOutput(); err != nil {
		return fmt.Errorf("the network: %w: %s", err, out)
	}
	if err := c.daemon("munged", "--foreground", "--force", "--num-threads=2", "--socket="+c.file("munge.socket"), "--key-file="+c.file("munge.key"),
		"--pid-file="+c.file("munge.pid"), "--log-file="+c.file("munge.log"), "--seed-file="+c.file("munge.seed")); err != nil {
		return err
	}
	if err := harness.Until(limit, "munge", func() bool { _, err := os.Stat(c.file("munge.socket")); return err == nil }); err != nil {
		return err
	}
	if err := c.daemon("slurmctld", "-D", "-c"); err != nil {
		return err
	}
	for name, address := range map[string]string{"n1": node1, "n2": node2} {
		if err := c.daemon("unshare", "--net", "--uts", "sh", "-c", aNode, bridge, name, address); err != nil {
			return err
		}
	}
	return harness.Until(limit, "two idle nodes", func() bool {
		out, _ := exec.Command("sinfo", "--noheader", "--states=idle", "--format=%D").Output()
		return strings.TrimSpace(string(out)) == "2"
	})
}

// prepare makes the cluster's directory. Its GPUs are files of no content: Slurm only counts them.
func (c *cluster) prepare() error {
	var err error
	if c.dir, err = os.MkdirTemp("", "gangrun-slurm-"); err != nil {
		return err
	}
	key := make([]byte, 1024)
	rand.Read(key)
	files := map[string]string{
		"munge.key":  string(key),
		"hosts":      fmt.Sprintf("127.0.0.1 localhost\n%s head\n%s n1\n%s n2\n", head, node1, node2),
		"slurm.conf": strings.ReplaceAll(configuration, "DIR", c.dir),
		"gres.conf":  strings.ReplaceAll("Name=gpu File=DIR/gpu[0-15]\n", "DIR", c.dir),
	}
	for i := range 16 {
		files[fmt.Sprint("gpu", i)] = ""
	}
	for name, text := range files {
		if err := os.WriteFile(c.file(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, dir := range []string{"head", "n1", "n2"} {
		if err := os.Mkdir(c.file(dir), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv("SLURM_CONF", c.file("slurm.conf"))
}

// daemon starts one of Slurm's programs.
func (c *cluster) daemon(argv ...string) error {
	log, err := os.Create(c.file(fmt.Sprintf("%d.out", len(c.daemons))))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	c.daemons = append(c.daemons, cmd)
	return nil
}

// stop ends Slurm. What its jobs have left ends with the namespaces.
func (c *cluster) stop() {
	for _, d := range c.daemons {
		_ = d.Process.Kill()
		_ = d.Wait()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// logs is what the daemons have to say.
func (c *cluster) logs() string {
	var all strings.Builder
	for i := range c.daemons {
		text, _ := os.ReadFile(c.file(fmt.Sprintf("%d.out", i)))
		all.Write(text)
	}
	return all.String()
}

// network makes the bridge to which the nodes are connected, and the hosts file that all of them read. Slurm looks up
// addresses only where there is one beside that of the loopback interface.
const network = `set -e
ip link set lo up
ip link add "$0" type bridge
ip addr add "$1/24" dev "$0"
ip link set "$0" up
hostname head
mount --bind "$2" /etc/hosts`

// aNode runs one node, with its own host name and network, from which one cable goes to the bridge.
const aNode = `set -e
hostname "$1"
ip link set lo up
ip link add eth0 type veth peer name "$1" netns 1
ip addr add "$2/24" dev eth0
ip link set eth0 up
nsenter --net=/proc/1/ns/net ip link set "$1" master "$0" up
exec slurmd -D -N "$1"`

// configuration lets several jobs run on a node at once, whatever this machine has, and a job that was put back into the
// queue start again soon: Slurm holds it back for as long as a credential of its last run is good.
const configuration = `ClusterName=test
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=DIR/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
MailProg=/bin/true
StateSaveLocation=DIR/head
SlurmctldPidFile=DIR/head/pid
SlurmdPidFile=DIR/%n/pid
SlurmdSpoolDir=DIR/%n
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n[1-2] CPUs=32 Gres=gpu:16
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
`
