package platform

import (
	"net"
	"strconv"
	"strings"
)

// Topology is what the environment says about the nodes of the job. The zero value is one node.
type Topology struct {
	Nodes Value // "4" or "2:4"; empty when nobody says
	// Bare is torchrun's number of nodes where no operator is known by its other variables, and BareRank torchrun's rank.
	Bare, BareRank Value
	Rank           Value // of this node, given by the operator; empty when it gives none
	Endpoint       Value // host[:port] at which the nodes can meet; empty when nobody says
	Backend        Value // what listens there, in torchrun's words; empty when nobody says
	RunUID         Value // of this run, where the operator has one
	// Unique is set where the operator never runs two containers with the same name at once.
	Unique bool
}

// topology reads what the operator says about the other nodes.
func (e environment) topology(kind Kind) Topology {
	var t Topology
	switch kind {
	case PyTorchJob, TrainJob:
		t.Nodes = e.value("PET_NNODES")
		t.Rank = e.value("PET_NODE_RANK")
		t.Endpoint, t.Backend = e.value("PET_RDZV_ENDPOINT"), e.value("PET_RDZV_BACKEND")
		if t.Endpoint.Value == "" {
			t.Endpoint = e.value("PET_MASTER_ADDR")
		}
		if t.Endpoint.Value == "" {
			t.Endpoint = e.value("MASTER_ADDR")
		}
		t.Unique = kind == PyTorchJob
	case TFJob:
		config, _ := e.tfConfig()
		t = config.topology()
	case IndexedJob:
		t.Rank = e.value("JOB_COMPLETION_INDEX")
	case SLURM:
		t = e.slurmTopology()
	}
	if t.Nodes.Value == "" {
		t.Bare, t.BareRank = e.value("PET_NNODES"), e.value("PET_NODE_RANK")
	}
	return t
}

// slurmTopology is that of a step: each task that srun starts is a node. A batch script by itself runs once, whatever
// was allocated.
func (e environment) slurmTopology() (t Topology) {
	if !e.has("SLURM_STEP_ID") {
		return t
	}
	t.Nodes, t.Rank = e.value("SLURM_NTASKS"), e.value("SLURM_PROCID")
	if hosts := e.value("SLURM_STEP_NODELIST"); hosts.Value != "" {
		t.Endpoint = Value{firstHost(hosts.Value), hosts.From}
	}
	t.RunUID = e.value("SLURM_JOB_ID")
	if n := e.get("SLURM_RESTART_COUNT"); n != "" && t.RunUID.Value != "" {
		t.RunUID.Value += "." + n
	}
	return t
}

// firstHost is the first host of a list in Slurm's notation: "rack1n[03-05,7],login" begins with rack1n03.
func firstHost(list string) string {
	end := strings.IndexAny(list, "[,")
	switch {
	case end < 0:
		return list
	case list[end] == ',':
		return list[:end]
	}
	inside, after, _ := strings.Cut(list[end+1:], "]")
	number, _, _ := strings.Cut(inside, ",")
	number, _, _ = strings.Cut(number, "-")
	after, _, _ = strings.Cut(after, ",") // a suffix, as in n[1-2]-ib
	return list[:end] + number + after
}

// OneNode reports whether a number of nodes is that of one, or not given. What cannot be read is not.
func (v Value) OneNode() bool {
	least, most, elastic := strings.Cut(v.Value, ":")
	if !elastic {
		most = least
	}
	n, err := strconv.Atoi(most)
	_, leastErr := strconv.Atoi(least)
	return v.Value == "" || err == nil && leastErr == nil && n <= 1
}

// Host is the endpoint's host, and its port or 0.
func (t Topology) Host() (string, int) {
	host, port, err := net.SplitHostPort(t.Endpoint.Value)
	if err != nil {
		return t.Endpoint.Value, 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return host, 0
	}
	return host, n
}
