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

// told takes what the furthest rank has told.
func (p *pace) told(step *int64, now time.Time) {
	if step == nil || p.most != nil && *step <= *p.most {
		return
	}
	if p.most != nil && p.many {
		p.each = append(p.each, now.Sub(p.at)/time.Duration(*step-*p.most))
		p.each = p.each[max(0, len(p.each)-paceSteps):]
	}
	p.many = p.many || p.most != nil
	p.most, p.at = step, now
}

// step is how long one takes mostly; 0 where it is not known.
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
