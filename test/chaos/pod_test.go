package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
	"github.com/gangrun/gangrun/test/harness"
)

// pod is one gangrun of a node, with its files.
type pod struct {
	node   int
	number int
	log    string // its standard error
	note   string // the termination log
	cmd    *exec.Cmd
	killed bool
	told   int64
	ended  bool
}

// start starts a node's next gangrun, as whoever runs pods does. It needs the lock.
func (j *job) start(node int) {
	n := &j.nodes[node]
	if j.closed || n.final || n.pod != nil && !n.pod.ended {
		return
	}
	p := &pod{node: node, number: n.count}
	n.count++
	name := fmt.Sprintf("n%d-%d", node, p.number)
	p.log, p.note = filepath.Join(j.dir, name+".log"), filepath.Join(j.small, name+".termination")
	log, err := os.Create(p.log)
	if err != nil {
		j.give(err)
		return
	}
	defer log.Close()
	argv := j.command(node, p)
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), fmt.Sprint("CHAOS_POD=", p.number), harness.Mark(j.dir))
	p.cmd.Env = append(p.cmd.Env, j.clock.of(node))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		j.give(err)
		return
	}
	n.pod = p
	j.tasks.Go(func() { j.follow(p) })
}

// command is the command line of a node's gangrun.
func (j *job) command(node int, p *pod) (argv []string) {
	if j.networks() {
		argv = append(argv, j.slot.spaces[node].Enter()...)
	}
	if j.container {
		argv = append(argv, "unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", "--")
	}
	nodes := fmt.Sprint(j.plan.nodes)
	if j.elastic {
		nodes = fmt.Sprintf("%d:%d", j.plan.nodes-1, j.plan.nodes)
	}
	saves := filepath.Join(j.small, "checkpoints")
	if j.own {
		saves = filepath.Join(saves, fmt.Sprint("n", node))
	}
	argv = append(argv, j.binary, j.mode, "--job", j.name, "--run-uid", "chaos", "--node", fmt.Sprint("n", node),
		"--termination-log", p.note, "--log-dir", filepath.Join(j.small, "logs", fmt.Sprintf("n%d-%d", node, p.number)),
		"--log-level", "debug", "--checkpoint-dir", saves, "--fence-timeout", fence.String(), "--restart-grace", "1s", "--grace", "2s",
		"--restart-backoff", "1ms:50ms", "--max-restarts", "1000000", "--max-same-failure", "0", "--last-call", "1s",
		"--hang", "act", "--hang-timeout", "6s", "--join-timeout", "5m", "--store-timeout", "5m")
	if j.hosted {
		argv = append(argv, "--endpoint", j.endpoint)
	} else {
		argv = append(argv, "--store", strings.Join(j.ways[node], ","))
	}
	if j.pinned {
		argv = append(argv, "--node-rank", fmt.Sprint(node))
	}
	if j.quarantine {
		argv = append(argv, "--checkpoint-quarantine")
	}
	if j.unique {
		argv = append(argv, "--unique-nodes")
	}
	if j.mode == "launch" {
		argv = append(argv, "--nnodes", nodes, "--nproc-per-node", fmt.Sprint(j.ranks), "--no-python", j.worker)
	} else {
		argv = append(argv, "--nodes", nodes, "--", j.worker)
	}
	argv = append(argv, "--dir", j.dir, "--saves", saves)
	for name, is := range map[string]bool{"own": j.own, "renames": j.renames, "helper": j.helper, "hangs": j.hangs} {
		if is {
			argv = append(argv, "--"+name)
		}
	}
	return argv
}

// follow sees a gangrun to its end, and does then what an operator does: one that is worth a retry is started again.
func (j *job) follow(p *pod) {
	_ = p.cmd.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	p.ended = true
	e := history.End{
		Node: fmt.Sprint("n", p.node), Pod: p.number, At: history.Now(), Code: harness.Code(p.cmd.ProcessState), Killed: p.killed, Told: p.told,
	}
	if text, err := os.ReadFile(p.note); err == nil {
		e.Message = []byte(strings.TrimSpace(string(text)))
	}
	j.past.Ends = append(j.past.Ends, e)
	if e.Code < 128 && !e.Killed { // unshare exits with 1 when what it has started was killed
		j.nodes[p.node].final = true
		return
	}
	j.later(300*time.Millisecond, func() { j.start(p.node) })
}

// pid is the gangrun's own process, which is a child where it has a namespace; 0 when there is none.
func (j *job) pid(p *pod) int {
	if p == nil || p.ended {
		return 0
	}
	pid := p.cmd.Process.Pid
	if !j.container {
		return pid
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return child
}

// signal sends a signal to a node's gangrun, and reports whether there is one.
func (j *job) signal(node int, sig syscall.Signal) (*pod, bool) {
	p := j.nodes[node].pod
	pid := j.pid(p)
	if pid == 0 || syscall.Kill(pid, sig) != nil {
		return nil, false
	}
	return p, true
}
