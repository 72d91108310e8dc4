package node

import (
	"slices"
	"time"
)

// pace is how far the furthest rank has come in the round, and how fast.
type pace struct {
	most *int64
	at   time.Time       // when that was told
	each []time.Duration // what the latest steps took, without the first, in which a program is compiled
	many bool            // the first is over
}

const (
	paceSteps = 9                      // that count
	paceKnown = 500 * time.Millisecond // a step of which nothing is heard for so long is slow
)

// furthest is the step of the rank that has come furthest, and when it told that.
func (all Reported) furthest() (step *int64, at time.Time) {
	for _, r := range all {
		if r.Most != nil && (step == nil || *r.Most > *step || *r.Most == *step && r.MostAt.Before(at)) {
			step, at = r.Most, r.MostAt
		}
	}
	return step, at
}

// told takes the report of the furthest rank, and when it was made. Reports are handed on several at a time, sometimes twice
// in a row: when that happens says nothing about how long a step takes.
func (p *pace) told(step *int64, at time.Time) {
	if step == nil || p.most != nil && *step <= *p.most {
		return
	}
	if took := at.Sub(p.at); p.most != nil && p.many && took > 0 {
		p.each = append(p.each, took/time.Duration(*step-*p.most))
		p.each = p.each[max(0, len(p.each)-paceSteps):]
	}
	p.many = p.many || p.most != nil
	p.most, p.at = step, at
}

// step is how long a step usually takes; 0 if that is unknown.
func (p *pace) step() time.Duration {
	if len(p.each) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(p.each))[len(p.each)/2]
}

// knownAt is when it is known whether steps are so fast that a few of them do not give the time to tell all.
func (p *pace) knownAt(now time.Time) time.Time {
	if p.most == nil || len(p.each) > 0 || now.Sub(p.at) >= paceKnown {
		return now
	}
	return p.at.Add(paceKnown)
}
