package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "embed"
)

//go:embed hangs.py
var hangsScript []byte

const (
	ftLauncherName        = "ft_launcher"
	shareBudget    budget = 0.1 // percent of one processor
	hangBudget     budget = 5   // seconds
)

// hangs measures from the death, and from the standstill, of one of two ranks to the first instruction of the last of
// their successors, beside NVIDIA's ft_launcher with the same limit of 3 seconds: its own check of that is every 5
// seconds, and without a limit, as is its default, it has none. And it measures what it takes to watch eight ranks
// that get on.
func (l *lab) hangs() error {
	script := filepath.Join(l.dir, "hangs.py")
	if err := os.WriteFile(script, hangsScript, 0o644); err != nil {
		return err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return err
	}
	flags := []string{"--nproc-per-node", "2", "--max-restarts", "3"}
	var programs, ours []program
	for _, p := range l.ours {
		argv := slices.Concat([]string{p.argv[0], "launch", "--standalone"}, flags, []string{"--hang-timeout", "3s", "--no-python", python})
		ours = append(ours, program{p.name, argv})
	}
	programs = ours
	if path := l.peers[ftLauncherName]; path != "" {
		argv := slices.Concat([]string{path, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "--nnodes", "1"}, flags,
			[]string{"--ft-initial-rank-heartbeat-timeout", "60", "--ft-rank-heartbeat-timeout", "3"})
		programs = append(slices.Clone(ours), program{ftLauncherName, argv})
	}
	for _, how := range []string{"kill", "hang"} {
		t := &table{title: fmt.Sprintf("hangs: from a rank's %s to the last of two successors, s", how), peers: []string{ftLauncherName}}
		b := noBudget
		if how == "hang" {
			b = hangBudget
		}
		t.addPrograms(programs, ours, b)
		err := l.takeTurns(programs, 5, 1, func(i int, p program) error {
			took, err := l.recovers(p, script, how)
			if err == nil {
				t.rows[i].values = append(t.rows[i].values, took.Seconds())
			}
			return err
		})
		t.print()
		if err != nil {
			return err
		}
	}
	return l.watching(script, python)
}

// recovers has a job lose a rank and returns how long it took to start both again.
func (l *lab) recovers(p program, script, how string) (time.Duration, error) {
	dir, cmd, err := l.startRanks(p, script, how, "0.1")
	if err != nil {
		return 0, err
	}
	defer endRanks(cmd)
	lines, err := l.readLog(dir, func(lines []logLine) bool { return count(lines, "start") >= 4 })
	if err != nil {
		return 0, err
	}
	var lost, back time.Duration
	for _, line := range lines {
		switch line.what {
		case how:
			lost = line.at
		case "start":
			back = max(back, line.at)
		}
	}
	return back - lost, nil
}

// watching measures gangrun's own use of a processor while eight ranks tell a step every second.
func (l *lab) watching(script, python string) error {
	const ranks = 8
	length := 30 * time.Second
	if l.quick {
		length = 5 * time.Second
	}
	t := &table{title: "hangs: watching 8 ranks that tell a step a second, percent of one processor"}
	var programs []program
	for _, p := range l.ours {
		programs = append(programs, program{p.name, []string{p.argv[0], "launch", "--standalone", "--nproc-per-node", fmt.Sprint(ranks), "--no-python", python}})
	}
	t.addPrograms(programs, programs, shareBudget)
	err := l.takeTurns(programs, 3, 1, func(i int, p program) error {
		dir, cmd, err := l.startRanks(p, script, "go", "1")
		if err != nil {
			return err
		}
		defer endRanks(cmd)
		if _, err := l.readLog(dir, func(lines []logLine) bool { return count(lines, "ready") == ranks }); err != nil {
			return err
		}
		time.Sleep(3 * time.Second) // two steps, from which on it watches
		before, err := processorTime(cmd.Process.Pid)
		if err != nil {
			return err
		}
		began := time.Now()
		select {
		case <-l.ctx.Done():
			return l.ctx.Err()
		case <-time.After(length):
		}
		after, err := processorTime(cmd.Process.Pid)
		t.rows[i].values = append(t.rows[i].values, 100*(after-before).Seconds()/time.Since(began).Seconds())
		return err
	})
	t.print()
	return err
}

func (l *lab) startRanks(p program, script, how, pause string) (dir string, cmd *exec.Cmd, err error) {
	if dir, err = os.MkdirTemp(l.dir, "hangs-"); err != nil {
		return "", nil, err
	}
	argv := append(slices.Clone(p.argv), script, how, dir, pause)
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = append(environment(), "OMP_NUM_THREADS=1"), dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return dir, cmd, cmd.Start()
}

// endRanks ends a launcher, and after ten seconds its whole group.
func endRanks(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait()
	timer.Stop()
}

// logLine is what a rank has noted.
type logLine struct {
	what string
	at   time.Duration
}

func count(lines []logLine, what string) (n int) {
	for _, line := range lines {
		if line.what == what {
			n++
		}
	}
	return n
}

// readLog waits until the ranks have noted enough.
func (l *lab) readLog(dir string, enough func([]logLine) bool) ([]logLine, error) {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && l.ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		var lines []logLine
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 3 && strings.HasSuffix(line, "\n") {
				at, _ := strconv.ParseInt(f[2], 10, 64)
				lines = append(lines, logLine{f[0], time.Duration(at)})
			}
		}
		if enough(lines) {
			return lines, nil
		}
	}
	return nil, errors.New("the ranks were not there in time")
}

// processorTime is what a process has used, to the nanosecond, by its threads that live.
func processorTime(pid int) (used time.Duration, err error) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(n)
	}
	if len(files) == 0 {
		return 0, errors.New("the launcher is not there any more")
	}
	return used, nil
}
