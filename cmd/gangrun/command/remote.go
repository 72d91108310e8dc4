package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/meeting"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// remote is what the commands that look at a job from outside are told.
type remote struct {
	*options
	endpoint string
	output   string
	watch    bool
	timeout  time.Duration
}

func newRemote(p *program) *remote {
	r := &remote{options: defaultOptions(), output: "text", timeout: 10 * time.Second}
	r.open = p.open
	return r
}

func (r *remote) settings(own ...*setting) []*setting {
	kept := []string{"store", "store-ca", "store-cert", "store-key", "store-user-file", "store-password-file", "namespace"}
	s := []*setting{{name: "endpoint", group: groupNodes, hint: "HOST[:PORT]", parse: text(&r.endpoint), standard: "none",
		usage: "a store within gangrun, instead of --store"}}
	for _, setting := range r.jobSettings() {
		if slices.Contains(kept, setting.name) {
			s = append(s, setting)
		}
	}
	s = append(s, own...)
	return append(s,
		&setting{name: "timeout", group: groupOwn, hint: "TIME", parse: duration(&r.timeout), standard: "10s", usage: "how long to wait for the store"},
		&setting{name: "config", group: groupOwn, hint: "FILE", parse: text(&r.config), usage: "YAML file with these settings by name"})
}

// connect opens the store of the job that the argument names.
func (r *remote) connect(ctx context.Context, c *cli.Context, settings []*setting, readOnly bool) (store.Store, error) {
	if err := resolve(settings, os.LookupEnv); err != nil {
		return nil, err
	}
	if c.NArg() > 1 {
		return nil, &configError{fmt.Sprintf("one job at a time: %q is one too many", c.Args().Get(1))}
	}
	if r.open == nil {
		return nil, ErrStoreNeeded
	}
	e := &r.meet
	e.Namespace, e.Job, e.ReadOnly = cmp.Or(r.namespace, "default"), c.Args().First(), readOnly
	switch {
	case r.endpoints != "":
		e.Endpoints = strings.Split(r.endpoints, ",")
	case r.endpoint != "":
		host, port, err := net.SplitHostPort(r.endpoint)
		if err != nil {
			host, port = r.endpoint, strconv.Itoa(meeting.DefaultPort)
		}
		e.Endpoints = []string{"http://" + net.JoinHostPort(host, port)}
		e.Job = cmp.Or(e.Job, "job") // the only one there
	default:
		return nil, &configError{"where is the job's record? give --store, the URL of an etcd, or --endpoint, the address of a store within gangrun"}
	}
	if e.Job == "" {
		return nil, &configError{"which job? give its name"}
	}
	s, err := r.open(ctx, r.meet)
	if err != nil {
		return nil, &configError{err.Error()}
	}
	return s, nil
}

func statusCommand(p *program) *cli.Command {
	r := newRemote(p)
	settings := r.settings(
		&setting{name: "watch", group: groupOwn, isBool: true, parse: boolean(&r.watch), usage: "go on showing it at each change"},
		&setting{name: "output", short: "o", group: groupOwn, hint: "text|json", parse: choice(&r.output, "text", "json"), standard: "text", usage: "form of the report"})
	return &cli.Command{
		Name:  "status",
		Usage: "show a job: its nodes, its rounds, and what it waits for",
		CustomHelpTemplate: help("status", "[flags] JOB", "status --store http://etcd:2379 --watch my-job",
			"Exits 0 when the store has a record of the job, 1 when it has none.", settings),
		Before:       withoutSupervising,
		Flags:        flags(settings),
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(err, c.Command.Flags) },
		Action: func(c *cli.Context) error {
			ctx, cancel := context.WithTimeout(c.Context, r.timeout)
			defer cancel()
			st, err := r.connect(ctx, c, settings, true)
			if err != nil {
				return err
			}
			defer st.Close()
			if r.watch {
				ctx = c.Context
			}
			found := false
			err = agent.Watch(ctx, st, func(s agent.Status) bool {
				found = s.Job != nil || len(s.Unreadable) > 0
				if found || r.watch {
					r.show(os.Stdout, s)
				}
				return r.watch
			})
			if err == nil && !found {
				err = agent.ErrNoJob
			}
			if errors.Is(err, agent.ErrNoJob) {
				fmt.Fprintln(os.Stderr, "gangrun:", err)
				p.code = 1
				return nil
			}
			return asConfigError(err)
		},
	}
}

