package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-shellwords"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/gang"
	"github.com/gangrun/gangrun/supervisor/output"
)

// localOptions has the flags of local.
type localOptions struct {
	*options
	local gang.Local
}

func (o *localOptions) settings() []*setting {
	return append(slices.Concat(o.common(), o.hangSettings(), o.preflightSettings(), o.hookSettings(), o.checkpointSettings()),
		&setting{name: "ranks", short: "n", group: groupRanks, hint: "N", parse: number(&o.local.Ranks, 1, 4096), standard: "1",
			usage: "how many ranks to start"},
		&setting{name: "framework", group: groupRanks, hint: "torch|tf|jax|none", standard: "torch",
			parse: choice(&o.local.Framework, gang.Torch, gang.TF, gang.JAX, gang.None),
			usage: "whose environment variables the ranks get"},
		&setting{name: "tty-rank", group: groupRanks, hint: "RANK", parse: number(&o.local.TTYRank, 0, 4095), standard: "none",
			usage: "this rank has standard input and the terminal, for a debugger; the others have no input, and run without python's -m pdb"},
		&setting{name: "only-ranks", many: true, group: groupRanks, hint: "RANK,...", parse: o.parseOnly, standard: "all",
			usage: "show only the output of these ranks"},
		&setting{name: "per-rank", group: groupRanks, hint: "COMMAND", parse: o.parsePerRank, standard: "none",
			usage: "put this before the command of each rank, as in 'nice -n 5'; gdb and lldb only before that of --tty-rank; split into words, not run by a shell"},
		&setting{name: "kill-rank", many: true, group: groupRehearse, hint: "RANK@WHEN[:SIGNAL]", parse: o.parseKill, standard: "none",
			usage: "kill a rank once, to rehearse a failure: 1@30s, 1@step=20, 1@step=20:SIGSEGV; can be given several times. " +
				"A step counts when the rank reports it to NOTIFY_SOCKET"},
		&setting{name: "log-dir", group: groupOutput, hint: "DIR", parse: text(&o.logDir), standard: "none",
			usage: "keep each rank's output as round_<n>/<rank>/stdout.log and stderr.log here"},
	)
}

func (o *localOptions) parseOnly(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		rank := 0
		if err := number(&rank, 0, 4095)(part); err != nil {
			return fmt.Errorf("want ranks such as 0,2: %w", err)
		}
		o.local.Only = append(o.local.Only, rank)
	}
	return nil
}

func (o *localOptions) parsePerRank(s string) error {
	words, err := splitWords(s)
	o.local.PerRank = words
	return err
}

// splitWords splits a command into words as a shell would, without running one: nothing is expanded.
func splitWords(s string) ([]string, error) {
	p := shellwords.NewParser()
	words, err := p.Parse(s)
	switch {
	case err != nil || len(words) == 0 || words[0] == "":
		return nil, errors.New("want a command and its arguments, quoted as for a shell")
	case p.Position >= 0: // where it has stopped, at something that only a shell could do
		return nil, fmt.Errorf("no shell runs this: quote what begins with %.20q", s[min(p.Position, len(s)-1):])
	}
	return words, nil
}

func (o *localOptions) parseKill(s string) error {
	kill, err := parseKill(s)
	if err == nil {
		o.Kills = append(o.Kills, kill)
	}
	return err
}

func parseKill(s string) (supervisor.Kill, error) {
	wrong := errors.New("want RANK@TIME or RANK@step=N, and :SIGNAL if it is not SIGKILL, as in 1@30s or 1@step=20:SIGTERM")
	rank, when, found := strings.Cut(s, "@")
	if !found {
		return supervisor.Kill{}, wrong
	}
	kill := supervisor.Kill{Signal: unix.SIGKILL}
	if err := number(&kill.Rank, 0, 4095)(rank); err != nil {
		return supervisor.Kill{}, wrong
	}
	when, signal, found := strings.Cut(when, ":")
	if found {
		n, err := exitcodes.ParseSignal(signal)
		if err != nil {
			return supervisor.Kill{}, err
		}
		kill.Signal = unix.Signal(n)
	}
	if step, found := strings.CutPrefix(when, "step="); found {
		n, err := strconv.ParseInt(step, 10, 64)
		if err != nil || n < 0 {
			return supervisor.Kill{}, wrong
		}
		kill.AtStep = &n
		return kill, nil
	}
	if duration(&kill.After)(when) != nil {
		return supervisor.Kill{}, wrong
	}
	return kill, nil
}

