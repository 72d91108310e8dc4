package command

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/gang"
)

// resuming is what the flags say about checkpoints.
type resuming struct {
	dir string
	formatFlags
	policy               checkpoint.Policy
	require              string
	maxLost, minProgress int
	quarantine           bool
	timeout              time.Duration
	args                 []string // appended to the workers' command line
	own                  string   // who finds the checkpoint: resumeChosen or resumeOwn
	openTree             OpenTree
}

// Who finds the checkpoint that a round resumes from.
const (
	resumeChosen = "chosen" // gangrun, which refuses to start from a worse one; the default
	resumeOwn    = "own"    // the training itself
)

// checkpointWays are the flags for what is not what it seems.
var checkpointWays = checkpoint.Ways{
	All: "--checkpoint-pattern GLOB says which ones are this training run's, --checkpoint-ignore GLOB which are not; with --resume own " +
		"the script finds its state itself; --checkpoint-require never starts over",
	Ignore:  "if it is none, --checkpoint-ignore GLOB passes it over",
	Pattern: "--checkpoint-pattern GLOB says which files are checkpoints",
}

func defaultResuming() resuming {
	return resuming{
		require: rendezvous.RequireProgress, own: resumeChosen, minProgress: 1, timeout: checkpoint.DefaultTimeout,
		policy: checkpoint.Policy{Owner: checkpoint.OwnerJob, Ways: checkpointWays}, formatFlags: formatFlags{prefix: "checkpoint-"},
	}
}

// checkpointSettings are those about what to resume from.
func (o *options) checkpointSettings() []*setting {
	r := &o.resuming
	s := []*setting{
		{name: "checkpoint-dir", hint: "DIR|URL", parse: text(&r.dir), standard: "none",
			usage: "where the training keeps its checkpoints: each round resumes from the newest complete one that all nodes have"},
		{name: "resume", hint: resumeChosen + "|" + resumeOwn, parse: choice(&r.own, resumeChosen, resumeOwn), standard: resumeChosen,
			usage: "own: the training finds its state itself; gangrun only reports, and never refuses, moves or changes anything"},
		{name: "checkpoint-require", hint: "never|progress|always", standard: rendezvous.RequireProgress,
			parse: choice(&r.require, rendezvous.RequireNever, rendezvous.RequireProgress, rendezvous.RequireAlways),
			usage: "when a checkpoint to resume from is required; progress: once there has been one, so that training never starts over unasked"},
		{name: "checkpoint-max-age", hint: "TIME", parse: duration(&r.policy.MaxAge), standard: "any",
			usage: "refuse to resume from an older one"},
		{name: "checkpoint-max-lost-steps", hint: "N", parse: number(&r.maxLost, 0, 1<<62), standard: "no limit",
			usage: "refuse to go back by more steps than this"},
		{name: "checkpoint-min-progress", hint: "N", parse: number(&r.minProgress, 1, 1<<62), standard: "1",
			usage: "steps by which a checkpoint has to be newer to count as progress, which resets the restart budget"},
		{name: "checkpoint-owner", hint: "job|run|any", standard: "job",
			parse: choice(&r.policy.Owner, checkpoint.OwnerJob, checkpoint.OwnerRun, checkpoint.OwnerAny),
			usage: "whose checkpoints in the directory may be resumed from: any run's of this job, this run's alone, anybody's"},
		{name: "checkpoint-quarantine", isBool: true, parse: boolean(&r.quarantine),
			usage: "move checkpoints that must not be read into " + checkpoint.QuarantineDir + "/; nothing is ever deleted"},
		{name: "checkpoint-timeout", hint: "TIME", parse: duration(&r.timeout), standard: "1m", usage: "how long reading the checkpoints may take"},
		{name: "resume-args", many: true, hint: "ARGUMENTS", parse: r.parseArgs, standard: "none",
			usage: "appended to the workers' command line when there is a checkpoint to resume from, with {resume_path}, {resume_root}, " +
				"{resume_step}, {resume_tag} filled in, as anywhere in it; can be given several times"},
		{name: "on-silent-restart", hint: "fatal|fallback|ignore", standard: "fatal",
			parse: choice(&o.SilentRestart, supervisor.SilentRestartFatal, supervisor.SilentRestartFallback, supervisor.SilentRestartIgnore),
			usage: "if a worker was given a checkpoint but reports an earlier step: end the job, restart it from an older checkpoint, or ignore it"},
	}
	s = slices.Insert(s, 1, r.formatFlags.settings()...)
	for _, setting := range s {
		setting.group = groupCheckpoint
	}
	return s
}

