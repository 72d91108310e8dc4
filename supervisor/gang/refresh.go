package gang

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/platform"
	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// refresh is the command's environment and command line for one round: the variables by which operators tell torchrun
// and torch.distributed where the others are, with what holds in this round; and, since torchrun's own flags would
// outrank those, the same again as flags before its script.
func (c Command) refresh(start *agent.Start) (env, argv []string, err error) {
	round := start.Round
	nodes, rank := fmt.Sprint(len(round.Members)), fmt.Sprint(start.Rank)
	port := fmt.Sprint(round.MasterPort)
	id := fmt.Sprintf("%s-%s-%d", c.Job, round.RunUID, round.Number)
	env = slices.Clone(c.Env)
	for _, v := range [][2]string{
		{"MASTER_ADDR", round.MasterAddr}, {"MASTER_PORT", port},
		{"PET_MASTER_ADDR", round.MasterAddr}, {"PET_MASTER_PORT", port},
		{"PET_NNODES", nodes}, {"PET_NODE_RANK", rank}, {"PET_MAX_RESTARTS", "0"},
		{"PET_RDZV_BACKEND", "static"}, {"PET_RDZV_ENDPOINT", round.MasterAddr + ":" + port}, {"PET_RDZV_ID", id},
	} {
		env = environ.Set(env, v[0], v[1])
	}
	if environ.Get(env, "PET_STANDALONE") != "" || slices.Contains(env, "PET_STANDALONE=") {
		env = environ.Set(env, "PET_STANDALONE", "0")
	}
	// The operator counts one process for each node here; who starts several by itself has other variables.
	if n, err := strconv.Atoi(environ.Get(env, "WORLD_SIZE")); err == nil && n > 0 {
		env = environ.Set(environ.Set(env, "WORLD_SIZE", nodes), "RANK", rank)
	}
	if config := environ.Get(env, "TF_CONFIG"); config != "" {
		names := make([]string, len(round.Members))
		for i, m := range round.Members {
			names[i] = m.Name
		}
		if config, err = platform.Only(config, names); err != nil {
			return nil, nil, err
		}
		env = environ.Set(env, "TF_CONFIG", config)
	}
	return env, c.override(round.MasterAddr, port, nodes, rank, id), nil
}

// override puts this round's coordinates before the script of a torchrun that the user runs. A later flag outranks an
// earlier one there.
func (c Command) override(addr, port, nodes, rank, id string) []string {
	at := torchrunAt(c.Argv)
	if at < 0 {
		return c.Argv
	}
	lookup := func(name string) (string, bool) {
		for _, e := range c.Env {
			if value, found := strings.CutPrefix(e, name+"="); found {
				return value, true
			}
		}
		return "", false
	}
	o, err := torchrun.Parse(c.Argv[at:], lookup, nil)
	if err != nil || o.Help {
		return c.Argv // torchrun will say so itself
	}
	insert := at + o.InsertAt
	var before []string
	for _, arg := range c.Argv[:insert] {
		if arg != "--standalone" { // a switch that nothing takes back
			before = append(before, arg)
		}
	}
	return slices.Concat(before, []string{
		"--rdzv-backend=static", "--rdzv-endpoint=" + addr + ":" + port, "--rdzv-id=" + id,
		"--master-addr=" + addr, "--master-port=" + port, "--nnodes=" + nodes, "--node-rank=" + rank, "--max-restarts=0",
	}, c.Argv[insert:])
}

// torchrunAt is where torchrun's own arguments begin in a command line, -1 if it is not torchrun's.
func torchrunAt(argv []string) int {
	if filepath.Base(argv[0]) == "torchrun" {
		return 1
	}
	for i := 1; i+1 < len(argv) && i < 8; i++ {
		if argv[i] == "-m" && argv[i+1] == "torch.distributed.run" && strings.HasPrefix(filepath.Base(argv[0]), "python") {
			return i + 2
		}
	}
	if len(argv) > 1 && filepath.Base(argv[1]) == "torchrun" && strings.HasPrefix(filepath.Base(argv[0]), "python") {
		return 2 // a wrapper script that is run by its Python
	}
	return -1
}
