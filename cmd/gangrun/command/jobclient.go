package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/location"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// jobClient has the flags of the commands that look at a job from outside.
type jobClient struct {
	*options
	program *program
	output  string
	watch   bool
	timeout time.Duration
	host    string // of unban
}

func newJobClient(p *program) *jobClient {
	return &jobClient{options: defaultOptions(), program: p, output: "text", timeout: 10 * time.Second}
}

func (r *jobClient) settings(own ...*setting) []*setting {
	kept := []string{"store", "store-ca", "store-cert", "store-key", "store-user-file", "store-password-file", "store-token-file", "namespace"}
	s := []*setting{{name: "endpoint", group: groupNodes, hint: "HOST[:PORT]", parse: text(&r.endpoint), standard: "none",
		usage: "a store within gangrun, instead of --store"}}
	for _, setting := range r.jobSettings() {
		if setting.name == "store" { // that a node within gangrun has it by default is of no use to who asks from outside
			setting.standard, setting.usage = "", "etcd through which the nodes meet"
		}
		if slices.Contains(kept, setting.name) {
			s = append(s, setting)
		}
	}
	s = append(s, own...)
	return append(s,
		&setting{name: "timeout", group: groupOwn, hint: "TIME", parse: duration(&r.timeout), standard: "10s", usage: "how long to wait for the store"},
		&setting{name: "config", group: groupOwn, hint: "FILE", parse: text(&r.config), usage: "YAML file with these settings, by the names of the flags"})
}

// locate reads where the record of the job is that the argument names.
func (r *jobClient) locate(c *cli.Context, settings []*setting, readOnly, ofHost bool) error {
	if err := resolve(settings, os.LookupEnv); err != nil {
		return err
	}
	arguments := c.Args().Slice()
	if ofHost {
		if len(arguments) == 0 || len(arguments) == 1 && r.endpoints != "" {
			return &configError{"which host of which job? give JOB and HOST; gangrun status shows the hosts that are banned"}
		}
		r.host, arguments = arguments[len(arguments)-1], arguments[:len(arguments)-1]
	}
	if len(arguments) > 1 {
		return &configError{fmt.Sprintf("one job at a time: %q is one too many", arguments[1])}
	}
	if u := lookThrough(os.Environ(), false); len(u.near) > 0 {
		fmt.Fprintln(os.Stderr, "gangrun:", strings.Join(u.near, " "))
	}
	if err := r.onePlace(settings); err != nil {
		return err
	}
	e := &r.location
	e.Namespace, e.Job, e.ReadOnly, e.Visitor = cmp.Or(r.namespace, "default"), strings.Join(arguments, ""), readOnly, true
	switch {
	case r.endpoints != "":
		e.Endpoints = strings.Split(r.endpoints, ",")
	case r.endpoint != "":
		host, port, err := net.SplitHostPort(r.endpoint)
		if err != nil {
			host, port = r.endpoint, strconv.Itoa(location.DefaultPort)
		}
		e.Endpoints = []string{net.JoinHostPort(host, port)} // with certificates it is https
	default:
		return &configError{"where is the job's record? give --store, the URL of an etcd, or --endpoint, the address of a store within gangrun"}
	}
	return nil
}

// onePlace refuses two places, and settings that the chosen one does not use. A flag outranks a variable, also if the two
// name different kinds of store.
func (r *jobClient) onePlace(settings []*setting) error {
	typed := func(name string) bool {
		return slices.ContainsFunc(settings, func(s *setting) bool { return s.name == name && len(s.given) > 0 })
	}
	switch {
	case r.endpoints == "" || r.endpoint == "":
	case typed("store") == typed("endpoint"):
		return &configError{"--store and --endpoint: the job's record is at one place, at an etcd or in a store within gangrun"}
	case typed("store"):
		r.endpoint = ""
	default:
		r.endpoints = ""
	}
	where := r.location
	if r.endpoints != "" {
		where.Endpoints = []string{r.endpoints}
	}
	where.Host, where.Cert, where.Key, where.CA = r.endpoint, "", "", "" // it is a client alone: any of the three is of use
	return checkAccess(where)
}

// connect opens the store of the job.
func (r *jobClient) connect(ctx context.Context) (store.Store, error) {
	switch {
	case r.location.Job != "":
	case r.endpoint != "":
		r.location.Job = "job" // the only one there
	default:
		return nil, &configError{"which job? give its name"}
	}
	return location.Open(ctx, r.location)
}

// alone is the name of the only job of a store within gangrun.
func (r *jobClient) alone(ctx context.Context) bool {
	if r.endpoints != "" {
		return false
	}
	jobs, more, err := location.Jobs(ctx, r.location)
	if err == nil && !more && len(jobs) == 1 {
		r.location.Job = jobs[0].Name
	}
	return r.location.Job != ""
}

// jobCommand is what such a command has of its own.
type jobCommand struct {
	name, usage string
	example     string // the end of its command line in the help
	note        string // the end of the help
	readOnly    bool
	host        bool // its last argument is a host
	own         []*setting
	arguments   string                                   // empty: flags and one job
	act         func(context.Context, store.Store) error // with the job's store; the context ends with the time limit
	// unnamed is what to do if no job is named; nil: that is a mistake, unless there is only one job.
	unnamed func(context.Context, location.Location) error
}

