package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/location"
)

// notSaid stands for what is not in the job's record.
const notSaid = "?"

// showStatus writes where a job stands, of at most that many nodes; 0 is all.
func showStatus(w io.Writer, name string, s agent.Status, now time.Time, most int) {
	for _, key := range slices.Sorted(maps.Keys(s.Unreadable)) {
		fmt.Fprintln(w, "unreadable:", plain.Text(s.Unreadable[key]))
	}
	j := s.Job
	if j == nil {
		fmt.Fprintf(w, "job %s: the store has no record of it\n", quoted(name))
		return
	}
	round := "no round yet"
	if j.Round >= 0 {
		round = fmt.Sprintf("round %d", j.Round)
	}
	fmt.Fprintf(w, "job %s: %s for %v, %s, run %s\n", quoted(name), j.Phase, ago(now, j.Since), round,
		plain.Text(j.RunUID))
	fmt.Fprintf(w, "restarts charged: %d of %d without progress; in total %d after failures, %d after preemptions\n",
		j.Budget.Used, j.Spec.Restarts.Max, j.Budget.Total, j.Budget.Preemptions)
	fmt.Fprintln(w, "checkpoint:", checkpointText(j, s.Round))
	fmt.Fprintln(w, "furthest step:", furthest(s))
	last := lastStop(j)
	if last != nil {
		showStop(w, *last, now)
	}
	switch {
	case j.End != nil:
		fmt.Fprintf(w, "ended: %s, %s (exit code %d): %s\n", j.End.Verdict, plain.Text(j.End.Reason), j.End.Code,
			plain.Text(j.End.Message))
		fmt.Fprintf(w, "this record is kept for another %v\n",
			max(0, j.Since.Add(time.Duration(j.Spec.TTL)).Sub(now)).Round(time.Second))
	case s.Why.Text != "":
		fmt.Fprintln(w, "now:", plain.Text(s.Why.Text))
	}
	showHosts(w, s, now)
	showNodes(w, s, most)
	for _, p := range slices.Backward(j.History) {
		if last != nil && p.Round == last.Round { // shown above
			continue
		}
		what := cmp.Or(p.Reason, p.Kind)
		if p.Node != "" {
			what += " on " + p.Node
		}
		fmt.Fprintf(w, "round %d stopped %v ago: %s\n", p.Round, ago(now, p.At), plain.Text(what))
	}
}

func ago(now, at time.Time) time.Duration { return max(0, now.Sub(at)).Round(time.Second) }

// checkpointText is what the record says about checkpoints: the newest that every node had, and what the round resumed
// from.
func checkpointText(j *rendezvous.Job, r *rendezvous.Round) string {
	text := "none that all nodes have"
	if j.Reached != nil {
		text = fmt.Sprintf("step %d is the newest that all nodes had", *j.Reached)
	}
	switch {
	case r == nil:
	case r.Resume.Step != nil:
		text += fmt.Sprintf("; round %d began from %s %d", r.Number, cmp.Or(plain.Text(r.Resume.Unit), "step"),
			*r.Resume.Step)
	case r.Resume.Identity != "":
		text += fmt.Sprintf("; round %d began from one without a step", r.Number)
	default:
		text += fmt.Sprintf("; round %d started without one", r.Number)
	}
	return text
}

// furthest is the highest step in the record.
func furthest(s agent.Status) string {
	most := s.Job.Budget.Mark.Step
	for name := range s.Nodes {
		if step, _ := came(s, name); step != nil && (most == nil || *step > *most) {
			most = step
		}
	}
	if most == nil {
		return "not in the job's record"
	}
	return strconv.FormatInt(*most, 10)
}

// came is how far a node has come: what it has said of the round that is over, or says while its workers run.
func came(s agent.Status, name string) (step, checkpoint *int64) {
	n := s.Nodes[name]
	step = n.Step
	if c := n.Checkpoints; c != nil && c.Unit == "" && len(c.Steps) > 0 {
		checkpoint = &c.Steps[0]
	}
	if p := s.Reached[name]; p != nil && p.Round == n.Round && n.State == rendezvous.NodeRunning {
		step, checkpoint = cmp.Or(p.Step, step), cmp.Or(p.Checkpoint, checkpoint)
	}
	return step, checkpoint
}

// lastStop is why the last round stopped, or the run ended.
func lastStop(j *rendezvous.Job) *rendezvous.Stop {
	if j.End != nil && j.End.Cause != nil {
		return j.End.Cause
	}
	return j.Stop
}

func showStop(w io.Writer, s rendezvous.Stop, now time.Time) {
	what := "last stop"
	switch s.Kind {
	case rendezvous.StopFailure, rendezvous.StopLoss, rendezvous.StopStore:
		what = "last failure"
	}
	where := []string{fmt.Sprintf("round %d", s.Round)}
	if s.Node != "" {
		where = append(where, plain.Text(s.Node))
	}
	if s.Outcome != nil && s.Outcome.Rank >= 0 {
		where = append(where, fmt.Sprintf("rank %d", s.Outcome.Rank))
	}
	fmt.Fprintf(w, "%s: %s, %s, %v ago", what, plain.Text(cmp.Or(s.Reason, s.Kind)), strings.Join(where, ", "),
		ago(now, s.At))
	if s.Message != "" {
		fmt.Fprint(w, ": ", plain.Text(s.Message))
	}
	fmt.Fprintln(w)
	if o := s.Outcome; o != nil && o.Evidence != "" && !strings.Contains(s.Message, o.Evidence) {
		fmt.Fprintln(w, "  evidence:", plain.Text(o.Evidence))
	}
	if o := s.Outcome; o != nil && o.Rule != "" {
		fmt.Fprintln(w, "  by the rule", plain.Text(o.Rule))
	}
}

// showJobs writes a line for each job.
func showJobs(w io.Writer, namespace string, jobs []location.Job, more bool, now time.Time) {
	if len(jobs) == 0 {
		fmt.Fprintf(w, "no job in the namespace %s\n", quoted(namespace))
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tphase\tfor\tround\tnodes\trestarts\tcheckpoint\tlast stop")
	for _, found := range jobs {
		j := found.Record
		switch {
		case found.Unreadable != "":
			fmt.Fprintf(t, "%s\tunreadable\t\t\t\t\t\t%s\n", quoted(found.Name), plain.Text(found.Unreadable))
			continue
		case j == nil:
			fmt.Fprintf(t, "%s\tno record\t\t\t\t\t\t-\n", quoted(found.Name))
			continue
		}
		last := ""
		if stop := lastStop(j); stop != nil {
			last = fmt.Sprintf("%s, %v ago",
				strings.TrimSpace(plain.Text(stop.Node)+" "+plain.Text(cmp.Or(stop.Reason, stop.Kind))),
				ago(now, stop.At))
		}
		fmt.Fprintf(t, "%s\t%s\t%v\t%d\t%s\t%d of %d\t%s\t%s\n", quoted(found.Name), j.Phase, ago(now, j.Since),
			j.Round, j.Spec.NodesText(), j.Budget.Used, j.Spec.Restarts.Max, said(j.Reached), cmp.Or(last, "-"))
	}
	t.Flush()
	if more {
		fmt.Fprintln(w, "and more")
	}
}
