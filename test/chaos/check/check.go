// Package check decides whether a job that was broken on purpose kept what is promised. It knows nothing of how: it
// reads what the workers wrote down, what was done, the exit codes and the termination messages, and nothing else.
package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// message is what the checker reads of a termination message, by the names that the documentation has.
type message struct {
	Verdict   string `json:"verdict"`
	Reason    string `json:"reason"`
	ExitCode  int    `json:"exitCode"`
	RootCause *struct {
		Node     string `json:"node"`
		Reason   string `json:"reason"`
		Signal   string `json:"signal"`
		ExitCode *int   `json:"exitCode"`
	} `json:"rootCause"`
}

// view is a job in the order in which it happened.
type view struct {
	history.Job
	rounds []int                    // in order
	opens  map[int][]history.Record // by round
	states []string                 // after each step
	final  []history.End            // of each node the last gangrun
	end    map[string]message       // of each of these
}

var rules = []struct {
	name  string
	check func(*view) []string
}{
	{"R1: one round at a time", oneRound},
	{"R1: a rank starts once in a round", oneStart},
	{"R2: nothing of another round", nothingStale},
	{"R2: the job's record goes on from the one before", goesOn},
	{"R4: one resume point", oneResumePoint},
	{"no saved step is lost", nothingLost},
	{"R4: what a round begins at is on all disks", onAllDisks},
	{"R7: ranks are stable", stableRanks},
	{"R3: one verdict", oneVerdict},
	{"R5: local trouble stays local", local},
	{"a stop is obeyed", obeyed},
	{"R6: workers stop in time without the store", stopInTime},
	{"R6: a short outage stops nobody", outageStopsNobody},
	{"the same loss", sameLoss},
	{"nothing is left", nothingLeft},
	{"it comes to its end", comesToAnEnd},
}

// Check returns what went wrong, each with the rule's name.
func Check(j history.Job) (wrong []string) {
	v := newView(j)
	for _, r := range rules {
		found := r.check(v)
		for _, text := range found[:min(len(found), 5)] {
			wrong = append(wrong, r.name+": "+text)
		}
	}
	return wrong
}

func newView(j history.Job) *view {
	v := &view{Job: j, opens: map[int][]history.Record{}, end: map[string]message{}, states: []string{""}}
	v.Records = slices.Clone(j.Records)
	slices.SortStableFunc(v.Records, func(a, b history.Record) int { return cmp.Compare(a.At, b.At) })
	last := 0
	for _, r := range v.Records {
		if r.Kind == history.Open {
			if len(v.opens[r.Round]) == 0 {
				v.rounds = append(v.rounds, r.Round)
			}
			v.opens[r.Round] = append(v.opens[r.Round], r)
		}
		last = max(last, r.Step)
	}
	slices.Sort(v.rounds)
	for step := 1; step <= last; step++ {
		v.states = append(v.states, history.State(v.states[step-1], step))
	}
	for _, e := range j.Ends {
		i := slices.IndexFunc(v.final, func(f history.End) bool { return f.Node == e.Node })
		if i < 0 {
			v.final = append(v.final, e)
		} else if v.final[i].Pod < e.Pod {
			v.final[i] = e
		}
	}
	for _, e := range v.final {
		if m, ok := read(e); ok {
			v.end[e.Node] = m
		}
	}
	return v
}

func read(e history.End) (m message, ok bool) {
	return m, len(e.Message) > 0 && json.Unmarshal(e.Message, &m) == nil
}

// asleep reports whether that node's gangrun was paused for longer than anybody waits, before or at that time.
func (v *view) asleep(node string, at int64) bool {
	return slices.ContainsFunc(v.Faults, func(f history.Fault) bool {
		return f.Long && f.Node == node && f.From <= at && at <= f.To+int64(5*time.Second)
	})
}

// anyAsleep reports whether any was.
func (v *view) anyAsleep(at int64) bool {
	return slices.ContainsFunc(v.Faults, func(f history.Fault) bool { return f.Long && v.asleep(f.Node, at) })
}