// check looks for contradictions among the flags.
func (o *localOptions) check() error {
	if o.local.TTYRank >= o.local.Ranks {
		return &configError{fmt.Sprintf("--tty-rank %d: there are only %d ranks, counted from 0", o.local.TTYRank, o.local.Ranks)}
	}
	for _, rank := range o.local.Only {
		if rank >= o.local.Ranks {
			return &configError{fmt.Sprintf("--only-ranks: there is no rank %d among %d, counted from 0", rank, o.local.Ranks)}
		}
	}
	for _, kill := range o.Kills {
		if kill.Rank >= o.local.Ranks {
			return &configError{fmt.Sprintf("--kill-rank: there is no rank %d among %d, counted from 0", kill.Rank, o.local.Ranks)}
		}
	}
	if o.Scope == supervisor.ScopeSession {
		return &configError{"--signal-scope session: local gives each rank a session of its own anyway; want worker or group"}
	}
	return nil
}

const (
	localArguments = "-n N [flags] -- COMMAND [ARGUMENT...]"
	localExample   = "local -n 2 --tty-rank 1 -- python3 -m pdb train.py"
)

func localCommand(p *program) *cli.Command {
	o := &localOptions{options: defaultOptions(), local: gang.Local{Ranks: 1, Framework: gang.Torch, TTYRank: -1}}
	o.resuming.openTree = p.openTree
	settings := o.settings()
	return &cli.Command{
		Name:               "local",
		Usage:              "run several ranks on this machine, to debug them",
		CustomHelpTemplate: shortHelp("local", localArguments, localExample, configurable, settings, groupRanks, groupRehearse),
		Flags:              flags(settings),
		OnUsageError:       o.usageError(settings),
		Action: func(c *cli.Context) error {
			err := o.prepare(settings, os.LookupEnv)
			if err == nil && c.NArg() == 0 {
				err = &configError{"no command to run; want gangrun local -n N [flags] -- COMMAND [ARGUMENT...]"}
			}
			if err == nil {
				err = o.check()
			}
			if err == nil {
				err = o.settleResume(c.Args().Slice(), o.local.Ranks)
			}
			if err == nil {
				err = o.settlePreflight(settings)
			}
			if err != nil {
				return badConfig(o.options, err)
			}
			if _, debugged := gang.WithoutDebugger(c.Args().Slice()); debugged && o.local.TTYRank < 0 && o.local.Ranks > 1 {
				return badConfig(o.options, &configError{"a debugger needs the terminal, which one rank can have: give --tty-rank RANK"})
			}
			o.start(c.Args().Slice(), workerEnvironment(settings))
			p.code = supervise(o.options)
			return nil
		},
	}
}

// start completes the configuration with the workers.
func (o *localOptions) start(argv, env []string) {
	o.local.Argv, o.local.Env, o.local.LogDir = argv, env, o.logDir
	o.local.ColourOut, o.local.ColourErr = colourful(os.Stdout), colourful(os.Stderr)
	o.local.MaxRestarts, o.slots = o.spec.Restarts.Max, o.local.Ranks
	o.Workers = o.resumed(o.local.Workers)
	if o.live = o.local.TTYRank < 0; !o.live {
		o.seeing = "run it again without --tty-rank, so that gangrun sees the output and can say why"
	}
	var last supervisor.Round
	o.RoundEnded = func(r supervisor.Round) { last = r }
	o.Epilogue = func(w io.Writer) {
		if !o.quiet && slices.ContainsFunc(last.Workers, func(e supervisor.Ended) bool { return e.Rank >= 0 }) {
			gang.Table(w, last)
		}
	}
	if o.Job == "" {
		o.Job, o.nameless = "local", true
	}
}

// colourful reports whether colours are of use on f: a terminal that can show them, and a user who wants them
// (https://no-color.org).
func colourful(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	return isTerminal(f)
}

func isTerminal(f *os.File) bool { return output.IsTerminal(int(f.Fd())) }
