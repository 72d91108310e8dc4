package report

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

// sum adds up the nodes' time.
func (r *Report) sum(processes []*process) {
	byNode := map[string][]*process{}
	for _, p := range processes {
		p.summary = p.tally.At(time.Time{})
		byNode[p.summary.Node] = append(byNode[p.summary.Node], p)
		r.hear(p)
	}
	r.Elapsed = account.Seconds(r.At.Sub(r.StartedAt))
	r.Badput = map[account.Source]float64{}
	var steps uint64
	var stepped time.Duration
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		list := byNode[name]
		r.add(r.nodeOf(name, list))
		for _, p := range list {
			h := p.tally.StepTimes()
			steps, stepped = steps+h.N, stepped+h.Sum
			if p.summary.Step != nil {
				r.Step = p.summary.Step
			}
		}
		if last := list[len(list)-1]; r.Over && last.summary.Phase != account.Ended {
			r.problem("%s: its last gangrun has no end: it was killed, or its last events are missing", name)
		}
	}
	r.ratio(r.StepMax != nil)
	if steps > 0 {
		r.StepTime = account.Seconds(stepped / time.Duration(steps))
	}
}

// hear takes what a process says of the whole job: of several the last, the first, or the most.
func (r *Report) hear(p *process) {
	s := &p.summary
	if r.StartedAt.IsZero() || s.StartedAt.Before(r.StartedAt) {
		r.StartedAt = s.StartedAt
	}
	if !s.At.Before(r.At) {
		r.At, r.Outcome, r.Over = s.At, s.Outcome, s.Phase == account.Ended
	}
	if s.Restarts.Total+s.Restarts.Preemptions >= r.Restarts.Total+r.Restarts.Preemptions {
		r.Restarts = s.Restarts
	}
	if s.Checkpoint != nil && (r.Checkpoint == nil || !s.Checkpoint.Modified.Before(r.Checkpoint.Modified)) {
		r.Checkpoint = s.Checkpoint
	}
	if s.Round != nil {
		r.Rounds = max(r.Rounds, *s.Round+1)
	}
	if s.StepMax != nil && (r.StepMax == nil || *s.StepMax > *r.StepMax) {
		r.StepMax = s.StepMax
	}
	if p.lost > 0 {
		r.problem("%s: %d events are missing", s.Node, p.lost)
	}
	if first := p.events[0]; first.Type != event.RunStarted {
		r.problem("%s: what was before %s is missing", s.Node, first.At.Format(time.RFC3339))
	}
}

// nodeOf is a node by the processes that it has had, from the beginning of the job to its end.
func (r *Report) nodeOf(name string, processes []*process) Node {
	n := Node{Node: name, Time: Time{NodeTime: r.Elapsed, Badput: map[account.Source]float64{}}}
	told := false
	for _, p := range processes {
		s := &p.summary
		n.Processes++
		n.Restarted += s.Restarted
		n.Productive, n.Training, n.Pending = n.Productive+s.Productive, n.Training+s.Training, n.Pending+s.Pending
		for source, seconds := range s.Badput {
			n.Badput[source] += seconds
		}
		n.Elapsed += s.Elapsed
		told = told || s.Goodput != nil
		n.Outcome = s.Outcome
	}
	n.Elapsed = round(n.Elapsed)
	n.Badput[account.Idle] = max(r.Elapsed-n.Elapsed, 0)
	n.ratio(told)
	return n
}

// add adds a node to the whole, and rounds what it shows of it.
func (r *Report) add(n Node) {
	r.NodeTime, r.Pending = r.NodeTime+n.NodeTime, r.Pending+n.Pending
	r.Productive, r.Training = r.Productive+n.Productive, r.Training+n.Training
	for source, seconds := range n.Badput {
		n.Badput[source] = round(seconds)
		r.Badput[source] = round(r.Badput[source] + seconds)
	}
	r.Nodes = append(r.Nodes, n)
}

func (t *Time) ratio(known bool) {
	t.NodeTime, t.Productive = round(t.NodeTime), round(t.Productive)
	t.Training, t.Pending = round(t.Training), round(t.Pending)
	if known && t.NodeTime > 0 {
		ratio := math.Round(t.Productive/t.NodeTime*1e6) / 1e6
		t.Goodput = &ratio
	}
}

func round(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }
