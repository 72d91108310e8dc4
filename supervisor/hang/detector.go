package hang

import (
	"cmp"
	"time"
)

// Detector watches the workers of one round. Times must not go back.
type Detector struct {
	policy  Policy
	workers []worker
	now     time.Time

	steps   int           // the most that any rank has told
	slowest time.Duration // from one to the next
	printed int

	// The newest of each kind of sign; the round's start before the first.
	toldAt, printedAt, movedAt, ranAt time.Time

	warned      bool
	suspectedAt time.Time // zero: there is no suspicion
	gathered    bool      // the evidence about it is there
	said        bool      // that it is a hang
	excused     bool      // workers elsewhere are busy

	waits    func() (time.Duration, bool) // nil: it is not known
	waited   time.Duration                // by waitedAt
	waitedAt time.Time
}

// New is the detector of a round of so many workers, which begins now.
func New(p Policy, workers int, now time.Time) *Detector {
	d := &Detector{policy: p, now: now, toldAt: now, printedAt: now, movedAt: now, ranAt: now}
	for range workers {
		d.workers = append(d.workers, worker{ranks: map[int]*rank{}})
	}
	return d
}

// Decision is what follows from a silence. Each report comes once for each silence.
type Decision struct {
	// Sample asks for what every worker uses.
	Sample  bool
	Warn    *Report // half of the limit is over
	Suspect *Report // all of it is: evidence is to be gathered
	Hang    *Report // and it was confirmed
	// Relieved says that a suspicion was none: there was progress again.
	Relieved bool
}

// Tick says what follows from what was heard until now. It is to be called a second after it was called last, or later.
func (d *Detector) Tick(now time.Time) (do Decision) {
	d.pass(now)
	if now.Sub(d.waitedAt) >= asleep { // it costs a file for each thread
		d.noteWaited()
	}
	if d.policy.Mode == Off || !d.armed() {
		return Decision{}
	}
	due, limit := d.due()
	half := due.Add(-limit / 2)
	do.Sample = !now.Before(half.Add(-min(2*period, limit/4)))
	if !d.suspectedAt.IsZero() && now.Before(due) { // I/O or output has put it off
		d.suspectedAt = time.Time{}
		do.Relieved = true
	}
	switch {
	case d.said:
	case !d.suspectedAt.IsZero():
		if !now.Before(d.confirmAt()) {
			d.said = true
			do.Hang = d.report(limit)
		}
	case !now.Before(due):
		d.suspectedAt, d.gathered = now, false
		do.Suspect = d.report(limit)
	case !now.Before(half) && !d.warned && d.warns():
		d.warned = true
		do.Warn = d.report(limit)
	}
	return do
}

// Next is when Tick is to be called at the latest, once it was called at now.
func (d *Detector) Next() time.Time {
	next := d.now.Add(d.period())
	if d.policy.Mode == Off || !d.armed() || d.said {
		return next
	}
	due, _ := d.due()
	if !d.suspectedAt.IsZero() {
		due = d.confirmAt()
	}
	if due.After(d.now) && due.Before(next) {
		return due
	}
	return next
}

// Suspects reports whether there is a suspicion, or a hang that was found.
func (d *Detector) Suspects() bool { return !d.suspectedAt.IsZero() }

// Gathered takes that the evidence about a suspicion is there.
func (d *Detector) Gathered() { d.gathered = true }

// confirmAt is when a suspicion is a hang.
func (d *Detector) confirmAt() time.Time {
	if d.gathered {
		return d.suspectedAt.Add(ConfirmTime)
	}
	return d.suspectedAt.Add(LateTime)
}

// period is how often Tick is to be called: what is printed is read then.
func (d *Detector) period() time.Duration {
	if d.policy.Timeout == 0 {
		return period
	}
	return min(period, max(period/10, d.policy.Timeout/10))
}

// Silent reports whether half of the limit is over, of a silence that would be acted on.
func (d *Detector) Silent(now time.Time) bool {
	if d.policy.Mode == Off || !d.armed() || !d.acts() {
		return false
	}
	due, limit := d.due()
	return !now.Before(due.Add(-limit / 2))
}

// armed reports whether there was enough to expect more, and anybody it can be expected of.
func (d *Detector) armed() bool { return (d.told() || d.exiting() || d.printed >= enough) && d.alive() }

// told reports whether steps speak.
func (d *Detector) told() bool { return d.steps >= enough }

func (d *Detector) alive() bool {
	for i := range d.workers {
		if !d.workers[i].ended {
			return true
		}
	}
	return false
}

// exiting reports whether all that live have told that they are about to end.
func (d *Detector) exiting() bool {
	said := false
	for i := range d.workers {
		w := &d.workers[i]
		if w.ended {
			continue
		}
		said = len(w.ranks) > 0
		for _, r := range w.ranks {
			said = said && r.phase == Exit
		}
		if !said {
			return false
		}
	}
	return said
}

// acts reports whether a hang would be acted on.
func (d *Detector) acts() bool {
	return d.policy.Mode == Act || d.policy.Mode == Auto && (d.told() || d.exiting())
}

// warns reports whether half of the limit is worth a word: where nothing follows from the whole either, it is not.
func (d *Detector) warns() bool { return d.told() || d.exiting() || d.policy.Mode == Act }

// due is when the silence, as it is by now, is a hang, and after how long.
func (d *Detector) due() (at time.Time, limit time.Duration) {
	if !d.told() && !d.exiting() {
		return d.dueByOutput()
	}
	limit = d.longer(d.limit())
	at = d.toldAt.Add(limit)
	other := d.movedAt
	if d.policy.Timeout == 0 { // else the user's time is about steps
		other = later(other, d.printedAt)
	}
	if d.exiting() { // what uploads or merges the last checkpoint runs, and waits for nobody
		other = later(other, d.ranAt)
	}
	// I/O, as of a checkpoint, puts it off, but not for ever: something writes always.
	if putOff := earlier(other.Add(limit), d.toldAt.Add(max(limit, PutOff))); putOff.After(at) {
		at = putOff
	}
	return at, limit
}

func (d *Detector) dueByOutput() (time.Time, time.Duration) {
	last, limit := later(d.toldAt, later(d.printedAt, d.movedAt)), d.policy.Timeout
	if limit == 0 {
		last, limit = later(last, d.ranAt), Quiet // a collective that waits may spin: CPU time is the weakest sign
	}
	limit = d.longer(limit)
	return last.Add(limit), limit
}

// limit is how long a silence may last where steps are told: the longest that any rank's phase allows. Ranks that are
// about to end count only when all are.
func (d *Detector) limit() (longest time.Duration) {
	if d.exiting() {
		return d.limitOf(Exit)
	}
	for i := range d.workers {
		w := &d.workers[i]
		if w.ended {
			continue
		}
		if len(w.ranks) == 0 {
			longest = max(longest, d.limitOf(Train))
		}
		for _, r := range w.ranks {
			if r.phase != Exit {
				longest = max(longest, d.limitOf(r.phase))
			}
		}
	}
	return longest
}

func (d *Detector) limitOf(phase string) time.Duration {
	switch {
	case phase == Exit:
		return cmp.Or(d.policy.ExitTimeout, UsualExit)
	case phase != Train:
		return max(Quiet, d.policy.Timeout, Factor*d.slowest)
	case d.policy.Timeout != 0:
		return d.policy.Timeout
	case !d.settled():
		return max(Quiet, Spread*d.slowest)
	}
	return max(Usual, Factor*d.slowest)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
