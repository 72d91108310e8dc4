package torchrun

import (
	"strconv"
	"strings"
)

// Place is where a node stands in a round.
type Place struct {
	NodeRank, Nodes     int
	BaseRank, World     int // the global rank of local rank 0, and the number of all workers
	RoleBase, RoleWorld int // the same among the nodes of this role
	LocalWorld          int // the workers of this node
	MasterAddr          string
	MasterPort          int
	RestartCount        int
	MaxRestarts         int
	RunID, Role         string
}

// Even is the place of a node among nodes that all run the same number of workers and have the same role.
func Even(nodeRank, nodes, nproc int) Place {
	return Place{
		NodeRank: nodeRank, Nodes: nodes, LocalWorld: nproc,
		BaseRank: nodeRank * nproc, World: nodes * nproc, RoleBase: nodeRank * nproc, RoleWorld: nodes * nproc,
	}
}

// Environment is a worker's: what was inherited, overlaid with what torchrun sets; no name comes twice. errorFile is
// "" when there are no log files. TORCHELASTIC_USE_AGENT_STORE is False, since rank 0 hosts the store; torchrun itself
// has a store and says True.
//
// The error tells of a --virtual-local-rank for which the visible devices do not suffice.
func Environment(p Place, o Options, localRank int, inherited []string, errorFile string) ([]string, error) {
	env := overlay{at: map[string]int{}}
	for _, entry := range inherited {
		if name, value, ok := strings.Cut(entry, "="); ok && !env.has(name) {
			env.set(name, value)
		}
	}
	for _, v := range []struct {
		name  string
		value int
	}{
		{"RANK", p.BaseRank + localRank},
		{"GROUP_RANK", p.NodeRank},
		{"ROLE_RANK", p.RoleBase + localRank},
		{"LOCAL_RANK", localRank},
		{"LOCAL_WORLD_SIZE", p.LocalWorld},
		{"WORLD_SIZE", p.World},
		{"GROUP_WORLD_SIZE", p.Nodes},
		{"ROLE_WORLD_SIZE", p.RoleWorld},
		{"MASTER_PORT", p.MasterPort},
		{"TORCHELASTIC_RESTART_COUNT", p.RestartCount},
		{"TORCHELASTIC_MAX_RESTARTS", p.MaxRestarts},
	} {
		env.set(v.name, strconv.Itoa(v.value))
	}
	env.set("ROLE_NAME", p.Role)
	env.set("MASTER_ADDR", p.MasterAddr)
	env.set("TORCHELASTIC_RUN_ID", p.RunID)
	env.set("TORCHELASTIC_USE_AGENT_STORE", "False")
	env.set("TORCHELASTIC_ERROR_FILE", errorFile)
	env.set("TORCHELASTIC_SIGNALS_TO_HANDLE", strings.Join(o.Signals, ","))
	if !env.has("TORCH_NCCL_ASYNC_ERROR_HANDLING") {
		env.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
	}
	if p.LocalWorld > 1 && !env.has("OMP_NUM_THREADS") {
		env.set("OMP_NUM_THREADS", "1")
	}
	if o.VirtualLocalRank {
		if err := env.virtual(o, localRank); err != nil {
			return nil, err
		}
	}
	return env.entries, nil
}

// overlay is an environment in which each name stands once, where it was first set.
type overlay struct {
	entries []string
	at      map[string]int
}

func (e *overlay) has(name string) bool {
	_, ok := e.at[name]
	return ok
}

func (e *overlay) get(name string) (string, bool) {
	at, ok := e.at[name]
	if !ok {
		return "", false
	}
	return e.entries[at][len(name)+1:], true
}

func (e *overlay) set(name, value string) {
	at, ok := e.at[name]
	if !ok {
		at = len(e.entries)
		e.at[name] = at
		e.entries = append(e.entries, "")
	}
	e.entries[at] = name + "=" + value
}

// virtual gives a worker LOCAL_RANK 0 and its one device, taken from what is visible here. HIP_VISIBLE_DEVICES goes
// before CUDA_VISIBLE_DEVICES, as it does in ROCm; both are set then.
func (e *overlay) virtual(o Options, localRank int) error {
	e.set("LOCAL_RANK", "0")
	from := "HIP_VISIBLE_DEVICES"
	visible, set := e.get(from)
	hip := visible != ""
	if !hip {
		from = "CUDA_VISIBLE_DEVICES"
		visible, set = e.get(from)
	}
	device := strconv.Itoa(localRank)
	if set {
		devices := strings.Split(visible, ",")
		if localRank >= len(devices) {
			return wrong(o.from("virtual-local-rank"), "local rank %d needs a device of its own, and %s=%s has %d",
				localRank, from, visible, len(devices))
		}
		device = trim(devices[localRank])
	}
	e.set("CUDA_VISIBLE_DEVICES", device)
	if hip {
		e.set("HIP_VISIBLE_DEVICES", device)
	}
	return nil
}