// command makes a command that opens the store of a job and then does its own work.
func (r *jobClient) command(rc jobCommand) *cli.Command {
	settings := r.settings(rc.own...)
	return &cli.Command{
		Name:               rc.name,
		Usage:              rc.usage,
		CustomHelpTemplate: help(rc.name, cmp.Or(rc.arguments, "[flags] JOB"), rc.name+" --store http://etcd:2379 "+rc.example, rc.note, settings),
		Before:             withoutSupervising,
		Flags:              flags(settings),
		OnUsageError:       func(c *cli.Context, err error, _ bool) error { return usage(c, err) },
		Action: func(c *cli.Context) error {
			ctx, cancel := context.WithTimeout(c.Context, r.timeout)
			defer cancel()
			if err := r.locate(c, settings, rc.readOnly, rc.host); err != nil {
				return r.failed(err)
			}
			if r.location.Job == "" && !r.alone(ctx) && rc.unnamed != nil {
				return r.failed(rc.unnamed(ctx, r.location))
			}
			st, err := r.connect(ctx)
			if err != nil {
				return r.failed(err)
			}
			defer st.Close()
			return r.failed(rc.act(ctx, st))
		},
	}
}

// The exit codes of commands, those of sysexits.h, by which scripts tell what went wrong.
const (
	codeNoInput     = 66 // EX_NOINPUT: the job, the file or the directory is not there
	codeUnreachable = 69 // EX_UNAVAILABLE
	codeIO          = 74 // EX_IOERR: standard output cannot be written
)

// failed reports an error, with a code of its own where trying again, or another name, may help.
func (r *jobClient) failed(err error) error {
	err = withFlag(err, r.endpoint != "")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, agent.ErrNoJob):
		r.program.code = codeNoInput
	case errors.Is(err, store.ErrUnreachable), errors.Is(err, store.ErrFull), errors.Is(err, context.DeadlineExceeded):
		r.program.code = codeUnreachable
	default:
		if _, wrong := errors.AsType[*configError](err); wrong {
			return err
		}
		return &configError{err.Error()}
	}
	if r.endpoint != "" && errors.Is(err, store.ErrUnreachable) {
		err = fmt.Errorf("%w; a store within gangrun is there only while its node runs", err)
	}
	fmt.Fprintln(os.Stderr, "gangrun:", plain.Lines(err.Error()))
	return nil
}

// verbCommand leaves a command for a job and waits until it was taken.
func verbCommand(p *program, verb, what, then string) *cli.Command {
	r := newJobClient(p)
	return r.command(jobCommand{
		name: verb, usage: what, example: "my-job",
		note: then + "\nReturns when the job's leader has accepted the command; gangrun status shows the result.\n" +
			"Exits 66 when the store has no record of the job, 69 when it cannot be reached or is full.",
		act: func(ctx context.Context, st store.Store) error {
			s, left, err := agent.Tell(ctx, st, verb, "", whoami())
			switch {
			case err == nil:
			case !left:
				return err
			case errors.Is(err, agent.ErrNobodyThere) && verb == rendezvous.VerbResume:
				fmt.Fprintln(stdout, "resume: accepted; it takes effect when a node joins")
				return nil
			case took(verb, s): // its store has gone with the job
			default:
				return untaken(r.timeout, err)
			}
			fmt.Fprintln(stdout, accepted(verb, s.Job.Phase, s.Job.Round))
			return nil
		},
	})
}

// accepted says what has become of the job. Before its first round, its number is below zero.
func accepted(verb string, phase rendezvous.Phase, round int) string {
	switch {
	case round >= 0:
		return fmt.Sprintf("%s: %s, round %d", verb, phase, round)
	case verb == rendezvous.VerbStop:
		return fmt.Sprintf("%s: the job has ended (%s) before its first round", verb, phase)
	}
	return fmt.Sprintf("%s: %s, before the first round", verb, phase)
}

// untaken says what is known of a command that nobody has answered.
func untaken(timeout time.Duration, err error) error {
	return fmt.Errorf("the command is in the store, but no leader has accepted it within %v; a store within gangrun may "+
		"have gone with the job since: see how its nodes ended (%w)", timeout, err)
}

// took reports whether the job is, as far as was seen, in the state that the command asks for.
func took(verb string, s agent.Status) bool {
	switch j := s.Job; {
	case j == nil:
		return false
	case verb == rendezvous.VerbSuspend:
		return j.Suspend
	case verb == rendezvous.VerbResume:
		return !j.Suspend
	}
	return false
}

func whoami() string {
	host, _ := os.Hostname() // as good as it is
	if u, err := user.Current(); err == nil {
		return u.Username + "@" + host
	}
	return host
}

func verbCommands(p *program) []*cli.Command {
	return []*cli.Command{
		verbCommand(p, rendezvous.VerbRestart, "stop all workers of a job and start them again",
			"They resume from the newest complete checkpoint. The restart budget is not touched."),
		verbCommand(p, rendezvous.VerbStop, "end a job for good",
			"All its nodes exit with 91 (Stopped). To continue later, suspend it instead."),
		verbCommand(p, rendezvous.VerbSuspend, "let the workers of a job save, and stop them until gangrun resume",
			"All its nodes exit with 143 (Suspended). Its record stays in the store, where that is an etcd."),
		verbCommand(p, rendezvous.VerbResume, "resume a suspended job",
			"Its nodes have to be started again, before or after this."),
		unbanCommand(p),
	}
}
