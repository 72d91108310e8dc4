package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// unbanCommand lets a host take part again, and forgets what went wrong there.
func unbanCommand(p *program) *cli.Command {
	r := newJobClient(p)
	return r.command(jobCommand{
		name: rendezvous.VerbUnban, usage: "lift the ban of a host, and forget its faults", example: "my-job gpu-7",
		arguments: "[flags] JOB HOST", host: true,
		note: "HOST is as gangrun status shows it, or the name of a node with a fault there. Its nodes take part from the next " +
			"round on.\nWithout a JOB it is the only one of a store within gangrun (--endpoint). A host that is not banned is no error; the " +
			"command says so.\nExits 66 when the store has no record of the job, 69 when it cannot be reached or is full.",
		act: r.unban,
	})
}

func (r *jobClient) unban(ctx context.Context, st store.Store) error {
	var s agent.Status
	if err := agent.Watch(ctx, st, func(now agent.Status) bool { s = now; return false }); err != nil {
		return err
	}
	if s.Job == nil {
		return agent.ErrNoJob
	}
	host, found := hostOf(s, r.host)
	if !found {
		fmt.Fprintf(stdout, "unban: %s is not banned and has no recorded fault%s\n", quoted(r.host), others(s))
		return nil
	}
	switch _, left, err := agent.Tell(ctx, st, rendezvous.VerbUnban, host, whoami()); {
	case errors.Is(err, agent.ErrNobodyThere):
		fmt.Fprintln(stdout, "unban: accepted; it takes effect when a node joins")
	case err != nil && !left:
		return err
	case err != nil:
		return untaken(r.timeout, err)
	case s.Hosts[host].Banned:
		fmt.Fprintf(stdout, "unban: %s may take part again from the next round on\n", quoted(host))
	default:
		fmt.Fprintf(stdout, "unban: %s was not banned; its score of %s is forgotten\n", quoted(host), score(s.Hosts[host].Score))
	}
	return nil
}

// hostOf is the host of that name, or the only one on which a node of that name had a fault.
func hostOf(s agent.Status, named string) (string, bool) {
	if _, found := s.Hosts[named]; found {
		return named, true
	}
	var hosts []string
	for host, h := range s.Hosts {
		if slices.ContainsFunc(h.Faults, func(f rendezvous.Fault) bool { return f.Node == named }) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 1 {
		return hosts[0], true
	}
	return "", false
}

// others says which hosts could have been meant.
func others(s agent.Status) string {
	if len(s.Hosts) == 0 {
		return "; no other host has one either"
	}
	var names []string
	for _, host := range slices.Sorted(maps.Keys(s.Hosts)) {
		names = append(names, quoted(host))
	}
	return "; hosts with faults: " + strings.Join(names, ", ")
}