func asConfigError(err error) error {
	if err == nil {
		return nil
	}
	return &configError{err.Error()}
}

func (r *remote) show(w io.Writer, s agent.Status) {
	if r.output == "json" {
		enc := json.NewEncoder(w)
		_ = enc.Encode(s) // to standard output, which the exit code would not help
		return
	}
	showStatus(w, s, time.Now())
}

func showStatus(w io.Writer, s agent.Status, now time.Time) {
	for _, key := range slices.Sorted(maps.Keys(s.Unreadable)) {
		fmt.Fprintf(w, "unreadable: %s\n", s.Unreadable[key])
	}
	if s.Job == nil {
		fmt.Fprintln(w, "no record of the job")
		return
	}
	j := s.Job
	fmt.Fprintf(w, "%s since %v, round %d, run %s\n", j.Phase, now.Sub(j.Since).Round(time.Second), j.Round, j.RunUID)
	fmt.Fprintf(w, "restarts without progress: %d of %d; all restarts: %d; after preemptions: %d\n",
		j.Budget.Used, j.Spec.Restarts.Max, j.Budget.Total, j.Budget.Preemptions)
	switch {
	case j.End != nil:
		fmt.Fprintf(w, "ended: %s, %s (exit code %d): %s\n", j.End.Verdict, j.End.Reason, j.End.Code, j.End.Message)
	case s.Why.Text != "":
		fmt.Fprintln(w, "now:", s.Why.Text)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "node\trank\tstate\tround\tslots\taddress\tstep\tlast failure")
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		n := s.Nodes[name]
		rank, step, failure := "-", "-", ""
		if s.Round != nil {
			if at := s.Round.Rank(name, n.Incarnation); at >= 0 {
				rank = strconv.Itoa(at)
			}
		}
		if n.Step != nil {
			step = strconv.FormatInt(*n.Step, 10)
		}
		if n.Outcome != nil && n.Outcome.Verdict != "success" {
			failure = n.Outcome.Message
		}
		state := string(n.State)
		if n.Leaving {
			state += ", leaving"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", name, rank, state, n.Round, n.Slots, n.Address, step, failure)
	}
	t.Flush()
	for _, p := range slices.Backward(j.History) {
		fmt.Fprintf(w, "round %d stopped %v ago: %s %s %s\n", p.Round, now.Sub(p.At).Round(time.Second), p.Kind, p.Node, p.Reason)
	}
}

// verbCommand leaves a command for a job and waits until it was taken.
func verbCommand(p *program, verb, what string) *cli.Command {
	r := newRemote(p)
	settings := r.settings()
	return &cli.Command{
		Name:  verb,
		Usage: what,
		CustomHelpTemplate: help(verb, "[flags] JOB", verb+" --store http://etcd:2379 my-job",
			"Returns when the job's lead has taken the command; gangrun status shows what becomes of it.", settings),
		Before:       withoutSupervising,
		Flags:        flags(settings),
		OnUsageError: func(c *cli.Context, err error, _ bool) error { return usage(err, c.Command.Flags) },
		Action: func(c *cli.Context) error {
			ctx, cancel := context.WithTimeout(c.Context, r.timeout)
			defer cancel()
			st, err := r.connect(ctx, c, settings, false)
			if err != nil {
				return err
			}
			defer st.Close()
			id, err := agent.Send(ctx, st, verb, whoami())
			if err != nil {
				return asConfigError(err)
			}
			s, err := agent.Await(ctx, st, id)
			if err != nil {
				return &configError{fmt.Sprintf("the command was left, but no lead has taken it within %v: %v", r.timeout, err)}
			}
			fmt.Printf("%s: %s, round %d\n", verb, s.Job.Phase, s.Job.Round)
			return nil
		},
	}
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
		verbCommand(p, rendezvous.VerbRestart, "stop all workers of a job and start them again"),
		verbCommand(p, rendezvous.VerbStop, "end a job for good"),
		verbCommand(p, rendezvous.VerbSuspend, "stop all workers of a job until it is resumed"),
		verbCommand(p, rendezvous.VerbResume, "go on with a suspended job"),
	}
}
