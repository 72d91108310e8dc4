package rounds_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/test/harness"
)

const byNotice = "the notice SIGUSR1 from outside"

// TestAllGetNotice gives all nodes notice, as Slurm does before the time limit of a job. The job is suspended, and
// continues where it was when its nodes come again.
func TestAllGetNotice(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3", "--notice-signal", "USR1@2m")
	nodes := p.startAll(3)
	first := p.round(0, 3)
	for _, n := range nodes {
		n.Signal(syscall.SIGUSR1)
	}
	for _, e := range p.all(nodes, preempted) {
		if !strings.HasPrefix(e.Message.Message, byNotice) {
			t.Errorf("%s does not say why it goes: %s", e.Node, e.Raw)
		}
	}
	if job := p.record(); job.Phase != rendezvous.Suspended {
		t.Errorf("the job is %s", job.Phase)
	}
	nodes = p.startAll(3)
	second := p.round(1, 3)
	p.is(second, names(first)...)
	finish(second)
	p.succeed(nodes, 1, 0, 1)
}

// TestOneGetsNotice is a spot instance that goes. The others continue with its replacement, and it costs no restart.
func TestOneGetsNotice(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3", "--notice-signal", "USR1@2m")
	nodes := p.startAll(3)
	first := p.round(0, 3)
	nodes[1].Signal(syscall.SIGUSR1)
	p.all(nodes[1:2], preempted)
	nodes[1] = p.start("n1")
	second := p.round(1, 3)
	p.is(second, names(first)...)
	finish(second)
	p.succeed(nodes, 1, 0, 1)
}

// TestNoticeWhileWaiting is given to nodes that have no workers, by a signal and by their time limit: they leave at once.
func TestNoticeWhileWaiting(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "3", "--notice-signal", "USR1@10h")
	nodes := []*node{p.start("n0"), p.start("n1", "--time-limit", "4s", "--grace", "1s")}
	nodes[0].Await("the job waits")
	nodes[0].Signal(syscall.SIGUSR1)
	for i, e := range p.all(nodes, preempted) {
		if want := []string{byNotice, "the time limit of 4s"}[i] + " before the worker was started"; e.Message.Message != want {
			t.Errorf("%s: %q, want %q", e.Node, e.Message.Message, want)
		}
	}
}

// TestNoticeComesLater to one node than to another, which has left by then: that one is being stopped already, with
// little time, and has all of its own from then on.
func TestNoticeComesLater(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "2", "--notice-signal", "USR1@10h", "--restart-grace", "1s")
	nodes := p.startAll(2)
	workers := p.round(0, 2)
	late := of(workers, "n1")
	late.Do("defy")
	late.Do("say deaf")
	nodes[1].Await("deaf")
	nodes[0].Signal(syscall.SIGUSR1)
	nodes[1].Await("stopping the workers")
	nodes[1].Signal(syscall.SIGUSR1)
	nodes[1].Await("stopping: the notice")
	outlast(t, 2)
	if late.Gone() {
		t.Error("its worker was killed")
	}
	late.Do("exit 0")
	for _, e := range p.all(nodes, preempted) {
		if strings.Contains(e.Stderr, "SIGKILL") {
			t.Errorf("%s has killed: %s", e.Node, e.Stderr)
		}
	}
}

// TestCutOffWhileStopping takes the network of a node away that gives its workers all the time to stop. The others do
// not wait that long: its workers are killed before another round begins.
func TestCutOffWhileStopping(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"notice": syscall.SIGUSR1, "stop": syscall.SIGTERM, "suspended": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, space := apart(t, "1:2", "n1")
			p.flags = append(p.flags, "--notice-signal", "USR1@10h", "--grace", "10h")
			nodes := p.startAll(2, "--last-call", "10s")
			workers := p.round(0, 2)
			n1 := of(workers, "n1")
			n1.Do("defy")
			n1.Do("say deaf")
			nodes[1].Await("deaf")
			if sig == 0 {
				if res := harness.Run(t, limit, nil, harness.Binary(t), "suspend", p.flags[2], p.flags[3], jobName(t)); res.Code != 0 {
					p.fatalf("suspend: exit code %d, %s", res.Code, res.Stderr)
				}
			}
			nodes[1].Signal(sig)
			nodes[1].Await("stopping the workers")
			space.Cut()
			p.stopped(n1)
			if sig == 0 {
				p.all(nodes[:1], end{143, exitcodes.Suspended, exitcodes.ReasonSuspended})
				return
			}
			p.all(nodes[1:], preempted)
			second := p.round(1, 1)
			p.is(second, "n0")
			finish(second)
			p.all(nodes[:1], succeeded)
		})
	}
}

// TestCutOffWithLeftovers is the same with a worker that has left somebody behind.
func TestCutOffWithLeftovers(t *testing.T) {
	t.Parallel()
	p, space := apart(t, "2", "n1")
	p.start("n0")
	n1 := p.startCommand("n1", []string{"--grace", "10h"},
		[]string{"--", "sh", "-c", `(trap "" TERM; while :; do sleep 1; done) & trap "exit 0" TERM; echo training; wait`})
	n1.Await("training")
	n1.Signal(syscall.SIGTERM)
	n1.Await("left processes behind")
	space.Cut()
	n1.Await("what still runs gets no more time")
	p.all([]*node{n1}, preempted)
}

// TestSuspendedWhileSaving gives a worker that saves a checkpoint the time for it that the pod has.
func TestSuspendedWhileSaving(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "1")
	saver := []string{"--", harness.Program(t, "python3", "install python3"), harness.Root() + "/test/run/testdata/saver.py"}
	n := p.startCommand("n0", []string{"--grace", "300ms", "--pod-grace", "1h"}, saver)
	n.Await("training")
	if res := remote(t, "suspend", jobName(t)); res.Code != 0 {
		p.fatalf("suspend: exit code %d, %s", res.Code, res.Stderr)
	}
	n.Await("saving a checkpoint: SIGKILL waits until ")
	n.Signal(syscall.SIGUSR2)
	for _, e := range p.all([]*node{n}, end{143, exitcodes.Suspended, exitcodes.ReasonSuspended}) {
		if !strings.HasSuffix(e.Stdout, "saved\n") {
			t.Errorf("%s\n%s", e.Stdout, e.Stderr)
		}
	}
}
