package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
)

func statusCommand(p *program) *cli.Command {
	r := newJobClient(p)
	return r.command(jobCommand{
		name: "status", usage: "show a job: its nodes, its rounds, and what it waits for", example: "--watch my-job",
		note:     "Exits 0 when the store has a record of the job, 66 when it has none, 69 when the store cannot be reached.",
		readOnly: true,
		own: []*setting{
			{name: "watch", group: groupOwn, isBool: true, parse: boolean(&r.watch), usage: "go on showing it at each change"},
			{name: "output", short: "o", group: groupOwn, hint: "text|json", parse: choice(&r.output, "text", "json"), standard: "text", usage: "form of the report"},
		},
		act: func(ctx context.Context, st store.Store) error {
			if r.watch {
				ctx = context.WithoutCancel(ctx) // the time limit was for reaching the store
			}
			found := false
			err := agent.Watch(ctx, st, func(s agent.Status) bool {
				found = s.Job != nil || len(s.Unreadable) > 0
				if found || r.watch {
					r.show(os.Stdout, s)
				}
				return r.watch
			})
			if err == nil && !found {
				err = agent.ErrNoJob
			}
			return err
		},
	})
}

func (r *jobClient) show(w io.Writer, s agent.Status) {
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
	fmt.Fprintln(t, "node\trole\trank\tstate\tround\tslots\taddress\tstep\tlast failure")
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		n := s.Nodes[name]
		rank, step, failure := "-", "-", ""
		if s.Round != nil {
			if at := s.Round.Rank(name, n.Incarnation); at >= 0 {
				rank = strconv.Itoa(at)
			} else if n.Rank != nil && n.Round == s.Round.Number { // it took another one's place in the round
				rank = strconv.Itoa(*n.Rank)
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
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", name, cmp.Or(n.Role, "-"), rank, state, n.Round, n.Slots, n.Address, step, failure)
	}
	t.Flush()
	for _, p := range slices.Backward(j.History) {
		what := p.Kind
		for _, word := range []string{p.Node, p.Reason} {
			if word != "" && !strings.EqualFold(word, p.Kind) {
				what += " " + word
			}
		}
		fmt.Fprintf(w, "round %d stopped %v ago: %s\n", p.Round, now.Sub(p.At).Round(time.Second), what)
	}
}