func oneRound(v *view) (wrong []string) {
	first := map[int]int64{}
	for _, r := range v.rounds {
		first[r] = v.opens[r][0].At
	}
	told := map[string]bool{}
	for _, r := range v.Records {
		if r.Kind == history.Beside && !v.anyAsleep(r.At) {
			wrong = append(wrong, fmt.Sprintf("%s: %s", who(r), r.Text))
		}
		for _, other := range v.rounds {
			if key := fmt.Sprint(r.Round, r.Rank, other); other > r.Round && r.At > first[other] && !told[key] && !v.asleep(r.Node, r.At) {
				told[key] = true
				wrong = append(wrong, fmt.Sprintf("%s still does a %s %v after round %d has begun", who(r), r.Kind,
					time.Duration(r.At-first[other]), other))
			}
		}
	}
	return wrong
}

func oneStart(v *view) (wrong []string) {
	for _, round := range v.rounds {
		seen := map[int]string{}
		for _, r := range v.opens[round] {
			if before, found := seen[r.Rank]; found {
				wrong = append(wrong, fmt.Sprintf("%s was started after %s", who(r), before))
			}
			seen[r.Rank] = who(r)
		}
	}
	return wrong
}

func nothingStale(v *view) (wrong []string) {
	for _, r := range v.Records {
		if r.Kind == history.Foreign {
			wrong = append(wrong, fmt.Sprintf("%s was called by %s", who(r), r.Text))
		}
	}
	return wrong
}

// goesOn finds what was decided on a record that was not the newest any more.
func goesOn(v *view) (wrong []string) {
	for i, w := range v.Writes[min(1, len(v.Writes)):] {
		before := v.Writes[i]
		if w.Run == "" || before.Run == "" || w.Run != before.Run {
			continue // somebody has deleted it, or another run begins
		}
		if w.Seq != before.Seq+1 || w.Round < before.Round {
			wrong = append(wrong, fmt.Sprintf("write %d, of round %d, comes after write %d, of round %d",
				w.Seq, w.Round, before.Seq, before.Round))
		}
	}
	return wrong
}

func oneResumePoint(v *view) (wrong []string) {
	for _, round := range v.rounds {
		first := v.opens[round][0]
		for _, r := range v.opens[round] {
			if r.Step != first.Step || r.Decision != first.Decision || r.World != first.World || r.Meet != first.Meet {
				wrong = append(wrong, fmt.Sprintf("%s begins at %s (%s of %d ranks, %s), %s at %s (%s of %d, %s)", who(r), at(r), r.Decision,
					r.World, r.Meet, who(first), at(first), first.Decision, first.World, first.Meet))
			}
			if r.Made != first.Made && r.Step == first.Step {
				wrong = append(wrong, fmt.Sprintf("%s is given what round %d has saved, %s what round %d has, both of %s",
					who(r), r.Made, who(first), first.Made, at(r)))
			}
			if r.State != v.states[r.Step] {
				wrong = append(wrong, fmt.Sprintf("%s was given %s, and what is in it is not that step's: %s", who(r), at(r), r.Path))
			}
		}
	}
	return wrong
}

// nothingLost follows what is whole on each disk. What is newer than the point at which a round begins belongs to a
// branch that was given up.
func nothingLost(v *view) (wrong []string) {
	disks := map[string]map[int]bool{}
	disk := func(node string) map[int]bool {
		if !v.Own {
			node = "all"
		}
		if disks[node] == nil {
			disks[node] = map[int]bool{0: true}
		}
		return disks[node]
	}
	for _, round := range v.rounds {
		newest := 0
		for step := range disk(v.opens[round][0].Node) {
			all := true
			for _, node := range v.disks() { // also of those whose workers were stopped before they could write a line
				all = all && disk(node)[step]
			}
			if all {
				newest = max(newest, step)
			}
		}
		given := v.opens[round][0]
		if given.Step < newest {
			wrong = append(wrong, fmt.Sprintf("%s was given %s, and step %d was whole for all", who(given), at(given), newest))
		}
		for _, steps := range disks {
			for step := range steps {
				if step > given.Step {
					delete(steps, step)
				}
			}
		}
		for _, r := range v.Records {
			if r.Round == round && r.Kind == history.Saved {
				disk(r.Node)[r.Step] = true
			}
		}
	}
	return wrong
}

// disks are the nodes that have one: all of them, where they are not elastic, or one for all.
func (v *view) disks() (nodes []string) {
	if !v.Own {
		return []string{"all"}
	}
	for i := range v.Nodes {
		nodes = append(nodes, fmt.Sprint("n", i))
	}
	return nodes
}

