package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// partiesServing, as the first argument, makes this program some nodes of a job, as the second one says. So what one
// process has to decode for all its nodes is not what is measured.
const partiesServing = "round-parties"

// party is some of a job's nodes, in this process.
type party interface {
	// fail makes the workers of a node, counted from the job's first, fail in a round.
	fail(node, round int)
	// starts tells of each node and round when the node got the order to start it.
	starts() <-chan start
	leave()
}

// start says that a node has got the order to start a round, or why it never will.
type start struct {
	at    time.Duration
	round int
	err   error
}

// share says which nodes a process is to be, and of what kind: gangrun's agents, or clients of etcd that send values of
// the same lengths.
type share struct {
	bare                bool
	client              string // the URL of etcd
	nodes, first, count int
	lengths             lengths
}

const shareForm = "%t %s %d %d %d %d %d %d"

func (s share) String() string {
	return fmt.Sprintf(shareForm, s.bare, s.client, s.nodes, s.first, s.count, s.lengths.node, s.lengths.job, s.lengths.round)
}

func parseShare(text string) (s share, err error) {
	_, err = fmt.Sscanf(text, shareForm, &s.bare, &s.client, &s.nodes, &s.first, &s.count,
		&s.lengths.node, &s.lengths.job, &s.lengths.round)
	return s, err
}

func (s share) join(ctx context.Context) (party, error) {
	server := &etcdServer{client: s.client}
	if s.bare {
		return joinBare(ctx, server, s.nodes, s.first, s.count, s.lengths)
	}
	return joinParties(ctx, server, s.nodes, s.first, s.count), nil
}

// serveParties is what such a process does. Each line that it reads makes a node fail in a round, each that it writes
// tells that one has started: when, and which round, or why it never will.
func serveParties(text string) error {
	s, err := parseShare(text)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p, err := s.join(ctx)
	if err != nil {
		return err
	}
	defer p.leave() // whoever has started this has ended, or wants it
	go func() {
		for s := range p.starts() {
			why := ""
			if s.err != nil {
				why = strings.ReplaceAll(s.err.Error(), "\n", " ")
			}
			fmt.Printf("%d %d %s\n", s.at, s.round, why)
		}
	}()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var node, round int
		if _, err := fmt.Sscan(lines.Text(), &node, &round); err != nil {
			return err
		}
		p.fail(node, round)
	}
	return nil
}

// scattered are the nodes of a job, in processes of so many at most.
type scattered struct {
	ctx       context.Context
	nodes     int
	starts    chan start
	processes []*exec.Cmd
	tell      []io.WriteCloser
}

// inOneProcess is how many nodes there are in each.
func inOneProcess(nodes int) int { return min(max(nodes/8, 1), 128) }

// spread starts all nodes of a job; whole is their common share.
func (l *lab) spread(ctx context.Context, whole share) (*scattered, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g := &scattered{ctx: ctx, nodes: whole.nodes, starts: make(chan start, whole.nodes)}
	each := inOneProcess(whole.nodes)
	for first := 0; first < whole.nodes; first += each {
		some := whole
		some.first, some.count = first, min(each, whole.nodes-first)
		cmd := exec.CommandContext(l.ctx, self, partiesServing, some.String())
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C is for us, and we end it
		out, err := cmd.StdoutPipe()
		in, inErr := cmd.StdinPipe()
		if err = errors.Join(err, inErr); err == nil {
			err = cmd.Start()
		}
		if err != nil {
			g.leave()
			return nil, err
		}
		g.processes, g.tell = append(g.processes, cmd), append(g.tell, in)
		go g.hear(out)
	}
	return g, nil
}

// used is the processor time of all nodes until now.
func (g *scattered) used() (used time.Duration, err error) {
	for _, cmd := range g.processes {
		of, err := processorTime(cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		used += of
	}
	return used, nil
}

// hear reads what one process tells.
func (g *scattered) hear(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		at, rest, _ := strings.Cut(lines.Text(), " ")
		round, why, _ := strings.Cut(rest, " ")
		var s start
		when, err := strconv.ParseInt(at, 10, 64)
		if err == nil {
			s.at = time.Duration(when)
			s.round, err = strconv.Atoi(round)
		}
		if s.err = err; why != "" {
			s.err = errors.New(why)
		}
		select {
		case g.starts <- s:
		case <-g.ctx.Done():
			return
		}
	}
}

// fail makes the workers of a node fail.
func (g *scattered) fail(node, round int) error {
	_, err := fmt.Fprintln(g.tell[node/inOneProcess(g.nodes)], node, round)
	return err
}

// started waits until all have been ordered to start a round, and returns when the last one was.
func (g *scattered) started(round int) (last time.Duration, err error) {
	late := time.After(patience)
	for n := range g.nodes {
		select {
		case s := <-g.starts:
			if s.err == nil && s.round != round {
				s.err = fmt.Errorf("a node starts round %d, not %d", s.round, round)
			}
			if s.err != nil {
				return 0, s.err
			}
			last = max(last, s.at)
		case <-late:
			return 0, fmt.Errorf("only %d of %d nodes have started round %d in %v", n, g.nodes, round, patience)
		case <-g.ctx.Done():
			return 0, g.ctx.Err()
		}
	}
	return last, nil
}

// leave ends the nodes, all at once: each gives its lease back.
func (g *scattered) leave() {
	for _, in := range g.tell {
		_ = in.Close()
	}
	for _, cmd := range g.processes {
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
	}
}
