package procs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is a /proc of a test.
type machine struct {
	t   *testing.T
	dir string
}

func (m machine) process(pid, parent int, name string, state byte, cpu int, exe string, environ ...string) {
	m.t.Helper()
	dir := filepath.Join(m.dir, fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		m.t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (%s) %c %d 1 1 0 -1 4194560 1 0 0 0 %d %d 0 0 20 0 1 0 100 0 0", pid, name, state, parent, cpu, cpu)
	for file, text := range map[string]string{
		"stat": stat, "environ": strings.Join(environ, "\x00"), "io": fmt.Sprintf("rchar: %d\nwchar: 5\nsyscr: 9\n", pid),
		"wchan": "do_poll", "syscall": "7 0x1", "cmdline": name + "\x00-x\x00", "maps": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := os.Symlink(exe, filepath.Join(dir, "exe")); err != nil {
		m.t.Fatal(err)
	}
}

func pids(list []Process) string {
	var names []string
	for _, p := range list {
		names = append(names, fmt.Sprint(p.PID))
	}
	return strings.Join(names, " ")
}

const able, python = "PYTHONFAULTHANDLER=1", "/usr/bin/python3.12"

// TestRanks: who is asked for its stacks, and who is stopped while they are.
func TestRanks(t *testing.T) {
	m := machine{t, t.TempDir()}
	m.process(10, 1, "torchrun", 'S', 1, python, able)
	for i := range 2 {
		rank := fmt.Sprintf("LOCAL_RANK=%d", i)
		m.process(20+i, 10, "python", 'S', 1, python, able, rank)
		m.process(30+i, 20+i, "loader (x) y", 'T', 1, python, able, rank) // its DataLoader's
		m.process(40+i, 20+i, "nvcc", 'S', 1, "/usr/bin/nvcc", able, rank)
	}
	m.process(50, 1, "bash", 'S', 1, "/bin/bash", able)
	m.process(51, 50, "train", 'S', 1, python, able)
	m.process(52, 51, "loader", 'S', 1, python, able)
	m.process(60, 1, "train", 'S', 1, python, "PYTHONFAULTHANDLER=")
	m.process(70, 1, "train", 'Z', 1, python, able)
	m.process(80, 1, "a.out", 'S', 1, "/bin/a.out", able)
	table, err := read(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]string{
		10: "20 21, 10", 20: "20, ", 50: "51, 50", 60: ", ", 70: ", ", 80: ", ", 99: ", ",
	} {
		ranks, launchers := table.Ranks(pid)
		if got := pids(ranks) + ", " + pids(launchers); got != want {
			t.Errorf("below %d: %q, want %q", pid, got, want)
		}
	}
	if got := pids(table.Tree(10)); got != "10 20 21 30 40 31 41" {
		t.Error(got)
	}
	got := table.Usage(21)
	if got.Processes == 0 || got.Processes == table.Usage(20).Processes {
		t.Errorf("%+v", got)
	}
	if got.Processes = 0; got != (Usage{CPU: 3 * 20 * time.Millisecond, IO: 21 + 31 + 41 + 15}) {
		t.Errorf("%+v", got)
	}
	if got := table.Usage(31); !got.Stopped {
		t.Errorf("%+v", got)
	}
	if got := table.Usage(99); got != (Usage{}) {
		t.Errorf("%+v", got)
	}
	text := table.State(table.Tree(31)[0]).String()
	for _, want := range []string{"pid 31 (loader (x) y) state T, parent 21", "waits in: do_poll", "command: loader (x) y, arguments: 1\n", "kernel stack: not readable"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

// TestBusy: a process is busy while any thread of any process below it is, or is not let.
func TestBusy(t *testing.T) {
	m := machine{t, t.TempDir()}
	m.process(10, 1, "sh", 'S', 1, "/bin/sh")
	m.process(11, 10, "python", 'S', 1, python)
	for i, state := range []byte{'S', 'R', 'D', 'T'} {
		dir := filepath.Join(m.dir, "11", "task", "12")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		stat := fmt.Sprintf("12 (python) %c 10 1 1 0 -1 4194560 1 0 0 0 3 4 5 6 20 0 1 0 100 0 0", state)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
		table, err := read(m.dir)
		if want := i == 1 || i == 2; err != nil || table.Busy(10) != want {
			t.Errorf("%c: busy %v (%v)", state, !want, err)
		}
	}
}

// TestSelf reads the real thing.
func TestSelf(t *testing.T) {
	table, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	tree := table.Tree(os.Getpid())
	if len(tree) == 0 || tree[0].Parent != os.Getppid() || tree[0].State == 0 {
		t.Errorf("%+v", tree)
	}
	if p, found := Of(os.Getpid()); !found || p.PID != os.Getpid() || p.Began == 0 || p.Began != tree[0].Began {
		t.Errorf("%+v, %+v", p, tree)
	}
	if p, found := Of(1 << 30); found {
		t.Errorf("%+v", p)
	}
	if u := table.Usage(os.Getpid()); u.IO == 0 || u.Stopped {
		t.Errorf("%+v", u)
	}
	if s := table.State(tree[0]); len(s.Threads) == 0 || s.Command == "" {
		t.Errorf("%+v", s)
	}
}
