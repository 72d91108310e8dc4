package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/internal/task"
)

// codeUnknown is what the checkpoint commands exit with when what they were asked about could not be read. It is not
// CodeCheckpointUnusable: it is unknown whether the checkpoint is whole.
const codeUnknown = 1

// inspection is what the checkpoint commands are told, and where they print.
type inspection struct {
	*program
	out, err io.Writer
	now      func() time.Time

	// From the flags.
	formatFlags
	output          string
	maxAge, timeout time.Duration
	world           int
	deep            bool
	config          string
}

// automatic stands for the time limit that suits the command.
const automatic = -1

func newInspection(p *program) *inspection {
	return &inspection{program: p, out: stdout, err: os.Stderr, now: time.Now, output: "text", timeout: automatic}
}

const checkpointCodes = "Exits 0 %s, 65 %s, 1 when it could\nnot be read, so that it is unknown, 64 when the command line is wrong, 66 when there is nothing\nof that name."

func checkpointCommand(p *program) *cli.Command {
	subcommands := []*cli.Command{newInspection(p).lsCommand(), newInspection(p).verifyCommand(), newInspection(p).selectCommand()}
	var usages strings.Builder
	for _, c := range subcommands {
		fmt.Fprintf(&usages, "  %-8s %s\n", c.Name, c.Usage)
	}
	return &cli.Command{
		Name:  "checkpoint",
		Usage: "list checkpoints, verify them, and show which one a run would resume from",
		CustomHelpTemplate: help("checkpoint", "ls|verify|select [flags] DIR", "checkpoint ls /mnt/checkpoints",
			usages.String()+"\nDIR is a directory, or the URL of an object store. gangrun checkpoint ls --help lists the flags of ls.", nil),
		HideHelpCommand: true,
		Before:          withoutSupervising,
		OnUsageError:    func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Subcommands:     subcommands,
		Action: func(c *cli.Context) error {
			name := c.Args().First()
			if name == "" {
				return &configError{"checkpoint: want ls, verify or select"}
			}
			return &configError{fmt.Sprintf("checkpoint: %q is not ls, verify or select%s", name, nearest(name, subcommandNames(c.Command)))}
		},
	}
}

func subcommandNames(c *cli.Command) []string {
	var names []string
	for _, s := range c.Subcommands {
		names = append(names, s.Name)
	}
	return names
}

// settings are those of every checkpoint command, after its own.
func (i *inspection) settings(own ...*setting) []*setting {
	return slices.Concat(i.formatFlags.settings(), own, []*setting{
		{name: "output", short: "o", group: groupOwn, hint: "text|json", parse: choice(&i.output, "text", "json"), standard: "text", usage: "form of the report"},
		{name: "config", group: groupOwn, hint: "FILE", parse: text(&i.config), usage: "YAML file with these settings, by the names of the flags"},
	})
}

// policySettings say which of the complete checkpoints may be resumed from.
func (i *inspection) policySettings() []*setting {
	return []*setting{
		{name: "max-age", group: groupCheckpoint, hint: "TIME", parse: duration(&i.maxAge), standard: "any",
			usage: "choose none that is older"},
		{name: "world", group: groupCheckpoint, hint: "N", parse: number(&i.world, 1, 1<<20), standard: "any",
			usage: "number of ranks that will read it: choose none that only another number can read"},
	}
}

func (i *inspection) timeoutSetting(standard string) *setting {
	return &setting{name: "timeout", group: groupOwn, hint: "TIME", parse: duration(&i.timeout), standard: standard,
		usage: "how long to look at most; 0 is no limit"}
}

// command completes a checkpoint command. act gets the one argument.
func (i *inspection) command(c *cli.Command, argument, example, note string, settings []*setting, act func(context.Context, string) error) *cli.Command {
	c.CustomHelpTemplate = help("checkpoint "+c.Name, "[flags] "+argument, "checkpoint "+c.Name+" "+example, note, settings)
	c.Flags = flags(settings)
	c.OnUsageError = func(c *cli.Context, err error, _ bool) error { return usage(c, err) }
	c.Action = func(c *cli.Context) error {
		if err := resolve(settings, os.LookupEnv); err != nil {
			return err
		}
		switch {
		case c.NArg() == 0 || c.Args().First() == "":
			return &configError{fmt.Sprintf("checkpoint %s: which one? give %s", c.Command.Name, argument)}
		case c.NArg() > 1 && strings.HasPrefix(c.Args().Get(1), "-"):
			return &configError{fmt.Sprintf("checkpoint %s: flags come before %s: %s", c.Command.Name, argument, plain.Text(c.Args().Get(1)))}
		case c.NArg() > 1:
			return &configError{fmt.Sprintf("checkpoint %s: one at a time: %q is one too many", c.Command.Name, c.Args().Get(1))}
		}
		if err := i.formatFlags.check(); err != nil {
			return err
		}
		return act(c.Context, c.Args().First())
	}
	return c
}

