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

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
)

// statusRow is a node as the record shows it, or a member of the round that has no key any more.
type statusRow struct {
	name, role  string
	rank        int // -1: none
	state       string
	round       int
	step        *int64
	behind      *int64 // steps, of the furthest node of the same round
	checkpoint  *int64
	slots       int
	address     string
	failure     string
	conspicuous bool // shown first where not all are
}

// statusRows are the nodes in the order of their ranks, including members of a round whose keys are gone, as after the end
// of a job.
func statusRows(s agent.Status) []statusRow {
	var rows []statusRow
	for name := range s.Nodes {
		rows = append(rows, nodeRow(s, name))
	}
	if s.Round != nil {
		for rank, m := range s.Round.Members {
			n, found := s.Nodes[m.Name]
			if !found || n.Incarnation != m.Incarnation && (n.Rank == nil || *n.Rank != rank) {
				rows = append(rows, goneRow(s, rank, m))
			}
		}
	}
	sayBehind(s, rows)
	slices.SortFunc(rows, func(a, b statusRow) int {
		if a.rank >= 0 != (b.rank >= 0) {
			return cmp.Compare(b.rank, a.rank) // those without come last
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	return rows
}

// nodeRow is a node by its own record.
func nodeRow(s agent.Status, name string) statusRow {
	n := s.Nodes[name]
	row := statusRow{
		name: name, role: n.Role, rank: -1, state: string(n.State), round: n.Round, slots: n.Slots, address: n.Address,
	}
	row.step, row.checkpoint = came(s, name)
	if s.Round != nil {
		row.rank = s.Round.Rank(name, n.Incarnation)
		if row.rank < 0 && n.Rank != nil && n.Round == s.Round.Number { // it took another one's place in the round
			row.rank = *n.Rank
		}
	}
	if n.Leaving {
		row.state += ", leaving"
	}
	if n.Outcome != nil && n.Outcome.Verdict != "success" {
		row.failure = n.Outcome.Message
	}
	row.conspicuous = n.Leaving || row.failure != "" ||
		s.Job.Phase == rendezvous.Running && n.State != rendezvous.NodeRunning
	return row
}

// goneRow is a member of the round that has no record any more.
func goneRow(s agent.Status, rank int, m rendezvous.Member) statusRow {
	row := statusRow{
		name: m.Name, role: m.Role, rank: rank, state: "gone", round: s.Round.Number, slots: m.Slots, address: notSaid,
		conspicuous: s.Job.End == nil,
	}
	if stop := lastStop(s.Job); stop != nil && stop.Node == m.Name && stop.Round == s.Round.Number {
		row.failure = stop.Message
	}
	return row
}

// sayBehind compares the nodes of each round by what they reported at its end: what nodes report while they run is from
// different moments.
func sayBehind(s agent.Status, rows []statusRow) {
	furthest, told := map[int]int64{}, map[int]int{}
	for _, n := range s.Nodes {
		if n.Step != nil {
			furthest[n.Round] = max(furthest[n.Round], *n.Step)
			told[n.Round]++
		}
	}
	for i, r := range rows {
		if n := s.Nodes[r.name]; n.Step != nil && told[r.round] > 1 {
			behind := furthest[r.round] - *n.Step
			rows[i].behind = &behind
		}
	}
}

func showNodes(w io.Writer, s agent.Status, most int) {
	rows := statusRows(s)
	var rest []statusRow
	if most > 0 && len(rows) > most {
		slices.SortStableFunc(rows, func(a, b statusRow) int {
			switch {
			case a.conspicuous == b.conspicuous:
				return 0
			case a.conspicuous:
				return -1
			}
			return 1
		})
		rows, rest = rows[:most], rows[most:]
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "node\trole\trank\tstate\tround\tslots\taddress\tstep\tbehind\tcheckpoint\tlast failure")
	unsaid := false
	for _, r := range rows {
		rank := "-"
		if r.rank >= 0 {
			rank = strconv.Itoa(r.rank)
		}
		round := "-" // it has not run one yet
		if r.round >= 0 {
			round = strconv.Itoa(r.round)
		}
		unsaid = unsaid || r.step == nil || r.checkpoint == nil
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", plain.Text(r.name),
			cmp.Or(plain.Text(r.role), "-"), rank, r.state, round, r.slots, plain.Text(r.address), said(r.step),
			said(r.behind), said(r.checkpoint), cmp.Or(plain.Text(r.failure), "-"))
	}
	t.Flush()
	if len(rest) > 0 {
		states := map[string]int{}
		for _, r := range rest {
			states[r.state]++
		}
		var list []string
		for _, state := range slices.Sorted(maps.Keys(states)) {
			list = append(list, fmt.Sprintf("%d %s", states[state], state))
		}
		fmt.Fprintf(w, "and %d more: %s\n", len(rest), strings.Join(list, ", "))
	}
	switch {
	case unsaid && s.Job.End != nil:
		fmt.Fprintln(w, notSaid+": not in the job's record; a node takes its own along when it ends")
	case unsaid:
		fmt.Fprintln(w,
			notSaid+": not in the job's record. A node's step is there while its training reports or prints steps, up to a")
		fmt.Fprintln(w, "   minute old, and once its round is over.")
	}
}

func said(n *int64) string {
	if n == nil {
		return notSaid
	}
	return strconv.FormatInt(*n, 10)
}
