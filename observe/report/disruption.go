package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
)

// Disruption is one round of the job that was interrupted, and what that has cost all its nodes together, in seconds.
type Disruption struct {
	Run       string                     `json:"run,omitempty"`
	Round     int                        `json:"round"`
	At        time.Time                  `json:"at"`
	Kind      event.Kind                 `json:"kind,omitempty"`
	Reason    string                     `json:"reason,omitempty"`
	Why       string                     `json:"why"`
	Node      string                     `json:"node,omitempty"` // whose worker it was; left out where nobody tells
	Cause     *event.Failed              `json:"cause,omitempty"`
	LostSteps *int64                     `json:"lostSteps,omitempty"`
	Cost      map[account.Source]float64 `json:"costSeconds"`
	Total     float64                    `json:"totalSeconds"`
	Longest   float64                    `json:"longestSeconds"` // on one node
	Final     bool                       `json:"final,omitempty"`
	blamed    string                     // whose it was, as the job has judged
}

// Cause is what all interruptions of one reason have cost.
type Cause struct {
	Reason    string  `json:"reason"`
	Count     int     `json:"count"`
	LostSteps int64   `json:"lostSteps"`
	Seconds   float64 `json:"seconds"`
}

// Blame is what all interruptions that began on one node have cost.
type Blame struct {
	Node    string  `json:"node"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
}

// disruptions puts together what the nodes tell of the same round.
func (r *Report) disruptions(processes []*process) {
	type key struct {
		run   string
		round int
	}
	byRound := map[key]*Disruption{}
	for _, p := range processes {
		for _, d := range p.summary.Disruptions {
			k := key{p.summary.Run, d.Round}
			whole := byRound[k]
			if whole == nil {
				whole = &Disruption{Run: k.run, Round: d.Round, At: d.At, Why: d.Why, Cost: map[account.Source]float64{}}
				byRound[k] = whole
			}
			whole.add(d)
		}
	}
	for _, d := range byRound {
		d.settle()
	}
	causes, blamed := map[string]*Cause{}, map[string]*Blame{}
	for _, d := range byRound {
		r.Disruptions = append(r.Disruptions, *d)
		reason := d.Reason
		switch {
		case d.Kind == event.Asked:
			reason = account.ReasonAsked
		case reason == "":
			reason = account.ReasonOther
		}
		if causes[reason] == nil {
			causes[reason] = &Cause{Reason: reason}
		}
		c := causes[reason]
		c.Count, c.Seconds = c.Count+1, round(c.Seconds+d.Total)
		if d.LostSteps != nil {
			c.LostSteps += *d.LostSteps
		}
		if d.Node != "" {
			if blamed[d.Node] == nil {
				blamed[d.Node] = &Blame{Node: d.Node}
			}
			b := blamed[d.Node]
			b.Count, b.Seconds = b.Count+1, round(b.Seconds+d.Total)
		}
	}
	slices.SortFunc(r.Disruptions, func(a, b Disruption) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Round, b.Round))
	})
	r.Causes, r.Blamed = []Cause{}, []Blame{}
	for _, reason := range slices.Sorted(maps.Keys(causes)) {
		r.Causes = append(r.Causes, *causes[reason])
	}
	for _, node := range slices.Sorted(maps.Keys(blamed)) {
		r.Blamed = append(r.Blamed, *blamed[node])
	}
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return cmp.Compare(b.Seconds, a.Seconds) })
	slices.SortStableFunc(r.Blamed, func(a, b Blame) int { return cmp.Compare(b.Seconds, a.Seconds) })
}

// add puts one node's part in. Of several that name a cause the job says which one counted, by its node, else by its
// reason; else it is the earliest.
func (d *Disruption) add(part account.Disruption) {
	if part.At.Before(d.At) {
		d.At = part.At
	}
	d.Kind, d.Reason = cmp.Or(part.Kind, d.Kind), cmp.Or(part.Reason, d.Reason)
	d.blamed = cmp.Or(part.Blamed, d.blamed)
	if c := part.Cause; c != nil && (d.Cause == nil || d.better(part)) {
		d.Cause, d.Node, d.Why = c, part.Node, c.Message
	}
	if part.Cause == nil && d.Cause == nil {
		d.Node, d.Why = cmp.Or(d.Node, part.Node), part.Why
	}
	if part.LostSteps != nil && (d.LostSteps == nil || *part.LostSteps > *d.LostSteps) {
		d.LostSteps = part.LostSteps
	}
	for source, seconds := range part.Cost {
		d.Cost[source] = round(d.Cost[source] + seconds)
	}
	d.Total, d.Longest = round(d.Total+part.Total), max(d.Longest, part.Total)
	d.Final = d.Final || part.Final
}

// settle puts the job's word above what the nodes say: who is gone has left no cause, and the others only echo it.
func (d *Disruption) settle() {
	if d.blamed == "" || d.Node == d.blamed {
		return
	}
	if d.Cause != nil {
		d.Cause, d.Why = nil, fmt.Sprintf("%s tells no cause of its own; %s: %s", d.blamed, d.Node, d.Why)
	}
	d.Node = d.blamed
}

// better reports whether a node's cause outranks the one that is known.
func (d *Disruption) better(part account.Disruption) bool {
	if a, b := part.Node == part.Blamed, d.Node == part.Blamed; part.Blamed != "" && a != b {
		return a
	}
	if a, b := part.Cause.Reason == d.Reason, d.Cause.Reason == d.Reason; a != b {
		return a
	}
	return part.Cause.At.Before(d.Cause.At)
}
