package command

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/platform"
	"github.com/gangrun/gangrun/supervisor/signals"
)

// options is what the flags of a command that supervises say, before they are made into a supervisor's configuration.
type options struct {
	supervisor.Config
	job
	resuming         resuming
	seen             seen
	onExhausted      string
	podGrace         time.Duration
	graceGiven       bool
	notice           time.Duration // ahead of the end; 0 when that is not known
	rulesFile        string
	logDir           string
	prefix           string
	stopVerdict      string
	unknown          string
	stacks           string // on or off
	framework        string // that the command is written with
	trainJob         trainJob
	quiet            bool
	seeing           string // what to do in place of seeOutput, where this command was told to give a rank the terminal
	live             bool   // one line on a terminal may show how the run gets on
	logFormat        string
	logLevel         slog.Level
	config           string
	completionFor    string // the shell of launch's --print-completion
	platform         platform.Platform
	unknownVariables unknownVariables
	doctor           bool               // this container is checked, and nothing supervised
	warnings         []string           // about the configuration, for the log
	noted            []string           // settings that do nothing here, and why, for the log
	started          func(*slog.Logger) // called once gangrun's own log is there; may be nil
}

func defaultOptions() *options {
	o := &options{onExhausted: "auto", stopVerdict: "preempted", unknown: "fatal", stacks: "on", logFormat: logAuto}
	o.trainJob.mode = "auto"
	o.job, o.resuming = defaultJob(), defaultResuming()
	o.SilentRestart = supervisor.SilentRestartFatal
	o.Grace, o.RestartGrace = 25*time.Second, supervisor.DefaultRestartGrace
	o.StopSignals = []unix.Signal{unix.SIGTERM, unix.SIGINT}
	o.Leftovers, o.Scope = supervisor.LeftoversKill, supervisor.ScopeWorker
	o.SignalMap = map[unix.Signal]unix.Signal{}
	o.MessageMax = exitcodes.DefaultMessage
	if _, err := os.Stat(kubernetesLog); err == nil {
		o.TerminationLog = kubernetesLog
	}
	return o
}

// kubernetesLog is where the kubelet mounts the file that it reads after a container's end.
const kubernetesLog = "/dev/termination-log"

