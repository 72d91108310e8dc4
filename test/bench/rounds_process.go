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

// partiesServing, as the first argument, makes this program some nodes of a job: its etcd, how many nodes there are,
// which is the first of these, and how many are. So what one process has to decode for all its nodes is not what is
// measured.
const partiesServing = "round-parties"

// Each line that such a process reads makes a node fail in a round, each that it writes tells that one has started:
// when, and which round, or why it never will.
func serveParties(args []string) error {
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(args[1+i]); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	g := joinParties(ctx, &etcdServer{client: args[0]}, n[0], n[1], n[2])
	go func() {
		for s := range g.starts {
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
		g.fail(node, round)
	}
	g.leave() // whoever has started this has ended, or wants it
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

// spread starts a job's nodes.
func (l *lab) spread(ctx context.Context, server *etcdServer, nodes int) (*scattered, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g := &scattered{ctx: ctx, nodes: nodes, starts: make(chan start, nodes)}
	each := inOneProcess(nodes)
	for first := 0; first < nodes; first += each {
		args := []string{partiesServing, server.client}
		for _, n := range []int{nodes, first, min(each, nodes-first)} {
			args = append(args, strconv.Itoa(n))
		}
		cmd := exec.CommandContext(l.ctx, self, args...)
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
