package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/gangrun/gangrun/test/chaos/history"
	"github.com/gangrun/gangrun/test/harness/network"
)

// strike does one thing to the job, and returns when it is over. What finds nobody to be done to does not count.
func (j *job) strike(f fault) {
	switch f.kind {
	case "kill member", "stop member", "outage":
		j.etcdTurn.Lock() // on a busy machine a member that starts again takes longer than the plan allows for
		defer j.etcdTurn.Unlock()
	}
	told := history.Fault{Kind: f.kind, From: history.Now()}
	switch f.kind {
	case "cut", "delay", "lose packets", "narrow", "kill gangrun", "stop gangrun", "end pod":
		told.Node = fmt.Sprint("n", f.node)
	}
	if j.hosted && f.node == 0 && f.kind == "cut" {
		told.Kind = "cut off the store's host" // which has its store
	}
	heal, done := j.begin(f)
	if !done {
		return
	}
	if heal != nil {
		j.sleep(f.long)
		told.To = history.Now() // what heals takes a moment itself
		heal()
	}
	j.with(func() {
		j.struck[f.kind]++
		j.past.Faults = append(j.past.Faults, told)
	})
}

// begin begins it. What lasts returns what ends it.
func (j *job) begin(f fault) (heal func(), done bool) {
	switch f.kind {
	case "kill worker", "crash worker", "stop worker", "hang worker", "tear", "tear late", "out of memory":
		return j.hurtWorker(f)
	case "kill gangrun", "stop gangrun", "end pod":
		return j.hurtGangrun(f)
	case "kill member", "stop member", "outage":
		return j.hurtEtcd(f)
	case "cut", "delay", "lose packets", "narrow":
		return j.hurtLink(f)
	case "fill the disk":
		return j.fill()
	case "delete node":
		return nil, j.remove(fmt.Sprint("nodes/n", f.node))
	case "delete candidates":
		return nil, j.remove("lead/", clientv3.WithPrefix())
	case "two leaders":
		return j.depose(f)
	case "set the clock":
		return nil, j.clock.set(f.node, f.pick)
	case "delete job":
		return nil, j.remove("job")
	case "delete round":
		return nil, j.remove("rounds/", clientv3.WithPrefix())
	}
	panic(f.kind)
}

func (j *job) hurtWorker(f fault) (heal func(), done bool) {
	j.until(2*fence, func() bool { return len(j.workers) > 0 })
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.workers) == 0 {
		return nil, false
	}
	among := j.workers
	if strings.HasPrefix(f.kind, "tear") {
		if among = slices.DeleteFunc(slices.Clone(j.workers), func(w *live) bool { return !j.saves(w) }); len(among) == 0 {
			return nil, false
		}
	}
	w := among[f.pick%uint64(len(among))]
	say := func(what string) bool {
		_, err := fmt.Fprintln(w.conn, what)
		return err == nil
	}
	switch f.kind {
	case "kill worker":
		return nil, syscall.Kill(w.pid, syscall.SIGKILL) == nil
	case "crash worker":
		signals := []syscall.Signal{syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGTERM}
		return nil, syscall.Kill(w.pid, signals[f.pick%4]) == nil
	case "stop worker":
		return func() { _ = syscall.Kill(w.pid, syscall.SIGCONT) }, syscall.Kill(w.pid, syscall.SIGSTOP) == nil
	case "hang worker":
		return nil, say("hang")
	case "tear", "tear late":
		return nil, say(f.kind)
	default:
		return nil, confine(w.pid) == nil && say("eat")
	}
}

func (j *job) hurtGangrun(f fault) (heal func(), done bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch f.kind {
	case "kill gangrun":
		p, done := j.signal(f.node, syscall.SIGKILL)
		if done {
			p.killed = true
		}
		return nil, done
	case "end pod":
		p, done := j.signal(f.node, syscall.SIGTERM)
		if done && p.told == 0 {
			p.told = history.Now()
		}
		return nil, done
	}
	p, done := j.signal(f.node, syscall.SIGSTOP)
	pid := j.pid(p)
	return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }, done
}

