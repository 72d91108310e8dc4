package evidence

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// CgroupMemory is the memory controller of the cgroup that this process is in.
type CgroupMemory struct {
	Version int    // 1 or 2; 0 when there is none to be read
	Dir     string // the cgroup's directory
}

// FindCgroupMemory finds the memory controller of this process's own cgroup under root, which is "/" except in tests.
func FindCgroupMemory(root string) CgroupMemory {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return CgroupMemory{}
	}
	// cgroups(7): hierarchy-ID:controllers:path, and 0::path for version 2.
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		m, file := CgroupMemory{Version: 1}, "memory.oom_control"
		switch {
		case fields[0] == "0" && fields[1] == "":
			m.Version, file = 2, "memory.events"
		case !hasWord(fields[1], "memory"):
			continue
		}
		for _, mount := range cgroupMounts(root, m.Version) {
			m.Dir = mount.directory(root, fields[2])
			if _, err := os.Stat(filepath.Join(m.Dir, file)); err == nil {
				return m
			}
		}
	}
	return CgroupMemory{}
}

// OOMKills is how many processes the kernel has killed for memory in this cgroup and those below it, ever. ok is
// false when the kernel does not say.
func (m CgroupMemory) OOMKills() (n int, ok bool) {
	switch m.Version {
	case 1:
		return counter(filepath.Join(m.Dir, "memory.oom_control"), "oom_kill")
	case 2:
		return counter(filepath.Join(m.Dir, "memory.events"), "oom_kill")
	}
	return 0, false
}

// Limit is the memory limit in bytes; ok is false when there is none, or none that can be read.
func (m CgroupMemory) Limit() (bytes int64, ok bool) {
	file := map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[m.Version]
	data, err := os.ReadFile(filepath.Join(m.Dir, file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil && n < 1<<60 // version 1 writes "no limit" as a huge number, version 2 as "max"
}

// KillsAll reports whether the kernel, when it kills for memory, kills the whole cgroup, gangrun included
// (memory.oom.group, which the kubelet sets on version 2).
func (m CgroupMemory) KillsAll() bool {
	data, err := os.ReadFile(filepath.Join(m.Dir, "memory.oom.group"))
	return err == nil && strings.TrimSpace(string(data)) == "1"
}

// mount is a line of proc_pid_mountinfo(5): the part of the hierarchy at which it is rooted, and where it is mounted.
type mount struct{ rooted, at string }

// directory is where the cgroup path is seen. Without a cgroup namespace a container sees only its own part of the
// hierarchy, under a mount that is rooted at its path.
func (m mount) directory(root, path string) string {
	if rel, err := filepath.Rel(m.rooted, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.Join(root, m.at, rel)
	}
	return filepath.Join(root, m.at)
}

func cgroupMounts(root string, version int) []mount {
	data, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return nil
	}
	var mounts []mount
	for line := range strings.Lines(string(data)) {
		before, after, found := strings.Cut(line, " - ")
		fields, fs := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(fs) < 3 {
			continue
		}
		if version == 2 && fs[0] == "cgroup2" || version == 1 && fs[0] == "cgroup" && hasWord(fs[2], "memory") {
			mounts = append(mounts, mount{rooted: fields[3], at: fields[4]})
		}
	}
	return mounts
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// counter reads the line "name value" of a flat keyed file.
func counter(file, name string) (int, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			n, err := strconv.Atoi(value)
			return n, err == nil
		}
	}
	return 0, false
}
