package gang

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/torchrun"
)

// Torchrun is this node's ranks, as a command line of torchrun asks for them.
type Torchrun struct {
	Options     torchrun.Options
	NProc       int
	RunID       string
	MaxRestarts int // restarts without progress, for TORCHELASTIC_MAX_RESTARTS
	Python      string
	Env         []string
	Host        string // this machine's name, for prefixes and reports
	// Terminal hands the terminal to the rank, when there is only one: a debugger works in it.
	Terminal bool
	// Brief leaves torchrun's words about the rank that caused a failure to the report: the verdict has just named it.
	Brief bool
	Log   *slog.Logger

	directory string // of this run's logs; empty for none
	own       string // the temporary directory that was made for it; empty when there was no need
	last      supervisor.Round
}

// MakeDirectory makes the directory of this run's logs: where it was asked for, or in a temporary one. A machine without a
// temporary directory trains without; the error then says that output which was to go to files there does not.
func (t *Torchrun) MakeDirectory() error {
	if t.Options.LogDir == torchrun.NoLogs {
		return nil
	}
	base, err := t.Options.LogDir, error(nil)
	if base == "" {
		if base, err = os.MkdirTemp("", torchrun.RootPattern); err == nil {
			t.own = base
		}
	}
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err == nil {
		err = os.MkdirAll(base, 0o755)
	}
	if err == nil {
		t.directory, err = os.MkdirTemp(base, torchrun.RunPattern(t.RunID))
	}
	if from, _ := t.Options.FilesFrom(t.NProc); t.Options.LogDir == "" && from == "" {
		return nil
	}
	return err
}

// Directory is where this run's logs are; empty for none.
func (t *Torchrun) Directory() string { return t.directory }

// RemoveEmpty removes the temporary directory if no rank has left anything in it.
func (t *Torchrun) RemoveEmpty() {
	if t.own == "" {
		return
	}
	empty := true
	_ = filepath.WalkDir(t.own, func(_ string, d fs.DirEntry, err error) error {
		empty = empty && err == nil && d.IsDir()
		return nil
	})
	if empty {
		_ = os.RemoveAll(t.own)
	}
}

// Workers makes this node's ranks of a round. An error is about devices that are not there.
func (t *Torchrun) Workers(start *agent.Start) ([]supervisor.Worker, error) {
	place := t.place(start)
	attempt := ""
	if t.directory != "" {
		attempt = filepath.Join(t.directory, torchrun.AttemptDirectory(start.Round.Number, t.taken))
	}
	workers := make([]supervisor.Worker, t.NProc)
	for local := range workers {
		errorFile := t.makeWorkerDirectory(attempt, local)
		env, err := torchrun.Environment(place, t.Options, local, t.Env, errorFile)
		if err != nil {
			return nil, err
		}
		w := supervisor.Worker{
			Rank: place.BaseRank + local, LocalRank: local, Env: env, ErrorFile: errorFile,
			Argv:     torchrun.Command(t.Options, t.Python, local),
			Terminal: t.Terminal && t.NProc == 1, Session: !t.Terminal || t.NProc > 1,
		}
		stdout, stderr := t.Options.Sinks(local)
		prefix := t.Options.LinePrefix(w.Rank, local, t.Host)
		w.Stdout = t.sink(stdout, attempt, local, torchrun.StdoutLog, prefix)
		w.Stderr = t.sink(stderr, attempt, local, torchrun.StderrLog, prefix)
		w.Stdout.Filter = filter(stdout, attempt, torchrun.FilteredStdout, t.Options.StdoutFilters)
		w.Stderr.Filter = filter(stderr, attempt, torchrun.FilteredStderr, t.Options.StderrFilters)
		workers[local] = w
	}
	return workers, nil
}

func (t *Torchrun) taken(name string) bool {
	_, err := os.Lstat(filepath.Join(t.directory, name))
	return err == nil
}

// makeWorkerDirectory makes the directory of a rank, as torchrun does whether or not something will be kept in it, and
// returns where the rank's error file goes.
func (t *Torchrun) makeWorkerDirectory(attempt string, local int) string {
	if attempt == "" {
		return ""
	}
	directory := torchrun.WorkerDirectory(attempt, local)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Log.Warn("no directory for logs and error files", "err", err)
		return ""
	}
	return filepath.Join(directory, torchrun.ErrorFile)
}

// sink is one of a rank's streams. Without a prefix its lines are kept whole when it is not the only rank.
func (t *Torchrun) sink(s torchrun.Sink, attempt string, local int, file, prefix string) supervisor.Sink {
	out := supervisor.Sink{Hidden: !s.Console}
	switch {
	case s.Prefix:
		out.Prefix = prefix
	case t.NProc > 1:
		out.Lines = true
	}
	if s.File && attempt != "" {
		out.File = filepath.Join(torchrun.WorkerDirectory(attempt, local), file)
	}
	return out
}

// filter keeps chosen lines of a stream that --tee shows.
func filter(s torchrun.Sink, attempt, file string, contains []string) *supervisor.Filter {
	if len(contains) == 0 || !s.Prefix || attempt == "" {
		return nil
	}
	return &supervisor.Filter{File: filepath.Join(attempt, file), Contains: contains}
}

// place is where this node stands in the round.
func (t *Torchrun) place(start *agent.Start) torchrun.Place {
	round, rank := start.Round, start.Rank
	world, first := round.World(rank)
	roleWorld, roleFirst := roleOf(round, rank)
	return torchrun.Place{
		NodeRank: rank, Nodes: len(round.Members), LocalWorld: t.NProc,
		BaseRank: first, World: world, RoleBase: roleFirst, RoleWorld: roleWorld,
		MasterAddr: round.MasterAddr, MasterPort: round.MasterPort,
		RestartCount: round.Number, MaxRestarts: t.MaxRestarts, RunID: t.RunID, Role: t.Options.Role,
	}
}

// roleOf is the number of workers among the members with the role of this one, and the first of them that is here.
func roleOf(round *rendezvous.Round, rank int) (world, first int) {
	for i, m := range round.Members {
		if m.Role != round.Members[rank].Role {
			continue
		}
		if i == rank {
			first = world
		}
		world += m.Slots
	}
	return world, first
}
