package kubelet

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

type object = map[string]any

// capabilities are those that container runtimes leave to a root user.
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETGID",
	"CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// spec is the instance's configuration (OCI runtime specification 1.0).
func (i *instance) spec() object {
	c, pod := i.container, i.pod.Pod
	bind := func(host, path string, options ...string) object {
		return object{"destination": path, "type": "bind", "source": host, "options": append([]string{"rbind"}, options...)}
	}
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=65536k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"nosuid", "nodev", "mode=1777", "size=65536k"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/tmp", "type": "tmpfs", "source": "tmp", "options": []string{"nosuid", "nodev", "mode=1777"}},
		bind(i.pod.cluster.gangrun, "/usr/local/bin/gangrun", "ro"),
		bind(i.log, "/dev/termination-log", "rw"),
		bind(filepath.Join(i.dir, "hosts"), "/etc/hosts", "rw"),
		bind(filepath.Join(i.dir, "resolv.conf"), "/etc/resolv.conf", "rw"),
	}
	for _, m := range c.Mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		mounts = append(mounts, bind(m.Host, m.Path, mode))
	}
	resources := object{}
	if c.Memory > 0 {
		resources["memory"] = object{"limit": c.Memory, "swap": c.Memory}
	}
	may := []string{} // a user other than root has none
	if c.User == 0 {
		may = capabilities
	}
	return object{
		"ociVersion": "1.0.2",
		"hostname":   pod.Hostname,
		"root":       object{"path": filepath.Join(i.dir, "root"), "readonly": c.ReadOnlyRoot},
		"mounts":     mounts,
		"process": object{
			"user": object{"uid": c.User, "gid": c.User},
			"args": slices.Concat(c.Command, c.Args),
			"env": environment(slices.Concat([]string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME=" + pod.Hostname,
				"KUBERNETES_SERVICE_HOST=" + i.pod.cluster.Host(), "KUBERNETES_SERVICE_PORT=443",
			}, c.Env)),
			"cwd":          cmp.Or(c.WorkingDir, "/"),
			"capabilities": object{"bounding": may, "effective": may, "permitted": may},
		},
		"linux": object{
			"cgroupsPath": "/" + i.id,
			"resources":   resources,
			"namespaces": []object{
				{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network", "path": "/run/netns/" + i.pod.network},
			},
		},
	}
}

// environment is the variables, of each name the last one.
func environment(all []string) (env []string) {
	at := map[string]int{}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if n, twice := at[name]; twice {
			env[n] = v
			continue
		}
		at[name] = len(env)
		env = append(env, v)
	}
	return env
}
