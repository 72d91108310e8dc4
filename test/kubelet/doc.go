// Package kubelet runs pods as a kubelet does, for tests in which a controller makes pods and gangrun has to live in
// them: each pod has an address of its own in a network of its own, names that resolve as a cluster's do, and containers
// that runc starts, with a termination log that is read as the kubelet reads it. It knows nothing of Kubernetes' API: a
// test translates.
//
// Only root can do this, on Linux. Init containers, probes and volumes other than directories of this machine are not
// there.
package kubelet

import (
	"fmt"
	"strings"
	"time"
)

// Pod is what to run.
type Pod struct {
	Name     string
	Hostname string // empty for the pod's name
	// Subdomain, if set, makes <Hostname>.<Subdomain> resolve while the pod runs, as a headless service of that name does.
	Subdomain     string
	Containers    []Container
	RestartPolicy RestartPolicy
	RestartDelay  time.Duration // before a container is started again in its pod
	GracePeriod   time.Duration // between SIGTERM and SIGKILL; 0 for 30 s
}

// RestartPolicy says which containers are started again in their pod.
type RestartPolicy string

const (
	Never     RestartPolicy = "Never"
	OnFailure RestartPolicy = "OnFailure"
	Always    RestartPolicy = "Always"
)

// Container is one container of a pod. Its root filesystem is a small Debian with python3, with the gangrun under test at
// /usr/local/bin/gangrun and an empty /tmp.
type Container struct {
	Name         string
	Command      []string
	Args         []string // after Command
	Env          []string // NAME=value; of two with one name the later counts
	WorkingDir   string
	Mounts       []Mount
	ReadOnlyRoot bool
	User         int   // and group
	Memory       int64 // limit in bytes; 0 for none
}

// Mount is a file or directory of this machine in a container.
type Mount struct {
	Host, Path string
	ReadOnly   bool
}

// Phase is where a pod stands.
type Phase string

const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
)

// Status is what a kubelet reports of a pod.
type Status struct {
	Phase      Phase
	IP         string
	Containers []ContainerStatus // in the order of the pod's
}

// ContainerStatus is one container's. It is waiting to be started while it neither runs nor is terminated.
type ContainerStatus struct {
	Name         string
	StartedAt    time.Time   // while it runs
	Terminated   *Terminated // nil unless it is over
	Last         *Terminated // the end before this one
	RestartCount int
}

// Running reports whether the container runs.
func (s ContainerStatus) Running() bool { return !s.StartedAt.IsZero() }

// Terminated is how a container ended.
type Terminated struct {
	ExitCode              int
	Reason                string // Completed, Error, OOMKilled, or StartError when runc could not start it
	Message               string
	StartedAt, FinishedAt time.Time
}

func (t *Terminated) String() string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("%d %s %q", t.ExitCode, t.Reason, strings.TrimSpace(t.Message))
}