// common are the settings of every command that supervises.
func (o *options) common() []*setting {
	return append(o.seenSettings(), []*setting{
		{name: "job", group: groupJob, hint: "NAME", parse: text(&o.Job), usage: "name of the job", standard: "from the operator's variables"},
		{name: "node", group: groupJob, hint: "NAME", parse: text(&o.Node), usage: "stable name of this node", standard: "host name"},
		{name: "max-restarts", group: groupRestarts, hint: "N", parse: number(&o.spec.Restarts.Max, 0, 1_000_000), standard: "3",
			usage: "restarts without progress before giving up"},
		{name: "no-restart", group: groupRestarts, isBool: true, parse: boolean(&o.spec.Restarts.Never), usage: "leave every restart to the operator"},
		{name: "restart-backoff", group: groupRestarts, hint: "FIRST[:MOST]", parse: o.parseBackoff, standard: "1s:1m",
			usage: "pause before a restart; none before the first, doubling from the second"},
		{name: "restart-window", group: groupRestarts, hint: "N/TIME", parse: o.parseWindow, standard: "no limit",
			usage: "at most N restarts within TIME, whatever the progress"},
		{name: "max-same-failure", group: groupRestarts, hint: "N", parse: number(&o.spec.Restarts.MaxSameFailure, 0, 1_000_000), standard: "2",
			usage: "give up when the same failure happens N times in a row at the same step; 0: never"},
		{name: "on-exhausted", group: groupRestarts, hint: "auto|retry|fatal", parse: choice(&o.onExhausted, "auto", "retry", "fatal"), standard: "auto",
			usage: "verdict when no restarts are left; auto: fatal under an operator that restarts for ever, else retry"},
		{name: "retry-code", group: groupVerdict, hint: "CODE", parse: number(&o.RetryCode, 128, 255), standard: "each its own",
			usage: "exit code of every retry verdict, for an operator that knows only some"},
		{name: "unknown", group: groupVerdict, hint: "fatal|retry|retry-after-progress", parse: choice(&o.unknown, "fatal", "retry", "retry-after-progress"), standard: "fatal",
			usage: "what an unexplained exit code from 1 to 125 means; for unattended runs: retry-after-progress"},
		{name: "stop-verdict", group: groupVerdict, hint: "preempted|worker", parse: choice(&o.stopVerdict, "preempted", "worker"), standard: "preempted",
			usage: "verdict after a stop signal from outside; worker: the worker's own exit code decides, as under a plain init"},
		{name: "grace", group: groupStopping, hint: "TIME", parse: o.parseGrace, standard: "25s",
			usage: "from a stop signal from outside to SIGKILL"},
		{name: "restart-grace", group: groupStopping, hint: "TIME", parse: duration(&o.RestartGrace), standard: "5s",
			usage: "from gangrun's own SIGTERM to SIGKILL"},
		{name: "pod-grace", group: groupStopping, hint: "TIME", parse: duration(&o.podGrace), standard: "unknown",
			usage: "the pod's terminationGracePeriodSeconds; --grace has to be below it"},
		{name: "notice-signal", group: groupStopping, hint: "SIGNAL[@TIME]", parse: o.parseNotice, standard: "none",
			usage: "the signal by which the scheduler announces the end, and how long before it, such as USR1@120s: the workers save (all at the same step if they check GANGRUN_STOP_FILE) and stop"},
		{name: "time-limit", group: groupStopping, hint: "TIME", parse: positive(&o.TimeLimit), standard: "none",
			usage: "how long the run on this node may last; the workers are stopped --grace before that"},
		{name: "leftovers", group: groupStopping, hint: "kill|term|leave", standard: "kill",
			parse: choice(&o.Leftovers, supervisor.LeftoversKill, supervisor.LeftoversTerm, supervisor.LeftoversLeave),
			usage: "what happens to processes that the worker leaves behind at the end; after a failure worth a retry they are always killed"},
		{name: "signal-map", group: groupStopping, hint: "FROM:TO,...", parse: o.parseSignalMap, many: true, standard: "none",
			usage: "pass on TO in place of FROM; 0 as TO drops it"},
		{name: "signal-scope", group: groupStopping, hint: "worker|group|session", standard: "worker",
			parse: choice(&o.Scope, supervisor.ScopeWorker, supervisor.ScopeGroup, supervisor.ScopeSession),
			usage: "who gets the signals that are passed on"},
		{name: "rules", group: groupVerdict, hint: "FILE|none", parse: text(&o.rulesFile), standard: "the built-in rules",
			usage: "rules that read the output of a failed worker, before the built-in ones; none: the exit code alone"},
		{name: "termination-log", group: groupVerdict, hint: "FILE", parse: text(&o.TerminationLog), standard: kubernetesLog + " when it exists",
			usage: "where the termination message goes"},
		{name: "termination-log-max", group: groupVerdict, hint: "BYTES", standard: strconv.Itoa(exitcodes.DefaultMessage),
			parse: number(&o.MessageMax, exitcodes.MinMessage, exitcodes.MaxMessage), usage: "size of that message"},
		{name: "state-dir", group: groupVerdict, hint: "DIR", parse: text(&o.StateDir), standard: "none", usage: "also keep the termination message in this directory, as <node>.json"},
		{name: "log-format", group: groupOwn, hint: "auto|lines|text|json", parse: choice(&o.logFormat, logAuto, logLines, logText, logJSON), standard: logAuto,
			usage: "form of gangrun's own log on standard error: short lines for people, key=value text, or JSON; auto: lines on a terminal, else text"},
		{name: "log-level", group: groupOwn, hint: "debug|info|warn|error", parse: o.parseLevel, standard: "info",
			usage: "how much gangrun's own log says"},
		{name: "quiet", group: groupOwn, isBool: true, parse: boolean(&o.quiet), usage: "no log of gangrun's own"},
		{name: "config", group: groupOwn, hint: "FILE", parse: text(&o.config), usage: "YAML file with these settings, by the names of the flags"},
	}...)
}

func (o *options) parseLevel(s string) error {
	level := ""
	if err := choice(&level, "debug", "info", "warn", "error")(s); err != nil {
		return err
	}
	return o.logLevel.UnmarshalText([]byte(level))
}

func (o *options) parseBackoff(s string) error {
	first, most, both := strings.Cut(s, ":")
	if err := duration(&o.backoff)(first); err != nil {
		return err
	}
	if both {
		if err := duration(&o.backoffMax)(most); err != nil {
			return err
		}
		if o.backoffMax < o.backoff {
			return errors.New("the second time is the longest pause; it cannot be below the first")
		}
		return nil
	}
	o.backoffMax = max(o.backoffMax, o.backoff)
	return nil
}

func (o *options) parseWindow(s string) error {
	n, d, found := strings.Cut(s, "/")
	if !found {
		return errors.New("want a number and a time such as 10/1h")
	}
	if err := number(&o.spec.Restarts.InWindow, 1, 256)(n); err != nil {
		return err
	}
	if err := duration(&o.window)(d); err != nil {
		return err
	}
	if o.window == 0 {
		return errors.New("the time cannot be 0")
	}
	return nil
}

