package chaos_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/test/chaos/check"
	"github.com/gangrun/gangrun/test/chaos/history"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/harness/network"
	"github.com/gangrun/gangrun/test/harness/relay"
)

const (
	fence = 16 * time.Second
	// calm is how long a job may take to its end once nothing is done to it any more.
	calm = 3 * time.Minute
)

// slot is what jobs use one after the other.
type slot struct {
	net    *network.Network // nil where there can be none
	spaces []*network.Space
}

// job is one that is broken on purpose.
type job struct {
	plan
	slot           *slot
	binary, worker string
	name, dir      string
	small          string // a small disk for logs, checkpoints and the termination log
	endpoint       string
	etcd           *etcdserver.Cluster
	etcdTurn       sync.Mutex // of what is done to it
	admin          *clientv3.Client
	clock          clocks
	relays         [][]*relay.Relay // of each node to each member
	ways           [][]string
	tasks          sync.WaitGroup

	mu      sync.Mutex
	nodes   []nodeState
	workers []*live
	past    history.Job
	struck  map[string]int // by kind
	open    int            // faults that still last
	closed  bool
	broken  error // of the test itself
}

type nodeState struct {
	pod   *pod
	count int
	final bool
}

// result is what became of a job.
type result struct {
	plan
	wrong  []string
	struck map[string]int
	rounds int
	saved  int
	took   time.Duration
	dir    string // kept when something went wrong
	err    error  // of the test itself
}

func (r result) faults() (all int) {
	for _, n := range r.struck {
		all += n
	}
	return all
}

// play runs a job to its end.
func play(p plan, s *slot, binary, worker string) (r result) {
	began := time.Now()
	r.plan = p
	j := &job{
		plan: p, slot: s, binary: binary, worker: worker, name: fmt.Sprint("chaos-", p.seed),
		nodes: make([]nodeState, p.nodes), struck: map[string]int{},
	}
	defer func() { r.struck, r.took = j.struck, time.Since(began) }()
	if r.err = j.prepare(); r.err == nil {
		j.run()
		r.err = j.broken
	}
	j.close()
	if r.err == nil {
		j.past.Records, r.err = history.Read(filepath.Join(j.dir, "history"))
	}
	if r.err == nil {
		r.wrong = check.Check(j.past)
		for _, rec := range j.past.Records {
			r.rounds = max(r.rounds, rec.Round+1)
			if rec.Kind == history.Saved {
				r.saved++
			}
		}
	}
	if r.dir = j.dir; len(r.wrong) == 0 {
		os.RemoveAll(j.dir)
	} else if text, err := json.MarshalIndent(j.past.Faults, "", " "); err == nil {
		_ = os.WriteFile(filepath.Join(j.dir, "faults.json"), text, 0o644)
	}
	return r
}

func (j *job) networks() bool { return j.slot.net != nil }

func (j *job) prepare() (err error) {
	if j.dir, err = os.MkdirTemp("", "chaos"); err != nil { // a test's own directory is too long a name for a socket
		return err
	}
	j.small = filepath.Join(j.dir, "small")
	for _, dir := range []string{"history", "alive", "small"} {
		if err := os.Mkdir(filepath.Join(j.dir, dir), 0o755); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if err := syscall.Mount("none", j.small, "tmpfs", 0, "size=16m"); err != nil {
			return err
		}
	}
	for i := range j.plan.nodes {
		if err := os.MkdirAll(filepath.Join(j.small, "checkpoints", fmt.Sprint("n", i)), 0o755); err != nil {
			return err
		}
	}
	j.clock = clocks{j.dir}
	for i, pick := range j.clocks {
		if !j.clock.set(i, pick) {
			return errors.New("a clock cannot be set")
		}
	}
	j.past = history.Job{Nodes: j.plan.nodes, Ranks: j.ranks, Elastic: j.elastic, Own: j.own, Half: fence / 2}
	if j.pinned {
		j.past.Pinned = map[string]int{}
		for i := range j.plan.nodes {
			j.past.Pinned[fmt.Sprint("n", i)] = i
		}
	}
	if err := j.openStore(); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(j.dir, "test")})
	if err != nil {
		return err
	}
	j.tasks.Go(func() { j.serve(l) })
	j.tasks.Go(j.notice)
	return nil
}

// run starts the nodes, does to them what is planned, and then leaves them in peace.
func (j *job) run() {
	j.mu.Lock()
	for i := range j.nodes {
		j.later(time.Duration(i)*150*time.Millisecond, func() { j.start(i) })
	}
	j.mu.Unlock()
	if !j.early {
		j.until(time.Minute, func() bool { return len(j.workers) >= j.plan.nodes-1 })
	}
	if j.own { // where some nodes have a first checkpoint and some have none, the job exits with 65, as docs/reliability.md says
		j.until(time.Minute, j.allHaveSaved)
	}
	for _, f := range j.faults {
		j.mu.Lock()
		j.open++
		j.mu.Unlock()
		j.tasks.Go(func() {
			defer j.with(func() { j.open-- })
			if j.sleep(f.at) {
				j.strike(f)
			}
		})
	}
	j.until(10*time.Minute, func() bool { return j.open == 0 })
	if j.fatal {
		j.failForGood()
	} else if err := os.WriteFile(filepath.Join(j.dir, "finish"), nil, 0o644); err != nil {
		j.with(func() { j.give(err) })
	}
	if !j.until(calm, func() bool {
		return !slices.ContainsFunc(j.nodes, func(n nodeState) bool { return !n.final })
	}) {
		j.past.Stuck = fmt.Sprintf("%v after the last fault it has not come to its end\n%s", calm, j.tails())
		return
	}
	for range 20 { // what was killed takes a moment
		if j.past.Left, _ = history.Alive(filepath.Join(j.dir, "alive")); len(j.past.Left) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// allHaveSaved reports whether each node has a second checkpoint, and so a first one that is whole.
func (j *job) allHaveSaved() bool {
	for i := range j.nodes {
		if found, _ := filepath.Glob(filepath.Join(j.small, "checkpoints", fmt.Sprint("n", i), "*.pt")); len(found) < 2 {
			return false
		}
	}
	return true
}

// failForGood has a worker fail so that no restart helps.
func (j *job) failForGood() {
	for range 20 {
		told := false
		j.until(10*time.Second, func() bool {
			for _, w := range j.workers {
				if j.past.Fatal == "" || j.past.Fatal == w.Node {
					j.past.Fatal, told = w.Node, true
					_, _ = fmt.Fprintln(w.conn, "fail")
					return true
				}
			}
			return false
		})
		if told && j.until(8*time.Second, func() bool {
			return slices.ContainsFunc(j.nodes, func(n nodeState) bool { return n.final })
		}) {
			return
		}
	}
}

// close ends whatever is left of the job.
func (j *job) close() {
	j.mu.Lock()
	j.closed = true
	for i, n := range j.nodes {
		if n.pod != nil && !n.pod.ended {
			j.signal(i, syscall.SIGKILL)
			_ = n.pod.cmd.Process.Kill()
		}
	}
	j.mu.Unlock()
	harness.KillLeftovers(j.dir)
	for _, relays := range j.relays {
		for _, r := range relays {
			r.Close()
		}
	}
	j.tasks.Wait()
	if j.admin != nil {
		j.admin.Close()
	}
	if j.etcd != nil {
		j.etcd.End()
	}
	if j.small != "" && os.Geteuid() == 0 {
		j.keep()
		_ = syscall.Unmount(j.small, syscall.MNT_DETACH)
	}
}

// keep copies what lies on the small disk, for whoever looks at what went wrong.
func (j *job) keep() {
	_ = exec.Command("cp", "-r", j.small, filepath.Join(j.dir, "disk")).Run()
}

// tails are the last lines of every node.
func (j *job) tails() string {
	var text strings.Builder
	for i, n := range j.nodes {
		if n.pod == nil {
			continue
		}
		data, _ := os.ReadFile(n.pod.log)
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		fmt.Fprintf(&text, "--- n%d, gangrun %d, final %v\n%s\n", i, n.pod.number, n.final, strings.Join(lines[max(0, len(lines)-12):], "\n"))
	}
	return text.String()
}