// onAllDisks wants nobody to be given what is not on the disk of each node: a round without one that cannot begin is
// none. A save of which only the beginning was written down may be whole.
func onAllDisks(v *view) (wrong []string) {
	nodes := v.disks()
	disks := map[string]map[int]bool{}
	for _, node := range nodes {
		disks[node] = map[int]bool{0: true}
	}
	for _, round := range v.rounds {
		given := v.opens[round][0]
		for _, node := range nodes {
			if !disks[node][given.Step] {
				wrong = append(wrong, fmt.Sprintf("%s was given %s, which is not on the disk of %s", who(given), at(given), node))
			}
			for step := range disks[node] {
				if step > given.Step {
					delete(disks[node], step)
				}
			}
		}
		for _, r := range v.Records {
			disk := disks["all"]
			if v.Own {
				disk = disks[r.Node]
			}
			switch {
			case r.Round != round || disk == nil:
			case r.Kind == history.Save:
				disk[r.Step] = true
			case r.Kind == history.Cut:
				delete(disk, r.Step)
			}
		}
	}
	return wrong
}

// stableRanks goes by the nodes' own ranks: of a node's workers one may have been stopped before it could write a line.
func stableRanks(v *view) (wrong []string) {
	before := map[string]history.Record{}
	for i, round := range v.rounds {
		now := map[string]history.Record{}
		for _, r := range v.opens[round] {
			now[r.Node] = r
		}
		for node, r := range now {
			is := r.Rank / v.Ranks
			if rank, pinned := v.Pinned[node]; pinned && is != rank {
				wrong = append(wrong, fmt.Sprintf("%s is of node rank %d, and was given %d", who(r), is, rank))
			}
			b, found := before[node]
			if was := b.Rank / v.Ranks; found && v.rounds[i-1] == round-1 && b.Pod == r.Pod && b.World == r.World && was != is {
				wrong = append(wrong, fmt.Sprintf("%s is of node rank %d, and was of %d in the round before", who(r), is, was))
			}
		}
		before = now
	}
	return wrong
}

func oneVerdict(v *view) (wrong []string) {
	if v.Stuck != "" {
		return nil // which is told elsewhere
	}
	var first string
	for _, e := range v.final {
		m, ok := v.end[e.Node]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s left no message: %q", e.Node, e.Message))
			continue
		}
		if m.ExitCode != e.Code {
			wrong = append(wrong, fmt.Sprintf("%s exits with %d, and its message says %d", e.Node, e.Code, m.ExitCode))
		}
		text := fmt.Sprintf("%d %s %s", e.Code, m.Verdict, m.Reason)
		if c := m.RootCause; c != nil {
			text += fmt.Sprintf(", by %s: %s %s", c.Node, c.Reason, c.Signal)
			if c.ExitCode != nil {
				text += fmt.Sprint(" ", *c.ExitCode)
			}
		}
		if first = cmp.Or(first, text); text != first {
			wrong = append(wrong, fmt.Sprintf("%s ends with %s, %s with %s", e.Node, text, v.final[0].Node, first))
		}
		switch {
		case v.Fatal == "" && (e.Code != 0 || m.Verdict != "success"):
			wrong = append(wrong, fmt.Sprintf("%s ends with %s, and nothing was told to fail for good", e.Node, text))
		case v.Fatal != "" && (e.Code != 1 || m.Verdict != "fatal" || m.RootCause == nil || m.RootCause.Node != v.Fatal):
			wrong = append(wrong, fmt.Sprintf("%s ends with %s, and a worker of %s failed with 1 for good", e.Node, text, v.Fatal))
		}
	}
	return wrong
}

// alone are the codes with which one gangrun may leave while its job goes on: told to, without its store, its machine
// or its peers.
var alone = map[int]string{143: "preempted", 211: "retry", 213: "retry", 214: "retry"}

func local(v *view) (wrong []string) {
	for _, e := range v.Ends {
		if e.Killed || slices.ContainsFunc(v.final, func(f history.End) bool { return f.Node == e.Node && f.Pod == e.Pod }) {
			continue
		}
		m, ok := read(e)
		switch want, may := alone[e.Code]; {
		case !may || e.Code == 143 && e.Told == 0:
			wrong = append(wrong, fmt.Sprintf("gangrun %d of %s exits with %d: %s", e.Pod, e.Node, e.Code, e.Message))
		case ok && (m.ExitCode != e.Code || m.Verdict != want):
			wrong = append(wrong, fmt.Sprintf("gangrun %d of %s exits with %d, and says %s", e.Pod, e.Node, e.Code, e.Message))
		}
	}
	return wrong
}