func (j *job) hurtEtcd(f fault) (heal func(), done bool) {
	i := int(f.pick % 3)
	one := j.etcd.Servers[i]
	switch f.kind {
	case "stop member":
		return func() { _ = one.Resume() }, one.Pause() == nil
	case "outage":
		other := j.etcd.Servers[(i+1)%3]
		one.Kill()
		other.Kill()
		return func() { j.revive(f) }, true
	}
	one.Kill()
	return func() { j.revive(f) }, true
}

// depose makes two leaders: another one is elected while the first still leads and its way to one member takes long.
// What it sends by that one comes when the job has gone on, as workers die one after the other.
func (j *job) depose(f fault) (heal func(), done bool) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	first, err := j.admin.Get(ctx, j.record("lead/"), clientv3.WithFirstCreate()...)
	if err != nil || len(first.Kvs) == 0 {
		return nil, false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(string(first.Kvs[0].Value), "n"), " ")
	node, err := strconv.Atoi(name)
	if err != nil || node >= len(j.relays) {
		return nil, false
	}
	far := j.relays[node][f.pick%3].Delay
	far([]time.Duration{1, 2, 3}[f.pick/3%3] * time.Second)
	if gone, err := j.admin.Delete(ctx, string(first.Kvs[0].Key)); err != nil || gone.Deleted == 0 {
		far(0)
		return nil, false
	}
	for i := range uint64(8) {
		j.with(func() {
			if n := uint64(len(j.workers)); n > 0 {
				_ = syscall.Kill(j.workers[(f.pick+i)%n].pid, syscall.SIGKILL)
			}
		})
		j.sleep(time.Duration(300+100*(f.pick>>i%8)) * time.Millisecond)
	}
	return func() { far(0) }, true
}

// revive starts again what does not run of the etcd.
func (j *job) revive(f fault) {
	i := int(f.pick % 3)
	again := j.etcd.Servers[i : i+1]
	if f.kind == "outage" {
		again = append(again[:1:1], j.etcd.Servers[(i+1)%3])
	}
	if err := j.etcd.Restart(again...); err != nil {
		j.with(func() { j.give(err) })
	}
}

// ways are the names of the ways to cut a node off.
var ways = []string{"both directions", "from it", "to it", "a firewall"}

func (j *job) hurtLink(f fault) (heal func(), done bool) {
	if f.kind == "delay" {
		late := func(d time.Duration) {
			for _, r := range j.relays[f.node] {
				r.Delay(d)
			}
		}
		late([]time.Duration{20, 100, 400, 1500}[f.pick%4] * time.Millisecond)
		return func() { late(0) }, true
	}
	space := j.slot.spaces[f.node]
	switch f.kind {
	case "cut":
		if j.hosted { // the other ways are about this machine, where the store is not
			return network.Cuts[ways[f.pick%2*3]](space), true
		}
		return network.Cuts[ways[f.pick%4]](space), true
	case "lose packets":
		return space.Lose([]float64{0.05, 0.2, 0.4}[f.pick%3]), true
	default:
		return space.Narrow([]int{32, 128, 512}[f.pick%3]), true
	}
}

// fill fills the small disk to the last byte.
func (j *job) fill() (heal func(), done bool) {
	name := filepath.Join(j.small, "filling")
	f, err := os.Create(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	for chunk := make([]byte, 1<<16); len(chunk) > 0; {
		if _, err := f.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	return func() { os.Remove(name) }, true
}

// memory is where cgroups of the first version limit memory.
const memory = "/sys/fs/cgroup/memory"

// group is the cgroup of this test, in which a process may have little memory.
func group() string { return filepath.Join(memory, fmt.Sprint("gangrun-chaos-", os.Getpid())) }

// makeGroup makes it, and reports whether that can be done here.
func makeGroup() bool {
	return os.Mkdir(group(), 0o755) == nil && os.WriteFile(filepath.Join(group(), "memory.limit_in_bytes"), []byte("33554432"), 0o644) == nil
}

// confine puts a process into it.
func confine(pid int) error {
	return os.WriteFile(filepath.Join(group(), "cgroup.procs"), []byte(strings.TrimSpace(fmt.Sprint(pid))), 0o644)
}
