// Package platform detects who started this container, by the variables that operators and schedulers set, so that nothing
// needs to be configured twice.
package platform

import (
	"regexp"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
)

// Kind is who started this container.
type Kind string

const (
	Alone      Kind = "none"       // no known one: one node
	PyTorchJob Kind = "PyTorchJob" // Kubeflow Training Operator v1
	TFJob      Kind = "TFJob"      // Kubeflow Training Operator v1
	TrainJob   Kind = "TrainJob"   // Kubeflow Trainer v2
	IndexedJob Kind = "IndexedJob" // a Kubernetes Job with completion indexes, also one of a JobSet
	SLURM      Kind = "SLURM"      // a step of a Slurm job
)

// Value is something that was read from the environment, and where.
type Value struct {
	Value string
	From  string // "MASTER_ADDR", "host name"; empty when the value is a default
}

// Platform is what the environment says.
type Platform struct {
	Kind Kind
	From string // the variables that tell
	Job  Value  // empty when nobody names it
	Node Value
	Role Value // of this node; empty when nobody says
	// Machine is what this container runs on; empty when nobody says.
	Machine Value
	// TaskHost is the name by which TF_CONFIG knows this node; empty when it does not.
	TaskHost string
	// Roles are the policies of roles, where more is known of them than that they restart with the gang.
	Roles map[string]rendezvous.RolePolicy
	Topology
}

// RetriesWithoutLimit reports whether the operator restarts a failed worker for ever whatever its limit says, so that
// a spent budget has to be reported as fatal to mean anything. Training Operator v1 counts no restarts of its own
// under restartPolicy ExitCode (kubeflow/trainer#2045).
func (p Platform) RetriesWithoutLimit() bool { return p.Kind == PyTorchJob || p.Kind == TFJob }

// Detect reads the environment through lookup, as os.LookupEnv does. host is the host name.
func Detect(lookup func(string) (string, bool), host string) Platform {
	e := environment(lookup)
	p := Platform{Kind: Alone, Node: Value{host, "host name"}}
	switch {
	case e.has("PET_NNODES") && e.has("PET_MASTER_ADDR") && !e.has("MASTER_ADDR"):
		// <job>-node-0-0.<job>
		p.Kind, p.From = TrainJob, "PET_NNODES, PET_MASTER_ADDR"
		p.Job = e.part("PET_MASTER_ADDR", `^(.+)-node-\d+-\d+\..`)
	case e.has("PET_NNODES") && (e.has("MASTER_ADDR") || e.has("PET_RDZV_ENDPOINT")):
		p.Kind, p.From = PyTorchJob, "PET_NNODES"
		p.Job = e.part("MASTER_ADDR", `^(.+)-(?:master|worker)-\d+$`)
		if p.Job.Value == "" {
			p.Job = e.part("PET_RDZV_ENDPOINT", `^(.+)-worker-\d+(?::\d+)?$`)
		}
	case e.has("PET_NNODES") && regexp.MustCompile(`-worker-\d+$`).MatchString(host):
		// A PyTorchJob of workers alone: the operator tells them how many they are, and not where to meet.
		p.Kind, p.From = PyTorchJob, "PET_NNODES, host name"
	case e.has("TF_CONFIG") && e.tfJob() != "":
		p.Kind, p.From = TFJob, "TF_CONFIG"
		p.Job = Value{e.tfJob(), "TF_CONFIG"}
	case e.has("JOB_COMPLETION_INDEX"):
		p.Kind, p.From = IndexedJob, "JOB_COMPLETION_INDEX"
		if p.Job = e.value("JOBSET_NAME"); p.Job.Value == "" {
			p.Job = Value{strings.TrimSuffix(host, "-"+e.get("JOB_COMPLETION_INDEX")), "host name"}
		}
	case e.has("SLURM_JOB_ID"):
		p.Kind, p.From = SLURM, "SLURM_JOB_ID"
		if p.Job = e.value("SLURM_JOB_NAME"); p.Job.Value == "" {
			p.Job = e.value("SLURM_JOB_ID")
		}
		if node := e.value("SLURMD_NODENAME"); node.Value != "" {
			p.Node, p.Machine = node, node
			if local := e.get("SLURM_LOCALID"); local != "" && local != "0" {
				p.Node.Value += "-" + local // several nodes of the job on one host
			}
		}
	}
	if p.Job.Value == "" {
		if id := e.value("PET_RDZV_ID"); id.Value != "none" { // torchrun's default is no name
			p.Job = id
		}
	}
	if config, ok := e.tfConfig(); ok && config.Task.Type != "" {
		p.Role, p.Roles = Value{strings.ToLower(config.Task.Type), "TF_CONFIG"}, config.Policies()
		p.TaskHost = config.host()
	} else if p.Kind == PyTorchJob {
		if m := regexp.MustCompile(`-(master|worker)-\d+$`).FindStringSubmatch(host); m != nil {
			p.Role = Value{m[1], "host name"}
		}
	}
	p.Topology = e.topology(p.Kind)
	return p
}

type environment func(string) (string, bool)

func (e environment) get(name string) string { v, _ := e(name); return v }

func (e environment) has(name string) bool { return e.get(name) != "" }

func (e environment) value(name string) Value {
	if v := e.get(name); v != "" {
		return Value{v, name}
	}
	return Value{}
}

// part is the first group of pattern in the variable's value.
func (e environment) part(name, pattern string) Value {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(e.get(name)); m != nil {
		return Value{m[1], name}
	}
	return Value{}
}
