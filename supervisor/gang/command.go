package gang

import (
	"fmt"
	"path/filepath"

	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor"
)

// Command is a gang of one: a command that is run as it is.
type Command struct {
	Argv   []string
	Env    []string
	Prefix string // before each line on the console; empty for none
	LogDir string // keeps the output as round_<n>/0/stdout.log and stderr.log; empty for none
	// Several tells that the node is one of several: what the operator has told the command is brought up to date in
	// each round.
	Several bool
	Job     string
}

// Workers is the command's one worker in the given round.
func (c Command) Workers(start *agent.Start) ([]supervisor.Worker, error) {
	w := supervisor.Worker{
		Rank: -1, LocalRank: -1, Argv: c.Argv, Env: c.Env, Terminal: true,
		Stdout: supervisor.Sink{Prefix: c.Prefix}, Stderr: supervisor.Sink{Prefix: c.Prefix},
	}
	if c.Several {
		var err error
		if w.Env, w.Argv, err = c.refresh(start); err != nil {
			return nil, err
		}
	}
	keep(&w, c.LogDir, start.Round.Number, 0)
	return []supervisor.Worker{w}, nil
}

// keep has the worker's output kept as <dir>/round_<n>/<local rank>/stdout.log and stderr.log.
func keep(w *supervisor.Worker, dir string, round, localRank int) {
	if dir == "" {
		return
	}
	directory := filepath.Join(dir, fmt.Sprintf("round_%d", round), fmt.Sprint(localRank))
	w.Stdout.File = filepath.Join(directory, "stdout.log")
	w.Stderr.File = filepath.Join(directory, "stderr.log")
}
