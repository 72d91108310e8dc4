// Package report says of a job that has run, or still runs, where its time has gone: from the events of all its
// nodes. It is pure, but for the files that it reads.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// Time is where the time of some nodes has gone, in seconds of node time: two nodes that wait for a second have lost two.
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
// process it is what its status, its page and its metrics say, in seconds. NodeTime counts from the beginning of the job.
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
var ErrNoEvents = errors.New("no events in it")

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
		{r.Badput[account.Unknown], "no step is reported in %s: have the workers report steps to NOTIFY_SOCKET; those that they only print do not count here"},
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
