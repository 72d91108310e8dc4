package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/observe/account"
)

const barWidth = 40

// Text writes the report for a person at a terminal.
func (r *Report) Text(w io.Writer) {
	state := "still runs, or its end is missing"
	switch {
	case r.Over && r.Outcome != nil:
		state = fmt.Sprintf("%s, %s", r.Outcome.Verdict, r.Outcome.Reason)
	case r.Over:
		state = "has ended"
	}
	fmt.Fprintf(w, "job %s: %s, %s, %s", cmp.Or(plain.Text(r.Job), "without a name"), words.Count(len(r.Nodes), "node"),
		took(r.Elapsed), plain.Text(state))
	if r.Step != nil {
		fmt.Fprintf(w, ", step %d", *r.Step)
	}
	if r.Checkpoint != nil {
		fmt.Fprintf(w, ", newest checkpoint of step %d", r.Checkpoint.Step)
	}
	goodput := "unknown: no step was reported"
	if r.Goodput != nil {
		goodput = percent(*r.Goodput)
	}
	fmt.Fprintf(w, "\ngoodput %s\n\n", goodput)

	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, seconds float64, also string) {
		share := seconds / max(r.NodeTime, 0.001)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", name, took(seconds), percent(share), bar(share), also)
	}
	fmt.Fprintf(t, "where the time went\tnode time\tshare\t%s\tml-goodput-measurement\n", strings.Repeat(" ", barWidth))
	row("productive", r.Productive, "GOODPUT")
	sources := account.Sources()
	slices.SortStableFunc(sources, func(a, b account.Source) int { return cmp.Compare(r.Badput[b], r.Badput[a]) })
	for _, source := range sources {
		if r.Badput[source] > 0 {
			row(string(source), r.Badput[source], googles[source])
		}
	}
	if r.Pending > 0 {
		row("not known yet", r.Pending, "")
	}
	t.Flush()

	r.interruptions(w, t)
	r.nodes(w, t)
	fmt.Fprintf(w, "\nfix next: %s\n", plain.Text(r.Next))
	for _, p := range r.Problems {
		fmt.Fprintf(w, "missing: %s\n", plain.Text(p))
	}
}

// interruptions is what each of them has cost, and what those of one reason or one node have cost together.
func (r *Report) interruptions(w io.Writer, t *tabwriter.Writer) {
	if len(r.Disruptions) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", words.Count(len(r.Disruptions), "interruption"))
	fmt.Fprintln(t, "round\tat\treason\tnode\tlost steps\tcost, node time\tof it\twhy")
	for _, d := range r.Disruptions {
		lost := "unknown"
		if d.LostSteps != nil {
			lost = fmt.Sprint(*d.LostSteps)
		}
		if d.Final {
			lost = "-"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Round, d.At.Format(time.DateTime),
			plain.Text(cmp.Or(d.Reason, string(d.Kind), "unknown")), plain.Text(cmp.Or(d.Node, "-")), lost, took(d.Total), most(d.Cost),
			short(d.Why))
	}
	t.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(t, "by reason\ttimes\tlost steps\tcost, node time")
	for _, c := range r.Causes {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", plain.Text(c.Reason), c.Count, c.LostSteps, took(c.Seconds))
	}
	for _, b := range r.Blamed {
		fmt.Fprintf(t, "node %s\t%d\t\t%s\n", plain.Text(b.Node), b.Count, took(b.Seconds))
	}
	t.Flush()
}

// nodes compares the nodes, where there are several.
func (r *Report) nodes(w io.Writer, t *tabwriter.Writer) {
	if len(r.Nodes) < 2 {
		return
	}
	fmt.Fprintln(w)
	fmt.Fprintln(t, "node\tgoodput\t\tgangruns\tran for\tend")
	for _, n := range r.Nodes {
		ratio, end := "unknown", "-"
		if n.Goodput != nil {
			ratio = percent(*n.Goodput)
		}
		if n.Outcome != nil {
			end = fmt.Sprintf("%s, %s", n.Outcome.Verdict, n.Outcome.Reason)
		}
		share := 0.0
		if n.Goodput != nil {
			share = *n.Goodput
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\n", plain.Text(n.Node), ratio, bar(share), n.Processes, took(n.Elapsed), plain.Text(end))
	}
	t.Flush()
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func bar(share float64) string {
	n := int(math.Round(min(max(share, 0), 1) * barWidth))
	if n == 0 && share > 0 {
		return "." + strings.Repeat(" ", barWidth-1)
	}
	return strings.Repeat("#", n) + strings.Repeat(" ", barWidth-n)
}

// took is a time in two units at most.
func took(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1fs", seconds)
	}
	return fmt.Sprintf("%.2fs", seconds)
}

// most are the two largest parts of a cost.
func most(cost map[account.Source]float64) string {
	sources := account.Sources()
	slices.SortStableFunc(sources, func(a, b account.Source) int { return cmp.Compare(cost[b], cost[a]) })
	var parts []string
	for _, source := range sources[:2] {
		if cost[source] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", source, took(cost[source])))
		}
	}
	return strings.Join(parts, ", ")
}

// short is the beginning of a text, on one line.
func short(s string) string {
	const most = 100
	runes := []rune(plain.Text(s))
	if len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return string(runes)
}