func (i *inspection) policy() checkpoint.Policy {
	return checkpoint.Policy{MaxAge: i.maxAge, World: i.world, Ways: checkpoint.Ways{
		All: "--pattern GLOB says which ones are of the training run, --ignore GLOB which are not; " +
			"to gangrun run these are --checkpoint-pattern and --checkpoint-ignore",
		Ignore: "if it is none, --ignore GLOB passes it over, to gangrun run --checkpoint-ignore",
	}}
}

// limit is how long to look.
func (i *inspection) limit(standard time.Duration) time.Duration {
	switch i.timeout {
	case automatic:
		return standard
	case 0:
		return unlimited
	}
	return i.timeout
}

// unlimited is longer than anyone waits.
const unlimited = 365 * 24 * time.Hour

// bounded runs do, which may take long. A system call that hangs cannot be ended: a second after the context is done it is
// left behind, and the error says so. What do has written by then must not be used.
func bounded(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := task.Within(limit+time.Second, func() (struct{}, error) { return struct{}{}, do(ctx) }, nil)
	if err == task.ErrLate {
		return problem.New(problem.CheckTimeout, "the file system does not answer within %v", limit)
	}
	return err
}

// fail reports an error that is not about the command line: what was checked is not as it should be, or that is
// unknown.
func (i *inspection) fail(what string, err error) error {
	if _, wrong := errors.AsType[*configError](err); wrong {
		return err
	}
	code := exitcodes.CodeCheckpointUnusable
	if _, absent := errors.AsType[*absentError](err); absent {
		code = codeNoInput
	} else if checkpoint.Unknown(err) {
		code = codeUnknown
	}
	i.worse(code)
	i.say("%s: %v", shown(what), err)
	return nil
}

// worse sets the exit code. A checkpoint that is not complete outranks one that could not be read.
func (i *inspection) worse(code int) { i.code = max(i.code, code) }

// say is for people, on standard error. Names from the disk cannot do anything to a terminal.
func (i *inspection) say(format string, args ...any) {
	fmt.Fprintln(i.err, "gangrun:", plain.Text(fmt.Sprintf(format, args...)))
}

func (i *inspection) encode(v any) error {
	enc := json.NewEncoder(i.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// listing is what ls and verify print as JSON.
type listing struct {
	Format      string                   `json:"format"` // of the directory, empty when it holds none that is known
	Chosen      string                   `json:"chosen,omitempty"`
	Checkpoints []*format.Checkpoint     `json:"checkpoints"`
	Below       []string                 `json:"below,omitempty"`  // where they are, when not in the directory itself
	Others      []string                 `json:"others,omitempty"` // entries that are not understood
	apart       bool                     // Below are of different writers
	unseen      int                      // directories further down that were not searched
	passed      map[string]problem.Error // by path: those that the policy does not let be chosen, and why
}

// weigh says which one would be chosen, given what a run remembers beside them or why that cannot be read.
func (i *inspection) weigh(l *listing, m checkpoint.History, unread error) {
	if unread != nil {
		i.worse(codeUnknown)
		i.say("nothing can be chosen: %v", unread)
		return
	}
	scan := checkpoint.Scan{Format: l.Format, Below: l.Below, Apart: l.apart, Unseen: l.unseen}
	for _, c := range l.Checkpoints {
		scan.Checkpoints = append(scan.Checkpoints, *c)
	}
	offer, err := i.policy().Offer(scan, m, checkpoint.Run{}, i.now())
	if err != nil {
		i.say("nothing can be chosen, since the newest ones cannot be read: %v", err)
		return
	}
	for _, w := range offer.Warnings {
		i.say("%s", w)
	}
	l.passed = make(map[string]problem.Error)
	for _, c := range offer.Refused {
		l.passed[c.Path] = problem.Error{Reason: c.Reason, Detail: c.Detail}
	}
	switch from := offer.First(); {
	case !from.Fresh():
		if c := i.policy().At(scan, m, from); c != nil {
			l.Chosen = c.Path
		}
	case offer.Asks:
		i.say("training would not start, but end with %d: %s", exitcodes.CodeCheckpointUnusable, offer.Veto.Detail)
	case offer.Veto != nil:
		i.say("training would not start, but end with %d: %v", exitcodes.CodeCheckpointUnusable, offer.Veto)
	case offer.Fresh != "":
		i.say("training would start fresh: %s", offer.Fresh)
	}
}

// names are the paths of the checkpoints, for suggestions.
func names(cs []*format.Checkpoint) []string {
	list := make([]string, 0, len(cs))
	for _, c := range cs {
		list = append(list, c.Path)
	}
	slices.Sort(list)
	return list
}
