package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// launch measures gangrun launch beside torchrun, and DLRover's launcher where it is installed, with the same flags.
func (l *lab) launch() error {
	for _, measure := range []func() error{l.launchStart, l.launchRestart, l.launchMemory} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// launchers are gangrun launch, the gangruns beside it, torchrun and dlrover-run, each with so many ranks on this
// machine. The flags are for gangrun alone, the restarts for all.
func (l *lab) launchers(ranks, restarts int, flags ...string) (all, ours []program) {
	theirs := []string{"--standalone", "--nproc-per-node", fmt.Sprint(ranks), "--max-restarts", fmt.Sprint(restarts)}
	for _, p := range l.ours {
		argv := slices.Concat([]string{p.argv[0], "launch"}, theirs, flags, []string{"--no-python"})
		ours = append(ours, program{p.name, argv})
	}
	all = slices.Clone(ours)
	for _, name := range slowPeers {
		if path := l.peers[name]; path != "" {
			all = append(all, program{name, slices.Concat([]string{path}, theirs, []string{"--no-python"})})
		}
	}
	return all, ours
}

// gang is a launcher with probes below it, which speak through a FIFO: what they print goes through the launcher, as
// text.
type gang struct {
	*subject
	ranks   int
	workers []told // that live
}

// beginGang starts a launcher whose ranks speak and wait, or end if they are not to hold on.
func (l *lab) beginGang(p program, ranks int, hold bool) (*gang, error) {
	fifo := filepath.Join(l.dir, fmt.Sprintf("words-%d", rand.Uint64()))
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		return nil, err
	}
	// For both directions, so that it is there before the first probe and until the last.
	said, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	argv := append(slices.Clone(p.argv), l.probe, "x", "x", fifo)
	if !hold {
		argv = append(argv, "x")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = environment()
	s := &subject{name: p.name, cmd: cmd, said: said, started: clock()}
	if err := cmd.Start(); err != nil {
		said.Close()
		return nil, err
	}
	return &gang{subject: s, ranks: ranks}, nil
}

// gather waits for the word of every rank and returns when the last one's first instruction ran.
func (g *gang) gather() (last time.Duration, err error) {
	g.workers = nil
	for range g.ranks {
		word, err := g.listen()
		if err != nil {
			return 0, err
		}
		g.workers = append(g.workers, word)
		last = max(last, word.at)
	}
	return last, nil
}

// launchStart measures the time from a launcher's fork to the first instruction of the last of two ranks, and a whole
// run of two ranks that do nothing.
func (l *lab) launchStart() error {
	first := &table{title: "launch: start to the first instruction of the last of 2 ranks, ms", peers: slowPeers}
	whole := &table{title: "launch: a whole run of 2 ranks that do nothing, ms", peers: slowPeers}
	programs, ours := l.launchers(2, 0)
	first.addPrograms(programs, ours, gangRunBudget)
	whole.addPrograms(programs, ours, gangRunBudget)
	err := l.takeTurns(programs, 100, 5, func(i int, p program) error {
		g, err := l.beginGang(p, 2, false)
		if err != nil {
			return err
		}
		last, err := g.gather()
		if err != nil {
			g.stop()
			return err
		}
		if err := g.end(); err != nil {
			return err
		}
		took := milliseconds(clock() - g.started)
		first.rows[i].values = append(first.rows[i].values, milliseconds(last-g.started))
		whole.rows[i].values = append(whole.rows[i].values, took)
		return nil
	})
	first.print()
	whole.print()
	return err
}

// launchRestart measures the time from the death of one of two ranks (SIGKILL) to the first instruction of the last of
// the two that follow: the other one has to be stopped in between.
func (l *lab) launchRestart() error {
	first := &table{
		title: "launch: death of one of 2 ranks to the last of their successors, the first of a run, ms", peers: slowPeers,
	}
	later := &table{title: "the same, any later one, ms", peers: slowPeers}
	programs, ours := l.launchers(2, 1_000_000, "--max-same-failure", "0", "--restart-backoff", "0s")
	first.addPrograms(programs, ours, restartBudget)
	later.addPrograms(programs, ours, restartBudget)
	gangs := make([]*gang, len(programs))
	defer func() {
		for _, g := range gangs {
			if g != nil {
				g.stop()
			}
		}
	}()
	err := l.takeTurns(programs, 50, 5, func(i int, p program) error {
		if gangs[i] == nil || !p.slow() { // to start torchrun again and again takes too long
			g, took, err := l.firstGangRestart(p)
			if err != nil {
				return err
			}
			first.rows[i].values = append(first.rows[i].values, took)
			if gangs[i] == nil {
				gangs[i] = g
			} else {
				g.stop()
			}
		}
		took, err := gangs[i].restart()
		later.rows[i].values = append(later.rows[i].values, took)
		return err
	})
	first.print()
	later.print()
	return err
}

func (l *lab) firstGangRestart(p program) (*gang, float64, error) {
	g, err := l.beginGang(p, 2, true)
	if err != nil {
		return nil, 0, err
	}
	took := 0.0
	if _, err = g.gather(); err == nil {
		took, err = g.restart()
	}
	if err != nil {
		g.stop()
	}
	return g, took, err
}

// restart kills one of the ranks, at a time as for a single worker, and waits for all the successors.
func (g *gang) restart() (float64, error) {
	time.Sleep(50*time.Millisecond + rand.N(150*time.Millisecond))
	killed := clock()
	if err := syscall.Kill(g.workers[rand.IntN(g.ranks)].pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("the worker is not there any more: %w", err)
	}
	last, err := g.gather()
	return milliseconds(last - killed), err
}

// launchMemory measures the resident memory of each launcher while eight ranks sleep.
func (l *lab) launchMemory() error {
	const ranks = 8
	resident := &table{title: "launch: resident while 8 ranks sleep, MiB", peers: slowPeers}
	anonymous := &table{title: "of that not backed by a file, MiB", peers: slowPeers}
	programs, ours := l.launchers(ranks, 0)
	resident.addPrograms(programs, ours, residentBudget)
	anonymous.addPrograms(programs, ours, anonBudget)
	err := l.takeTurns(programs, 10, 1, func(i int, p program) error {
		g, err := l.beginGang(p, ranks, true)
		if err != nil {
			return err
		}
		defer g.stop()
		if _, err := g.gather(); err != nil {
			return err
		}
		time.Sleep(settle)
		rss, anon, err := residentOf(g.cmd.Process.Pid)
		resident.rows[i].values = append(resident.rows[i].values, rss)
		anonymous.rows[i].values = append(anonymous.rows[i].values, anon)
		return err
	})
	resident.print()
	anonymous.print()
	return err
}

// slowPeers are in Python, and take seconds where others take milliseconds.
var slowPeers = []string{torchrunName, dlroverName}

// slow reports whether a program is one of them.
func (p program) slow() bool { return slices.Contains(slowPeers, p.name) }

// takeTurns has the programs do something one after the other, in so many rounds; those that are slow in some.
func (l *lab) takeTurns(programs []program, usual, few int, do func(i int, p program) error) error {
	rounds := l.times(usual, few)
	for round := range rounds {
		for i, p := range programs {
			if l.ctx.Err() != nil {
				return l.ctx.Err()
			}
			if p.slow() && !l.torchrunsTurn(round, rounds, 5) {
				continue
			}
			if err := do(i, p); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}
