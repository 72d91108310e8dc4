// Package oci runs containers for tests: a part of the OCI runtime specification 1.0 that is as a kubelet asks for it,
// and runc.
package oci

import (
	"cmp"
	"encoding/json"
)

// Path is the PATH that container runtimes set where an image says nothing.
const Path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Spec is a container's configuration. Every container has /proc, /dev with a termination log or without, /dev/pts,
// /dev/shm, /sys and its cgroup, and namespaces of its own.
type Spec struct {
	ID         string // of the container and of its cgroup
	Hostname   string // "box" if empty
	Root       string // the root filesystem, outside
	ReadOnly   bool   // the root filesystem
	Mounts     []Mount
	User       int // and group
	Args       []string
	Env        []string
	Dir        string // the working directory, / if empty
	Memory     int64  // the limit in bytes, 0 for none
	OOMScore   int
	Privileges []string          // the capabilities that the process has
	NoGain     bool              // no program can gain any
	Seccomp    bool              // no system call but those that container runtimes allow by themselves
	Namespaces map[string]string // paths of those that the container does not have for its own, by their type
}

// Mount is a file or a directory of this machine in the container; or a tmpfs, if Host is empty.
type Mount struct {
	Host, Path string
	ReadOnly   bool
}

type object = map[string]any

// JSON is the content of config.json.
func (s Spec) JSON() ([]byte, error) {
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "mode=755", "size=65536k"}},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666"}},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": []string{"nosuid", "nodev", "mode=1777", "size=65536k"}},
		{"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
	}
	for _, m := range s.Mounts {
		mounts = append(mounts, m.object())
	}
	resources := object{}
	if s.Memory > 0 {
		resources["memory"] = object{"limit": s.Memory, "swap": s.Memory}
	}
	var namespaces []object
	for _, kind := range []string{"pid", "mount", "ipc", "uts", "network"} {
		n := object{"type": kind}
		if path := s.Namespaces[kind]; path != "" {
			n["path"] = path
		}
		namespaces = append(namespaces, n)
	}
	linux := object{"cgroupsPath": "/" + s.ID, "resources": resources, "namespaces": namespaces}
	if s.Seccomp {
		linux["seccomp"] = seccomp()
	}
	may := append([]string{}, s.Privileges...) // [] and not null
	return json.MarshalIndent(object{
		"ociVersion": "1.0.2",
		"hostname":   cmp.Or(s.Hostname, "box"),
		"root":       object{"path": s.Root, "readonly": s.ReadOnly},
		"mounts":     mounts,
		"process": object{
			"user":            object{"uid": s.User, "gid": s.User},
			"args":            s.Args,
			"env":             s.Env,
			"cwd":             cmp.Or(s.Dir, "/"),
			"noNewPrivileges": s.NoGain,
			"oomScoreAdj":     s.OOMScore,
			"capabilities":    object{"bounding": may, "effective": may, "permitted": may},
		},
		"linux": linux,
	}, "", "  ")
}

func (m Mount) object() object {
	if m.Host == "" {
		return object{"destination": m.Path, "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "nodev", "mode=1777"}}
	}
	mode := "rw"
	if m.ReadOnly {
		mode = "ro"
	}
	return object{"destination": m.Path, "type": "bind", "source": m.Host, "options": []string{"rbind", mode}}
}
