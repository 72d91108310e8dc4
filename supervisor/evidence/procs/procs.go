// Package procs looks at the processes of a worker in /proc: what they use, where they stand, and which of them are its
// ranks.
package procs

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/process"
)

// Process is one process.
type Process = process.Stat

// Table is the processes of this machine, or container, at one moment.
type Table struct {
	root     string // /proc
	children map[int][]Process
	all      map[int]Process
}

// Read reads the table. It fails only where /proc cannot be listed: a process that ends meanwhile is left out.
func Read() (Table, error) { return read("/proc") }

func read(root string) (Table, error) {
	t := Table{root: root, children: map[int][]Process{}, all: map[int]Process{}}
	files, err := process.Stats(root)
	if err != nil {
		return t, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if p, ok := process.ParseStat(data); ok {
			t.all[p.PID] = p
			t.children[p.Parent] = append(t.children[p.Parent], p)
		}
	}
	return t, nil
}

// Of reads one process; false: there is none with that PID.
func Of(pid int) (Process, bool) { return process.StatOf(pid) }

// Tree is the process pid and all that descend from it, parents first; nothing when it is gone.
func (t Table) Tree(pid int) []Process {
	root, found := t.all[pid]
	if !found {
		return nil
	}
	tree := []Process{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, t.children[tree[i].PID]...)
	}
	return tree
}

// Usage is what the processes of a worker have used since each was started, with their children that have ended.
type Usage struct {
	CPU       time.Duration
	IO        int64  // bytes, read and written; of those that may be asked
	Stopped   bool   // all that live are stopped
	Processes uint64 // stands for which they are
	Busy      bool   // as [Table.Busy] says, where it was asked
}

// Usage is what the tree below pid, with it, has used.
func (t Table) Usage(pid int) (u Usage) {
	alive := 0
	u.Stopped = true
	for _, p := range t.Tree(pid) {
		u.CPU += p.CPU + p.Reaped
		u.IO += t.io(p.PID)
		if !p.Dead() {
			alive++
			u.Processes = u.Processes*mixes + uint64(p.PID)
			u.Stopped = u.Stopped && p.Stopped()
		}
	}
	u.Stopped = u.Stopped && alive > 0
	return u
}

// mixes makes a number of many that is another when one of them is; it is that of FNV.
const mixes = 1099511628211

// Busy reports whether a thread of the tree below pid, with it, runs, would run if the machine let it, or waits for what
// cannot be interrupted, such as a disk. It reads a file for each thread.
func (t Table) Busy(pid int) bool {
	for _, p := range t.Tree(pid) {
		if p.State == 'R' || p.State == 'D' {
			return true
		}
		for _, thread := range t.threads(p.PID) {
			if thread.State == 'R' || thread.State == 'D' {
				return true
			}
		}
	}
	return false
}

func (t Table) io(pid int) (bytes int64) {
	data, err := os.ReadFile(fmt.Sprintf("%s/%d/io", t.root, pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name == "rchar" || name == "wchar" {
			n, _ := strconv.ParseInt(value, 10, 64)
			bytes += n
		}
	}
	return bytes
}

// Ranks are the processes of a worker that run Python and write their stacks when they are aborted: those that are a rank
// by their environment, else the uppermost ones. Launchers are what is above them, the worker's own process among it.
func (t Table) Ranks(pid int) (ranks, launchers []Process) {
	tree := t.Tree(pid)
	rank := map[int]string{} // by process: LOCAL_RANK
	named := false
	var able []Process
	for _, p := range tree {
		if p.Dead() {
			continue
		}
		started, err := environ.Started(fmt.Sprintf("%s/%d/environ", t.root, p.PID))
		if err != nil || variable(started, "PYTHONFAULTHANDLER") == "" || !t.python(p.PID) {
			continue
		}
		able = append(able, p)
		rank[p.PID] = variable(started, "LOCAL_RANK")
		named = named || rank[p.PID] != ""
	}
	above := map[int]bool{}
	for _, p := range able {
		if named && rank[p.PID] == "" || t.below(p, rank, named) {
			continue
		}
		ranks = append(ranks, p)
		for up := p; up.PID != pid; {
			parent, found := t.all[up.Parent]
			if !found {
				break
			}
			above[parent.PID], up = true, parent
		}
	}
	for _, p := range tree {
		if above[p.PID] {
			launchers = append(launchers, p)
		}
	}
	return ranks, launchers
}

// below reports whether the process belongs to another one that is the same rank.
func (t Table) below(p Process, rank map[int]string, named bool) bool {
	for up, found := t.all[p.Parent]; found; up, found = t.all[up.Parent] {
		if of, able := rank[up.PID]; able && (!named || of == rank[p.PID]) {
			return true
		}
	}
	return false
}

// python reports whether the process is an interpreter: by its program, or by a library of it.
func (t Table) python(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("%s/%d/exe", t.root, pid))
	if err != nil {
		return false
	}
	if strings.HasPrefix(filepath.Base(exe), "python") {
		return true
	}
	return t.maps(pid, "/libpython")
}

// Maps reports whether a process of the tree below pid, with it, has mapped a file with that in its name.
func (t Table) Maps(pid int, name string) bool {
	for _, p := range t.Tree(pid) {
		if t.maps(p.PID, name) {
			return true
		}
	}
	return false
}

// maps reads them line by line: a process may have tens of thousands, with names of 4 KiB.
func (t Table) maps(pid int, name string) bool {
	f, err := os.Open(fmt.Sprintf("%s/%d/maps", t.root, pid))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if bytes.Contains(lines.Bytes(), []byte(name)) {
			return true
		}
	}
	return false
}

// variable is the value of a variable in an environment as /proc shows it; empty when it is not there.
func variable(started []byte, name string) string {
	for entry := range bytes.SplitSeq(started, []byte{0}) {
		if key, value, found := bytes.Cut(entry, []byte("=")); found && string(key) == name {
			return string(value)
		}
	}
	return ""
}
