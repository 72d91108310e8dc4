package main

import (
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/hang"
)

// recover strikes the job and lets it recover.
func (j *job) recover(k kind, at, trains, worked, checkpoint time.Duration) recovery {
	began := j.start.Add(at)
	for len(j.events) > 0 && j.events[0].at.Before(began) { // replacements come, which decides nothing
		j.now = j.events[0].at
		j.due()
	}
	j.now, j.worked, j.checkpoint = began, worked, checkpoint
	j.ended, j.stopsAt, j.outAt, j.trained, j.saved = false, time.Time{}, time.Time{}, 0, 0
	j.strike(k, trains)
	j.form()

	rec := recovery{ended: j.ended, stop: j.outAt.Sub(j.stopsAt), form: j.now.Sub(j.outAt) + j.store}
	rec.detect = j.stopsAt.Sub(began)
	rec.trained = min(j.trained, rec.detect)
	rec.saved = min(j.saved, rec.detect-rec.trained)
	rec.detect -= rec.trained + rec.saved
	if step := j.v.Round.Resume.Step; step != nil {
		rec.resume = time.Duration(*step) * time.Millisecond
	}
	return rec
}

// strike is the interruption, as the nodes come to know of it.
func (j *job) strike(k kind, trains time.Duration) {
	running := j.running()
	victim := running[0]
	stuck := func() {
		for _, name := range j.running() {
			j.put(name, j.fails(j.hung))
		}
	}
	seen := j.watchdog // where no step was told yet gangrun waits, and the ranks give up by themselves
	if k == lost || k == hangs {
		if after, found := hangSeen(j.step, trains); found {
			seen = after
		}
	}
	switch k {
	case exits:
		j.put(victim, j.fails(j.failed))
	case breaks:
		j.put(victim, j.fails(j.broke))
	case lost:
		j.after(j.lease, func() { delete(j.v.Nodes, victim) })
		j.after(j.replacement, j.join)
		j.afterInRound(seen, stuck)
	case hangs:
		j.afterInRound(seen, stuck)
	case planned:
		for _, name := range running {
			j.put(name, func(n *rendezvous.Node) {
				n.Service = &rendezvous.Service{Round: n.Round, Looks: trains > 0}
				n.Leaving, n.Asks = name == victim, name == victim
			})
		}
	}
}

// afterInRound is after, for what happens only if the round still runs.
func (j *job) afterInRound(d time.Duration, do func()) {
	round := j.v.Job.Round
	j.after(d, func() {
		if j.v.Job.Round == round && j.v.Job.Phase == rendezvous.Running {
			do()
		}
	})
}

// hangSeen asks the shipped detector, with its defaults, after how long it acts when training stands that has run for
// so long; it does not where too few steps were told.
func hangSeen(step, trains time.Duration) (after time.Duration, found bool) {
	var start time.Time
	d := hang.New(hang.Policy{}, 1, start)
	trains = max(trains, 0)
	now, last := start, start
	listen := func(until time.Time) (acts bool) {
		for now.Before(until) {
			now = d.Next()
			do := d.Tick(now)
			if do.Suspect != nil {
				d.Gathered()
			}
			if do.Hang != nil && do.Hang.Acts {
				return true
			}
		}
		return false
	}
	for i := range min(int64(trains/step), 3) { // more steps of the same length tell it nothing
		last = last.Add(step)
		listen(last)
		d.Told(0, hang.Sign{Step: &i}, last)
	}
	if !listen(last.Add(time.Hour)) {
		return 0, false
	}
	return now.Sub(last) - trains%step, true
}
