package gang

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/port"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// Framework is whose variables tell a rank about the others.
type Framework string

const (
	Torch Framework = "torch" // torchrun's variables
	TF    Framework = "tf"    // TF_CONFIG, as MultiWorkerMirroredStrategy wants it
	JAX   Framework = "jax"   // what jax.distributed.initialize() finds by itself
	None  Framework = "none"  // nothing but GANGRUN_ variables and RANK
)

// Local is several ranks of one command on this machine.
type Local struct {
	Argv      []string
	Env       []string
	Ranks     int
	Framework Framework
	TTYRank   int      // has the terminal; -1 for none
	Only      []int    // ranks that are shown on the console; nil for all
	PerRank   []string // before the command of each rank, such as gdb --args
	LogDir    string   // keeps each rank's output as round_<n>/<rank>/stdout.log and stderr.log; empty for none
	// ColourOut and ColourErr give the prefix of the two outputs a colour for each rank.
	ColourOut, ColourErr bool

	MaxRestarts int // restarts without progress, for TORCHELASTIC_MAX_RESTARTS

	ports []*port.Port // of the round's TensorFlow workers
}

// Workers makes the ranks of the given round, with new ports. It fails where there is no free port.
func (l *Local) Workers(start *agent.Start) ([]supervisor.Worker, error) {
	round := start.Round.Number
	if err := l.newPorts(); err != nil {
		return nil, err
	}
	workers := make([]supervisor.Worker, l.Ranks)
	for rank := range workers {
		hidden := l.Only != nil && !slices.Contains(l.Only, rank)
		w := supervisor.Worker{
			Rank: rank, LocalRank: rank, Argv: l.command(rank), Env: l.environment(rank, start.Round),
			Stdout: supervisor.Sink{Prefix: l.prefix(rank, l.ColourOut), Lines: true, Hidden: hidden},
			Stderr: supervisor.Sink{Prefix: l.prefix(rank, l.ColourErr), Lines: true, Hidden: hidden},
			// A rank that does not own the terminal cannot get in the way of the one that does: it is in another session.
			Session: rank != l.TTYRank, NoInput: l.TTYRank >= 0 && rank != l.TTYRank,
		}
		keep(&w, l.LogDir, round, rank)
		if rank == l.TTYRank {
			w.Terminal = true
			w.Stdout, w.Stderr = supervisor.Sink{}, supervisor.Sink{} // as it would be without gangrun
		}
		workers[rank] = w
	}
	return workers, nil
}

// command is the command line of one rank. A debugger is for the rank that has the terminal.
func (l *Local) command(rank int) []string {
	if l.TTYRank < 0 || rank == l.TTYRank {
		return slices.Concat(l.PerRank, l.Argv)
	}
	argv, _ := WithoutDebugger(l.Argv)
	if debugs(l.PerRank) {
		return argv
	}
	return slices.Concat(l.PerRank, argv)
}

// newPorts gives back the ports of the last round and reserves those of the next.
func (l *Local) newPorts() error {
	for _, p := range l.ports {
		p.Release()
	}
	l.ports = nil
	if l.Framework != TF {
		return nil
	}
	for range l.Ranks {
		p, err := port.Reserve(0)
		if err != nil {
			return err
		}
		l.ports = append(l.ports, p)
	}
	return nil
}

// environment is what one rank is told. PYTHONUNBUFFERED is for the person who watches: on a pipe, Python holds lines back
// until it has some thousand characters.
func (l *Local) environment(rank int, round *rendezvous.Round) []string {
	env := slices.Clone(l.Env)
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PYTHONUNBUFFERED=") }) {
		env = append(env, "PYTHONUNBUFFERED=1")
	}
	switch l.Framework {
	case Torch:
		return l.torch(env, rank, round)
	case TF:
		return environ.Set(env, "TF_CONFIG", l.tfConfig(rank))
	case JAX:
		return l.jax(env, rank, round)
	}
	return environ.Set(environ.Set(env, "RANK", fmt.Sprint(rank)), "WORLD_SIZE", fmt.Sprint(l.Ranks))
}

// torch is what torchrun would tell the rank.
func (l *Local) torch(env []string, rank int, round *rendezvous.Round) []string {
	place := torchrun.Even(0, 1, l.Ranks)
	place.MasterAddr, place.MasterPort = round.MasterAddr, round.MasterPort
	place.RestartCount, place.MaxRestarts, place.RunID, place.Role = round.Number, l.MaxRestarts, "local", "default"
	options := torchrun.Options{Signals: []string{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"}}
	env, err := torchrun.Environment(place, options, rank, env, "")
	if err != nil {
		panic(err) // only virtual local ranks can fail
	}
	return env
}

// tfConfig is the cluster of workers as TFConfigClusterResolver reads it.
func (l *Local) tfConfig(rank int) string {
	type task struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	config := struct {
		Cluster map[string][]string `json:"cluster"`
		Task    task                `json:"task"`
	}{map[string][]string{"worker": {}}, task{"worker", rank}}
	for _, p := range l.ports {
		config.Cluster["worker"] = append(config.Cluster["worker"], fmt.Sprintf("%s:%d", loopback, p.Number))
	}
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(text)
}

// jax makes a bare jax.distributed.initialize() find the others. JAX reads the number of processes and the id of its own
// from no variable of its own; it takes them from those of Slurm (jax/_src/clusters/slurm_cluster.py), and the address
// from its own variable before it would look at Slurm's list of hosts. The variables of that name are for programs that pass them on by
// themselves, as those made for Kubeflow Trainer do.
func (l *Local) jax(env []string, rank int, round *rendezvous.Round) []string {
	for _, v := range [][2]string{
		{"JAX_COORDINATOR_ADDRESS", fmt.Sprintf("%s:%d", round.MasterAddr, round.MasterPort)},
		{"JAX_NUM_PROCESSES", fmt.Sprint(l.Ranks)},
		{"JAX_PROCESS_ID", fmt.Sprint(rank)},
		{"SLURM_JOB_ID", "1"},
		{"SLURM_STEP_NODELIST", "localhost"},
		{"SLURM_NTASKS", fmt.Sprint(l.Ranks)},
		{"SLURM_PROCID", fmt.Sprint(rank)},
		{"SLURM_LOCALID", fmt.Sprint(rank)},
	} {
		env = environ.Set(env, v[0], v[1])
	}
	return env
}

// loopback is where the ranks of one machine meet.
const loopback = "127.0.0.1"

// colours tell the ranks apart: six that are readable on black and on white, without red, which is for errors.
var colours = []string{"36", "33", "35", "32", "34", "96"}

func (l *Local) prefix(rank int, colour bool) string {
	text := fmt.Sprintf("[%*d]", len(fmt.Sprint(l.Ranks-1)), rank)
	if colour {
		text = "\x1b[" + colours[rank%len(colours)] + "m" + text + "\x1b[0m"
	}
	return text + " "
}
