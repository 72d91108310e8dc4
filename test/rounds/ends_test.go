package rounds_test

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// kill is kill -9, and waits until nothing is left of the gangrun and its workers.
func (p *party) kill(n *node) {
	p.t.Helper()
	n.Signal(syscall.SIGKILL)
	<-n.Done()
	p.until("the end of the workers of "+n.name, func(all []*worker) bool {
		return !slices.ContainsFunc(all, func(w *worker) bool { return w.Node == n.name && !w.Gone() })
	})
}

// end is how all of them have to end.
type end struct {
	code    int
	verdict exitcodes.Verdict
	reason  string
}

var succeeded = end{0, exitcodes.Success, "Succeeded"}

// all waits for the ends of the nodes, which have to be alike: code, verdict, reason, and what was the cause.
func (p *party) all(nodes []*node, want end) (ends []harness.Ended) {
	p.t.Helper()
	for _, n := range nodes {
		e := n.End()
		if e.Code != want.code || e.Verdict != want.verdict || e.Reason != want.reason {
			p.t.Errorf("%s: exit code %d, %s, %s; want %v\n%s\n%s", n.name, e.Code, e.Verdict, e.Reason, want, e.Raw, e.Stderr)
		}
		ends = append(ends, e)
		if first := ends[0]; want != preempted && cause(e) != cause(first) {
			p.t.Errorf("%s and %s do not agree on the cause:\n%s\n%s", ends[0].Node, n.name, first.Raw, e.Raw)
		}
	}
	return ends
}

// cause is what the nodes of a job have to agree on beyond its end.
func cause(e harness.Ended) string {
	text := fmt.Sprintf("restarts %+v", *e.Restarts)
	if c := e.RootCause; c != nil {
		text += fmt.Sprintf(", node %s, reason %s, signal %s", c.Node, c.Reason, c.Signal)
		if c.ExitCode != nil {
			text += fmt.Sprintf(", code %d", *c.ExitCode)
		}
	}
	return text
}

// succeed waits until all have succeeded, in a round, after so many restarts and preemptions of the job.
func (p *party) succeed(nodes []*node, round, restarts, preemptions int) {
	p.t.Helper()
	for _, e := range p.all(nodes, succeeded) {
		if *e.Round != round || e.Restarts.Used != restarts || e.Restarts.Preemptions != preemptions {
			p.t.Errorf("%s ends in round %d, restarts %+v; want round %d, restarts %d, preemptions %d", e.Node, *e.Round, *e.Restarts, round, restarts, preemptions)
		}
	}
}

// finish lets all workers succeed.
func finish(workers []*worker) {
	for _, w := range workers {
		w.Do("exit 0")
	}
}