func (o *options) parseSignalMap(s string) error {
	for pair := range strings.SplitSeq(s, ",") {
		from, to, found := strings.Cut(pair, ":")
		if !found {
			return errors.New("want FROM:TO, as in 15:10 or TERM:USR1")
		}
		f, err := exitcodes.ParseSignal(from)
		if err != nil {
			return err
		}
		t := 0
		if to != "0" {
			if t, err = exitcodes.ParseSignal(to); err != nil {
				return err
			}
		}
		if !signals.Passes(unix.Signal(f)) {
			return fmt.Errorf("%s cannot be caught", exitcodes.SignalName(f))
		}
		if before, twice := o.SignalMap[unix.Signal(f)]; twice && before != unix.Signal(t) {
			return fmt.Errorf("%s is mapped to two signals", exitcodes.SignalName(f))
		}
		o.SignalMap[unix.Signal(f)] = unix.Signal(t)
	}
	return nil
}

func positive(p *time.Duration) func(string) error {
	return func(s string) error {
		if err := duration(p)(s); err != nil {
			return err
		}
		if *p == 0 {
			return errors.New("the time cannot be 0")
		}
		return nil
	}
}

func (o *options) loadRules() error {
	switch o.rulesFile {
	case "":
		o.Rules = exitcodes.BuiltinRules
		return nil
	case "none":
		o.Rules = exitcodes.NoRules
		return nil
	}
	rules, err := readRules(o.rulesFile)
	if err != nil {
		return &configError{"--rules: " + err.Error()}
	}
	o.Rules = func() *exitcodes.Rules { return rules }
	return nil
}

// readRules reads a rules file on top of the built-in rules.
func readRules(path string) (*exitcodes.Rules, error) {
	data, err := readBounded(path, 1<<20)
	if err != nil {
		return nil, err
	}
	return exitcodes.ParseRules(path, data, exitcodes.BuiltinRules())
}

// workerEnvironment is ours without the variables that set our flags: a gangrun that the worker starts must not take them
// for its own.
func workerEnvironment(settings []*setting) []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, variablePrefix) &&
			slices.ContainsFunc(settings, func(s *setting) bool { return s.variable() == name })
	})
}

// prepare turns the options into a configuration that lacks only the workers. On an error nothing is started.
func (o *options) prepare(settings []*setting, lookup func(string) (string, bool)) error {
	if err := resolve(settings, lookup); err != nil {
		return err
	}
	if err := o.contradictions(settings, lookup); err != nil {
		return err
	}
	o.unknownVariables = lookThrough(os.Environ(), slices.Contains(settingNames(settings), "nnodes"))
	if near := o.unknownVariables.near; len(near) > 0 {
		o.warnings = append(o.warnings, strings.Join(near, " "))
	}
	o.noteOthers(settings, os.Environ())
	if err := o.adaptGrace(); err != nil {
		return err
	}
	o.StartedAt = time.Now()
	dir, err := os.Getwd()
	if err != nil {
		return &configError{fmt.Sprintf("the working directory: %v", err)}
	}
	o.Dir = dir
	for _, path := range []*string{&o.TerminationLog, &o.StateDir, &o.logDir, &o.rulesFile, &o.seen.events, &o.seen.secrets, &o.location.Dir,
		&o.location.CA, &o.location.Cert, &o.location.Key, &o.location.UserFile, &o.location.PasswordFile} {
		if *path != "" && *path != "none" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	if err := o.loadRules(); err != nil {
		return err
	}
	o.settleHangs()
	if err := o.loadKeys(); err != nil {
		return err
	}
	if err := o.findTrainJob(lookup); err != nil {
		return err
	}
	if err := o.prepareHooks(settings); err != nil {
		return err
	}
	host, _ := os.Hostname() // without one, the node has no name
	p := platform.Detect(os.LookupEnv, host)
	if o.Job == "" {
		o.Job = p.Job.Value
	}
	if o.nodeGiven = o.Node != ""; !o.nodeGiven {
		o.Node = p.Node.Value
	}
	o.spec.Restarts.Exhausted = o.onExhausted
	if o.onExhausted == "auto" {
		o.spec.Restarts.Exhausted = rendezvous.ExhaustedRetry
		if p.RetriesWithoutLimit() {
			o.spec.Restarts.Exhausted = rendezvous.ExhaustedFatal
		}
	}
	o.StopVerdictWorker = o.stopVerdict == "worker"
	o.OnUnknown = exitcodes.OnUnknown(o.unknown)
	o.platform = p
	return nil
}
