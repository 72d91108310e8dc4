package kubelet

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/test/harness/oci"
)

// capabilities are those that container runtimes leave to a root user.
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETGID",
	"CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// spec is the instance's configuration.
func (i *instance) spec() oci.Spec {
	c, pod := i.container, i.pod.Pod
	mounts := []oci.Mount{
		{Path: "/tmp"},
		{Host: i.pod.cluster.gangrun, Path: "/usr/local/bin/gangrun", ReadOnly: true},
		{Host: i.log, Path: oci.Log},
		{Host: filepath.Join(i.dir, "hosts"), Path: "/etc/hosts"},
		{Host: filepath.Join(i.dir, "resolv.conf"), Path: "/etc/resolv.conf"},
	}
	for _, m := range c.Mounts {
		mounts = append(mounts, oci.Mount{Host: m.Host, Path: m.Path, ReadOnly: m.ReadOnly})
	}
	var may []string // a user other than root has none
	if c.User == 0 {
		may = capabilities
	}
	return oci.Spec{
		ID: i.id, Hostname: pod.Hostname, Root: filepath.Join(i.dir, "root"), ReadOnly: c.ReadOnlyRoot, Mounts: mounts,
		User: c.User, Args: slices.Concat(c.Command, c.Args), Dir: c.WorkingDir, Memory: c.Memory, Privileges: may,
		Env: environment(slices.Concat([]string{
			oci.Path, "HOSTNAME=" + pod.Hostname,
			"KUBERNETES_SERVICE_HOST=" + i.pod.cluster.Host(), "KUBERNETES_SERVICE_PORT=443",
		}, c.Env)),
		Namespaces: map[string]string{"network": "/run/netns/" + i.pod.network},
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
