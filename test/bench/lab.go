package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// lab is what the measurements share.
type lab struct {
	ctx    context.Context // ends when the user has seen enough
	rounds int             // that the user asked for; 0 for each measurement's own number
	quick  bool
	nodes  int    // of the job whose rounds are measured; 0: of all sizes
	root   string // of the repository
	dir    string // temporary, for everything that is made here
	probe  string
	ours   []program         // gangrun, and other gangruns beside it
	peers  map[string]string // name → path of those that are there
}

// torchrunName is how the tables call the slow peer.
const torchrunName = "torchrun"

// dlroverName is how they call DLRover's, which runs with an older torch only.
const dlroverName = "dlrover-run"

// program is one of those that take turns. Its argv comes before the worker's.
type program struct {
	name string
	argv []string
}

func newLab(ctx context.Context, beside string) (*lab, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errors.New("the probe exists for x86-64 only")
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w; run this from within the repository", err)
	}
	dir, err := os.MkdirTemp("", "gangrun-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{ctx: ctx, root: strings.TrimSpace(string(root)), dir: dir, peers: map[string]string{}}
	if err := l.prepare(beside); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// prepare builds gangrun as it is released, and the probe, and looks for the peers.
func (l *lab) prepare(beside string) error {
	gangrun := filepath.Join(l.dir, "gangrun")
	l.probe = filepath.Join(l.dir, "probe")
	const tags = "urfave_cli_no_docs"
	if err := l.build(gangrun, "./cmd/gangrun", "-s -w", "-tags", tags); err != nil {
		return err
	}
	if err := l.build(l.probe, "./test/bench/probe", "-s -w -E main.entry"); err != nil {
		return err
	}
	l.ours = []program{{"gangrun", []string{gangrun, "run", "--"}}}
	for path := range strings.SplitSeq(beside, ",") {
		if path == "" {
			continue
		}
		full, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return fmt.Errorf("-beside %s: %w", path, err)
		}
		l.ours = append(l.ours, program{filepath.Base(path), []string{full, "run", "--"}})
	}
	for _, name := range []string{"tini", "dumb-init", "catatonit"} {
		l.find(name, name, "")
	}
	l.find(torchrunName, "torch", "bin/torchrun")
	l.find(dlroverName, "dlrover", "bin/dlrover-run")
	l.find(ftLauncherName, "nvrx", "bin/ft_launcher")
	return nil
}

func (l *lab) build(to, directory, ldflags string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags", ldflags, "-o", to}, flags...)
	cmd := exec.CommandContext(l.ctx, "go", append(args, directory)...)
	cmd.Dir = l.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", directory, err, out)
	}
	return nil
}

// find looks for a peer in the place that the installer names.
func (l *lab) find(name, piece, within string) {
	path := filepath.Join(l.place(piece), within)
	if _, err := os.Stat(path); err == nil {
		l.peers[name] = path
	}
}

// place is where the installer puts a piece, whether it is there or not.
func (l *lab) place(piece string) string {
	place, err := exec.Command(filepath.Join(l.root, "test/peers/install"), "--where", piece).Output()
	if err != nil {
		return "/nonexistent"
	}
	return string(bytes.TrimSpace(place))
}

// inits are the programs that run a command given after "--".
func (l *lab) inits() []program {
	var list []program
	for _, name := range []string{"tini", "dumb-init", "catatonit"} {
		if path := l.peers[name]; path != "" {
			list = append(list, program{name, []string{path, "--"}})
		}
	}
	return append(list, l.ours...)
}

// oursWith is gangrun, and the gangruns beside it, with more flags of run.
func (l *lab) oursWith(flags ...string) []program {
	var list []program
	for _, p := range l.ours {
		last := len(p.argv) - 1
		list = append(list, program{p.name, slices.Concat(p.argv[:last], flags, p.argv[last:])})
	}
	return list
}

// times is the number of rounds: what the user wants, else usual, or few when it has to be quick.
func (l *lab) times(usual, few int) int {
	switch {
	case l.rounds > 0:
		return l.rounds
	case l.quick:
		return few
	}
	return usual
}

// torchrun is torchrun with so many ranks, where it is there.
func (l *lab) torchrun(name string, ranks int) []program {
	path := l.peers[torchrunName]
	if path == "" {
		return nil
	}
	return []program{{name, []string{path, "--standalone", "--nproc-per-node", fmt.Sprint(ranks), "--no-python"}}}
}

// torchrunTimes is times for the slow peer.
func (l *lab) torchrunTimes(usual int) int { return min(l.times(usual, 1), usual) }

// torchrunsTurn spreads the slow peer's few rounds over those of all.
func (l *lab) torchrunsTurn(round, rounds, usual int) bool {
	return round%max(1, rounds/l.torchrunTimes(usual)) == 0
}

// environment is ours without what would configure a gangrun.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GANGRUN_") })
}
