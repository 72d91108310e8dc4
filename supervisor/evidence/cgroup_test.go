package evidence

import (
	"os"
	"path/filepath"
	"testing"
)

// tree makes a root directory with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindMemory(t *testing.T) {
	const v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	tests := []struct {
		name    string
		files   map[string]string
		version int
		kills   int
		limit   int64 // 0: none
		all     bool
	}{
		{"version 2 with a cgroup namespace", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/memory.events":    "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n",
			"sys/fs/cgroup/memory.max":       "134217728\n",
			"sys/fs/cgroup/memory.oom.group": "1\n",
		}, 2, 2, 134217728, true},
		{"version 2 on a host", map[string]string{
			"proc/self/cgroup": "0::/user.slice/job.scope\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/user.slice/job.scope/memory.events": "oom 0\noom_kill 0\n",
			"sys/fs/cgroup/user.slice/job.scope/memory.max":    "max\n",
		}, 2, 0, 0, false},
		{"version 1 in a container: the mount is rooted at the container's cgroup", map[string]string{
			"proc/self/cgroup": "12:cpu,cpuacct:/docker/abc\n11:memory:/docker/abc\n0::/docker/abc\n",
			"proc/self/mountinfo": "30 23 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n" +
				"31 23 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
			"sys/fs/cgroup/memory/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 1, 5, 0, false},
		{"both: version 2 is mounted without the memory controller", map[string]string{
			"proc/self/cgroup": "0::/\n9:memory:/kubepods/pod1/c1\n",
			"proc/self/mountinfo": "40 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
				"41 23 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/unified/cgroup.procs":                          "1\n",
			"sys/fs/cgroup/memory/kubepods/pod1/c1/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
			"sys/fs/cgroup/memory/kubepods/pod1/c1/memory.limit_in_bytes": "1048576\n",
		}, 1, 1, 1048576, false},
		{"nothing to be read", map[string]string{"proc/self/cgroup": "0::/\n"}, 0, 0, 0, false},
		{"nonsense", map[string]string{"proc/self/cgroup": "\n:\n0\n", "proc/self/mountinfo": " - \nx - y\n"}, 0, 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := FindCgroupMemory(tree(t, tt.files))
			kills, ok := m.OOMKills()
			if m.Version != tt.version || kills != tt.kills || ok != (tt.version != 0) {
				t.Errorf("version %d, %d kills, %v", m.Version, kills, ok)
			}
			if limit, ok := m.Limit(); ok != (tt.limit != 0) || ok && limit != tt.limit {
				t.Errorf("limit %d, %v", limit, ok)
			}
			if m.KillsAll() != tt.all {
				t.Errorf("kills all: %v", m.KillsAll())
			}
		})
	}
}
