// Package report says of a job that has run, or still runs, where its time has gone: from the events of all its
// nodes. It is pure, but for the files that it reads.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

// Report is one job. Its JSON form is stable: keys may be added. Seconds of several nodes are added up, each node
// from the beginning of the job to its end: two nodes that wait for a second have lost two.
type Report struct {
	V         int       `json:"v"`
	Job       string    `json:"job,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	At        time.Time `json:"at"` // of the last event
	Over      bool      `json:"over"`
	Elapsed   float64   `json:"elapsedSeconds"` // from the first node's start to the last event of any
	Step      *int64    `json:"step,omitempty"`
	StepMax   *int64    `json:"stepMax,omitempty"`
	StepTime  float64   `json:"stepSeconds,omitzero"` // on average
	Rounds    int       `json:"rounds"`

	Checkpoint *event.Checkpoint `json:"checkpoint,omitempty"`
	Restarts   event.Restarts    `json:"restarts"`
	Outcome    *event.End        `json:"outcome,omitempty"` // of the node that ended last
	Time
	Nodes       []Node       `json:"nodes"`
	Disruptions []Disruption `json:"disruptions"`
	Causes      []Cause      `json:"causes"`
	Blamed      []Blame      `json:"blamed"`
	Next        string       `json:"next"` // the next thing worth fixing
	Words       Words        `json:"words"`
	// Problems are what is missing in the events, so that the numbers are not the whole truth.
	Problems []string `json:"problems"`

	spans []span
	curve []point
}

// Time is where the time of some nodes has gone.
type Time struct {
	NodeTime   float64                    `json:"nodeSeconds"`
	Productive float64                    `json:"productiveSeconds"`
	Training   float64                    `json:"trainingSeconds"`
	Pending    float64                    `json:"pendingSeconds"`
	Badput     map[account.Source]float64 `json:"badputSeconds"`
	// Goodput is productive over all time; left out where no step was told.
	Goodput *float64 `json:"goodput,omitempty"`
}

// Node is one node of the job, over all processes of gangrun that it has had. Elapsed is how long those have run: of one
// process it is what its status, its page and its metrics say. NodeTime counts from the beginning of the job.
type Node struct {
	Node      string  `json:"node"`
	Processes int     `json:"processes"`
	Restarted int     `json:"restarted"`
	Elapsed   float64 `json:"elapsedSeconds"`
	Time
	Outcome *event.End `json:"outcome,omitempty"`
}

// process is one gangrun.
type process struct {
	events  []event.Event
	tally   account.Tally
	summary account.Summary
	seq     int64 // of the last event
	lost    int64 // events that are missing in between
}

// ErrNoEvents is that of files without any.
var ErrNoEvents = errors.New("no events in it; want a file that --events has written")

// Build makes the report of the job whose events these are, in any order. It returns an error where there are none, or
// where they are of several jobs.
func Build(events []event.Event, problems []string) (*Report, error) {
	if len(events) == 0 {
		return nil, ErrNoEvents
	}
	slices.SortStableFunc(events, func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Seq, b.Seq))
	})
	r := &Report{V: 1, Job: events[0].Job, Problems: slices.Clone(problems)}
	jobs := map[string]bool{}
	var processes []*process
	for i, e := range events {
		jobs[e.Job] = true
		if i == 0 || events[i-1].Source != e.Source {
			processes = append(processes, &process{})
		}
		p := processes[len(processes)-1]
		p.events = append(p.events, e)
	}
	if len(jobs) > 1 {
		return nil, fmt.Errorf("these are events of several jobs: %q; a report is of one", slices.Sorted(maps.Keys(jobs)))
	}
	slices.SortStableFunc(processes, func(a, b *process) int { return a.events[0].At.Compare(b.events[0].At) })
	before := map[string]*process{}
	for _, p := range processes {
		p.tally.All = true
		node := p.events[0].Node
		if earlier := before[node]; earlier != nil {
			p.tally.Continue(&earlier.tally)
		}
		before[node] = p
		for _, e := range p.events {
			r.take(p, e)
		}
	}
	r.sum(processes)
	r.disruptions(processes)
	r.Next = r.next()
	r.Words = r.words()
	if r.Problems == nil {
		r.Problems = []string{}
	}
	return r, nil
}

// take adds one event of a process.
func (r *Report) take(p *process, e event.Event) {
	if e.Type == event.EventsDropped || e.Seq <= p.seq {
		return
	}
	p.lost += e.Seq - p.seq - 1
	p.seq = e.Seq
	before, since := p.tally.Phase()
	p.tally.Add(e)
	if after, at := p.tally.Phase(); before != after || !at.Equal(since) {
		r.spanned(e, after, at)
	}
	if e.Type == event.Progress && e.Step != nil {
		r.curve = append(r.curve, point{e.At, *e.Step})
	}
}

// sum adds up the nodes' time.
func (r *Report) sum(processes []*process) {
	byNode := map[string][]*process{}
	for _, p := range processes {
		p.summary = p.tally.At(time.Time{})
		s := &p.summary
		byNode[s.Node] = append(byNode[s.Node], p)
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
	r.Elapsed = account.Seconds(r.At.Sub(r.StartedAt))
	var steps uint64
	var stepped time.Duration
	r.Badput = map[account.Source]float64{}
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		n := Node{Node: name, Time: Time{NodeTime: r.Elapsed, Badput: map[account.Source]float64{}}}
		told := false
		for _, p := range byNode[name] {
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
			h := p.tally.StepTimes()
			steps, stepped = steps+h.N, stepped+h.Sum
			if s.Step != nil {
				r.Step = s.Step
			}
		}
		n.Elapsed = round(n.Elapsed)
		n.Badput[account.Idle] = max(r.Elapsed-n.Elapsed, 0)
		n.ratio(told)
		r.NodeTime, r.Pending = r.NodeTime+n.NodeTime, r.Pending+n.Pending
		r.Productive, r.Training = r.Productive+n.Productive, r.Training+n.Training
		for source, seconds := range n.Badput {
			n.Badput[source] = round(seconds)
			r.Badput[source] = round(r.Badput[source] + seconds)
		}
		r.Nodes = append(r.Nodes, n)
		last := byNode[name][len(byNode[name])-1]
		if r.Over && last.summary.Phase != account.Ended {
			r.problem("%s: its last gangrun has no end: it was killed, or its last events are missing", name)
		}
	}
	r.ratio(r.StepMax != nil)
	if steps > 0 {
		r.StepTime = account.Seconds(stepped / time.Duration(steps))
	}
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

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// next is what costs most among what can be fixed.
func (r *Report) next() string {
	share := func(seconds float64) string {
		return fmt.Sprintf("%.1f %% of the time", 100*seconds/max(r.NodeTime, 0.001))
	}
	first := func(source account.Source) float64 { // what no interruption has to answer for
		seconds := r.Badput[source]
		for _, d := range r.Disruptions {
			seconds -= d.Cost[source]
		}
		return seconds
	}
	type candidate struct {
		seconds float64
		text    string
	}
	list := []candidate{
		{r.Badput[account.CheckpointSave], "saving checkpoints takes %s: save beside training, or less often"},
		{first(account.Startup), "the first start takes %s, until the first step is reported"},
		{first(account.Rendezvous), "waiting for nodes before the first round takes %s"},
		{r.Badput[account.Idle], "nodes without a gangrun while the job ran make up %s"},
		{r.Badput[account.Unknown], "no step is reported in %s: have the workers report steps to NOTIFY_SOCKET"},
	}
	for _, c := range r.Causes {
		where := ""
		for _, d := range r.Disruptions {
			if d.Reason == c.Reason && d.Node != "" {
				where = ", last on " + d.Node
			}
		}
		often := fmt.Sprintf("%d times", c.Count)
		if c.Count == 1 {
			often = "once"
		}
		text := strings.ReplaceAll(fmt.Sprintf("%s, %s%s", c.Reason, often, where), "%", "%%") // others name reasons and nodes
		list = append(list, candidate{c.Seconds, text + ", costs %s"})
	}
	worst := slices.MaxFunc(list, func(a, b candidate) int { return cmp.Compare(a.seconds, b.seconds) })
	if worst.seconds < 0.01*r.NodeTime {
		return "nothing: no single thing costs a hundredth of the time"
	}
	return fmt.Sprintf(worst.text, share(worst.seconds))
}
