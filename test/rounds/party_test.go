package rounds_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/puppet"
)

// party is the nodes of one job, and the workers that they have started. The workers are probes: they tell the test
// where they stand and do what it says.
type party struct {
	limit time.Duration // of its nodes, where that is more than that of others
	t     *testing.T
	mode  string // run or launch
	flags []string
	env   []string
	in    func(node string) []string // a command before that of a node, such as one that enters a network; may be nil
	nodes []*node
	// paused is set where a gangrun gets no processor time for so long that two rounds at once cannot be prevented.
	paused bool

	*puppet.Stage[worker, *worker]
}

// node is one gangrun.
type node struct {
	*harness.Running
	name string
}

// worker is one probe.
type worker struct {
	puppet.Puppet
	hello
}

// hello is what a probe says first.
type hello struct {
	Job, Node, Round  string
	PID               int
	Rank, NodeRank    string
	WorldSize         string
	Addr, Port        string
	RestartCount      string
	Bound             string
	At                int64
	Beside            []string
	RdzvID, RdzvPoint string
	Decision, Step    string
	Path              string
	Args              []string
}

var buildProbe = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(harness.Cache(), "bin", "rounds-probe")
	cmd := exec.Command("go", "build", "-o", bin, "./test/rounds/probe")
	cmd.Dir = harness.Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %s", out)
	}
	return bin, nil
})

// patience is how long a test waits for workers: less than a gangrun may run, so that it can still be asked why.
const patience = limit - 20*time.Second

// newParty is a job without nodes so far, with flags that all of them get.
func newParty(t *testing.T, flags ...string) *party {
	t.Helper()
	p := &party{t: t, mode: "run", flags: flags}
	p.Stage = puppet.Open(t, p.meet)
	return p
}

// sharedParty is a job of that many nodes in the etcd that tests share.
func sharedParty(t *testing.T, nodes string, flags ...string) *party {
	t.Helper()
	return newParty(t, append([]string{"--nodes", nodes, "--store", storeOf(shared.get(t)), "--job", jobName(t)}, flags...)...)
}

// jobName is the name of the test's job: another one each time the test is run.
func jobName(t *testing.T) string {
	name, _ := jobNames.LoadOrStore(t, fmt.Sprint(sanitized(t.Name()), "-", jobCount.Add(1)))
	return name.(string)
}

var (
	jobNames sync.Map // by test
	jobCount atomic.Int64
)

func sanitized(name string) string {
	return regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
}

// meet looks whether a worker that comes is where it may be.
func (p *party) meet(w *worker) {
	for _, text := range w.Beside {
		if p.paused {
			continue
		}
		p.t.Errorf("two rounds at once: %s (%s of node %s)", text, "worker "+strconv.Itoa(w.PID), w.Node)
	}
	if w.Bound != "" {
		p.t.Errorf("round %s: rank 0 cannot have the master's port: %s", w.Round, w.Bound)
	}
}

// until waits until the workers that have come so far fulfil a condition.
func (p *party) until(what string, fulfilled func([]*worker) bool) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		all, changed := p.Look()
		if fulfilled(all) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.fatalf("%s: not within %v", what, patience)
		}
	}
}

// fatalf ends the test with everything that the nodes have said.
func (p *party) fatalf(format string, args ...any) {
	p.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, format, args...)
	all, _ := p.Look()
	for _, w := range all {
		fmt.Fprintf(&text, "\nworker %d of %s: round %s, rank %s, gone %v", w.PID, w.Node, w.Round, w.Rank, w.Gone())
	}
	for _, n := range p.nodes {
		n.Signal(syscall.SIGCONT)
		n.Signal(syscall.SIGKILL)
		res := n.Wait()
		fmt.Fprintf(&text, "\n--- %s: %d\n%s", n.name, res.Code, res.Stderr)
	}
	p.t.Fatal(text.String())
}

// round waits for the workers of a round and returns them in the order of their ranks. All of them have to agree on
// where they are.
func (p *party) round(number, count int) []*worker {
	p.t.Helper()
	var list []*worker
	p.until(fmt.Sprintf("%d workers of round %d", count, number), func(all []*worker) bool {
		list = list[:0]
		for _, w := range all {
			if w.Round == strconv.Itoa(number) {
				list = append(list, w)
			}
		}
		return len(list) >= count
	})
	slices.SortFunc(list, func(a, b *worker) int { return a.rank() - b.rank() })
	if len(list) != count {
		p.fatalf("%d workers in round %d, want %d", len(list), number, count)
	}
	for i, w := range list {
		if w.rank() != i {
			p.fatalf("round %d: the worker of %s has rank %s, want %d", number, w.Node, w.Rank, i)
		}
		if w.Addr == "" || w.Port == "" || w.Addr != list[0].Addr || w.Port != list[0].Port {
			p.fatalf("round %d: ranks 0 and %d meet at %s:%s and %s:%s", number, i, list[0].Addr, list[0].Port, w.Addr, w.Port)
		}
	}
	return list
}

func (w *worker) rank() int {
	n, err := strconv.Atoi(w.Rank)
	if err != nil {
		return -1
	}
	return n
}

// is ends the test unless the workers are those of these nodes, in this order.
func (p *party) is(workers []*worker, nodes ...string) {
	p.t.Helper()
	var got []string
	for _, w := range workers {
		got = append(got, w.Node)
	}
	if !slices.Equal(got, nodes) {
		p.fatalf("the ranks are those of %v, want %v", got, nodes)
	}
}

// names are the nodes of the workers, in order.
func names(workers []*worker) (list []string) {
	for _, w := range workers {
		list = append(list, w.Node)
	}
	return list
}

// of is the worker of that node.
func of(workers []*worker, node string) *worker {
	return workers[slices.IndexFunc(workers, func(w *worker) bool { return w.Node == node })]
}

// stopped waits until the worker is gone.
func (p *party) stopped(w *worker) {
	p.t.Helper()
	p.until(fmt.Sprintf("the end of %s's worker in round %s", w.Node, w.Round), func([]*worker) bool { return w.Gone() })
}

// started is how many workers there have been so far.
func (p *party) started() int {
	all, _ := p.Look()
	return len(all)
}

// start starts a gangrun.
func (p *party) start(name string, flags ...string) *node {
	p.t.Helper()
	bin, err := buildProbe()
	if err != nil {
		p.t.Fatal(err)
	}
	command := []string{"--", bin, p.Dir}
	if p.mode == "launch" {
		command = []string{"--no-python", bin, p.Dir}
	}
	return p.startCommand(name, flags, command)
}

func (p *party) startCommand(name string, flags, command []string) *node {
	p.t.Helper()
	log := filepath.Join(p.t.TempDir(), "termination-log")
	var argv []string
	if p.in != nil {
		argv = p.in(name)
	}
	argv = append(argv, harness.Binary(p.t), p.mode, "--termination-log", log)
	if name != "" {
		argv = append(argv, "--node", name)
	}
	argv = slices.Concat(argv, p.flags, flags, command)
	n := &node{&harness.Running{Process: harness.Start(p.t, max(limit, p.limit), p.env, argv...), Log: log}, name}
	p.nodes = append(p.nodes, n)
	return n
}

// startAll starts that many, n0 and so on.
func (p *party) startAll(count int, flags ...string) (list []*node) {
	p.t.Helper()
	for i := range count {
		list = append(list, p.start(fmt.Sprint("n", i), flags...))
	}
	return list
}