func (r *resuming) parseArgs(s string) error {
	words, err := splitWords(s)
	if err == nil {
		err = gang.CheckTemplates(words)
	}
	r.args = append(r.args, words...)
	return err
}

// settleResume completes the configuration with what to resume from. argv is the workers' command line, as far as the
// user has given it; ranks is how many workers a node has, 0 when unknown.
func (o *options) settleResume(argv []string, ranks int) error {
	r := &o.resuming
	if r.dir == "" {
		for _, arg := range argv {
			if strings.Contains(arg, "{resume_") {
				return &configError{fmt.Sprintf("%q is filled in from --checkpoint-dir, which is not given", arg)}
			}
		}
		if len(r.args) > 0 {
			return &configError{"--resume-args goes with --checkpoint-dir, which is not given"}
		}
		return nil
	}
	if err := gang.CheckTemplates(argv); err != nil {
		return &configError{err.Error()}
	}
	if err := r.formatFlags.check(); err != nil {
		return err
	}
	if isURL(r.dir) && r.quarantine {
		return &configError{"--checkpoint-quarantine: nothing can be moved at a URL"}
	}
	if !isURL(r.dir) {
		dir, err := filepath.Abs(r.dir)
		if err != nil {
			return &configError{"--checkpoint-dir: " + err.Error()}
		}
		if !mayBeDirectory(dir) {
			return &configError{"--checkpoint-dir " + dir + " is not a directory"}
		}
		r.dir = dir
	} else if _, err := r.openTree(context.Background(), r.dir); err != nil { // asks nobody yet
		return &configError{"--checkpoint-dir: " + plain.Text(err.Error())}
	}
	if o.spec.MinNodes == o.spec.MaxNodes {
		r.policy.World = o.spec.MaxNodes * ranks
	}
	if r.own == resumeOwn {
		if r.quarantine {
			return &configError{"--checkpoint-quarantine: with --resume own nothing is moved"}
		}
		o.SilentRestart = supervisor.SilentRestartIgnore
	}
	o.spec.Resume = rendezvous.ResumePolicy{
		Look: true, Own: r.own == resumeOwn, Require: r.require, MaxLostSteps: int64(r.maxLost), MinProgress: int64(r.minProgress),
	}
	return nil
}

// directoryTime bounds the wait for news about a path: its file server may be gone.
const directoryTime = 2 * time.Second

// mayBeDirectory reports whether the path is not something else. Without an answer it may be a directory.
func mayBeDirectory(path string) bool {
	info, err := task.Within(directoryTime, func() (fs.FileInfo, error) { return os.Stat(path) }, nil)
	return err != nil || info.IsDir()
}

// resumed makes workers that get the checkpoint to resume from.
func (o *options) resumed(
	workers func(*agent.Start) ([]supervisor.Worker, error),
) func(*agent.Start) ([]supervisor.Worker, error) {
	if o.resuming.dir == "" {
		return workers
	}
	args := slices.Concat(gang.Presets[o.framework], o.resuming.args)
	return gang.Resume{Args: args}.Workers(workers)
}

// directory is where the job's checkpoints are, nil when nobody has said.
func (o *options) directory(log *slog.Logger) *checkpoint.Directory {
	r := &o.resuming
	if r.dir == "" {
		return nil
	}
	d := &checkpoint.Directory{
		Name: shown(r.dir), Policy: r.policy, Quarantine: r.quarantine, Own: r.own == resumeOwn, Log: log,
		Scanner: checkpoint.Scanner{Timeout: cmp.Or(r.timeout, unlimited), Options: r.options()},
		Within:  func(path string) string { return within(r.dir, path) },
	}
	if isURL(r.dir) {
		d.Scanner.Open = func(ctx context.Context) (fs.FS, error) { return r.openTree(ctx, r.dir) }
		return d
	}
	d.Path, d.Scanner.FS = r.dir, os.DirFS(r.dir)
	return d
}