// patience is how long a gangrun may take that is told to stop: the grace, what is left behind, a store that does not
// answer.
const patience = 30 * time.Second

func obeyed(v *view) (wrong []string) {
	for _, e := range v.Ends {
		if took := time.Duration(e.At - e.Told); e.Told > 0 && took > patience && !v.paused(e.Node, e.Told, e.At) {
			wrong = append(wrong, fmt.Sprintf("gangrun %d of %s was told to stop %v before it ended", e.Pod, e.Node, took))
		}
	}
	return wrong
}

// slack is what a busy machine may take for what is due.
const slack = 3 * time.Second

func stopInTime(v *view) (wrong []string) {
	for _, f := range v.Faults {
		if f.Kind != "cut" && f.Kind != "outage" {
			continue
		}
		due := f.From + int64(v.Half+slack)
		for _, r := range v.Records {
			if (f.Node == "" || r.Node == f.Node) && r.At > due && r.At < f.To && !v.paused(r.Node, f.From, r.At) {
				wrong = append(wrong, fmt.Sprintf("%s does a %s %v after it lost the store (%s)", who(r), r.Kind, time.Duration(r.At-f.From), f.Kind))
				break
			}
		}
	}
	return wrong
}

// paused reports whether that node's gangrun had no processor time then, or the whole machine had none to spare.
func (v *view) paused(node string, from, to int64) bool {
	return slices.ContainsFunc(v.Faults, func(f history.Fault) bool {
		return (f.Kind == "stop gangrun" && f.Node == node || f.Kind == history.Starved) && f.From < to && f.To > from
	})
}

func outageStopsNobody(v *view) (wrong []string) {
	for _, f := range v.Faults {
		until := min(f.To, f.From+int64(v.Half-slack))
		if f.Kind != "outage" || slices.ContainsFunc(v.Faults, func(o history.Fault) bool {
			return o != f && o.From < until && max(o.From, o.To) > f.From-int64(5*time.Second)
		}) {
			continue
		}
		type worker struct{ round, rank int }
		last := map[worker]history.Record{}
		settled := map[worker]int{}
		for _, r := range v.Records {
			w := worker{r.Round, r.Rank}
			last[w] = r
			if r.Kind == history.Stepped && r.At < f.From && r.At > f.From-int64(time.Second) {
				settled[w]++
			}
		}
		for w, r := range last {
			if settled[w] > 1 && r.At < until && r.Kind != history.Done {
				wrong = append(wrong, fmt.Sprintf("%s does nothing after %v of an outage of %v", who(r), time.Duration(r.At-f.From), time.Duration(f.To-f.From)))
			}
		}
	}
	return wrong
}

func sameLoss(v *view) (wrong []string) {
	if v.Stuck != "" || v.Fatal != "" {
		return nil
	}
	done, world, step := map[int]bool{}, 0, 0
	for _, r := range v.Records {
		if r.Kind != history.Done {
			continue
		}
		if r.State != v.states[r.Step] {
			wrong = append(wrong, fmt.Sprintf("%s ends at step %d with another loss than a run that nobody interrupts", who(r), r.Step))
		}
		if r.Round == v.rounds[len(v.rounds)-1] {
			done[r.Rank], world, step = true, r.World, cmp.Or(step, r.Step)
			if r.Step != step {
				wrong = append(wrong, fmt.Sprintf("%s ends at step %d, another rank at %d", who(r), r.Step, step))
			}
		}
	}
	if len(done) != world || world == 0 {
		wrong = append(wrong, fmt.Sprintf("success, and %d of %d ranks of the last round have trained to the end", len(done), world))
	}
	return wrong
}

func nothingLeft(v *view) (wrong []string) {
	if len(v.Left) > 0 {
		wrong = append(wrong, strings.Join(v.Left, ", "))
	}
	return wrong
}

func comesToAnEnd(v *view) []string {
	if v.Stuck == "" {
		return nil
	}
	return []string{v.Stuck}
}

func who(r history.Record) string {
	return fmt.Sprintf("rank %d of round %d (%s, its gangrun %d)", r.Rank, r.Round, r.Node, r.Pod)
}

func at(r history.Record) string { return fmt.Sprint("step ", r.Step) }
