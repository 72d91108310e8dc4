package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// skew is how far the clocks of a machine and of its file server may be apart.
const skew = 5 * time.Minute

// offering is an offer while it is put together.
type offering struct {
	Offer
	Policy
	scan   Scan
	memory History
	other  string // whose checkpoints these are, when they are not the reader's
	began  bool   // this run has begun a round here
	now    time.Time

	newest time.Time           // of what can be used: when it was written
	cuts   map[int64]bool      // the steps of saves that this run began and that were cut
	saves  map[string]int      // how many there are of each series
	others []format.Checkpoint // that can be used, and are not of those among which one is chosen
}

// Offer weighs what a scan has shown. It is pure. The error says that it is unknown what there is: a checkpoint that
// cannot be read may be the newest.
func (p Policy) Offer(s Scan, m History, reader Run, now time.Time) (Offer, error) {
	s.Checkpoints = slices.Clone(s.Checkpoints)
	slices.SortStableFunc(s.Checkpoints, newestFirst)
	o := offering{
		Policy: p, scan: s, memory: m, other: p.Owner.mismatch(m.Run, reader), began: reader.UID != "" && m.Run == reader, now: now,
		cuts: map[int64]bool{}, saves: map[string]int{},
	}
	for _, c := range s.Checkpoints {
		o.saves[c.Series()]++
	}
	if s.Unseen > 0 {
		o.warn("%d directories further down were not searched, the oldest by their names", s.Unseen)
	}
	if s.Older > 0 {
		o.warn("%d that say no step were not verified, by their times the oldest", s.Older)
	}
	good, tied := p.eligible(s, m)
	for i, c := range s.Checkpoints {
		switch what, reason, detail := o.weighed(c); {
		case c.Reason.Unknown():
			if o.empty() {
				return Offer{}, &problem.Error{Reason: c.Reason, Detail: c.Path + ": " + c.Detail}
			}
		case what == usable && good[i]:
			o.take(c)
		case what == usable:
			if !o.lay(c) && !c.Tells {
				o.others = append(o.others, c)
			}
		default:
			o.leave(c, what, reason, detail)
		}
	}
	o.ask(tied)
	o.noLess()
	o.settle()
	return o.Offer, nil
}

// empty reports whether there is nothing yet to resume from.
func (o *Offer) empty() bool { return len(o.Steps)+len(o.Identities) == 0 }

// lay reports whether a checkpoint is not this run's.
func (o *offering) lay(c format.Checkpoint) bool { return o.began && o.memory.lay(c) }

// weighed says what one checkpoint is worth among the others: weights that are all that there is of a series may be what
// is left of a first save.
func (o *offering) weighed(c format.Checkpoint) (verdict, problem.Reason, string) {
	what, reason, detail := o.weigh(c, o.memory, o.other, o.now)
	if what == model && c.Part && o.saves[c.Series()] == 1 && (!c.InPlace || c.First) {
		what = torn
	}
	return what, reason, detail
}

// take offers one that can be used.
func (o *offering) take(c format.Checkpoint) {
	if o.newest.IsZero() {
		o.newest = c.Modified
	}
	if c.Doubt != "" && o.empty() {
		doubt := c.Doubt
		if c.Unsure {
			doubt = then(doubt, o.Ways.Ignore)
		}
		o.warn("%s", doubt)
	}
	if c.Step < 0 {
		o.Identities = append(o.Identities, c.Identity)
		return
	}
	if c.Modified.After(o.now.Add(skew)) {
		o.warn("%s is from the future, by %v: the clocks differ", c.Path, c.Modified.Sub(o.now).Round(time.Second))
	}
	if !slices.Contains(o.Steps, c.Step) { // the same step twice: the later written is taken
		o.Steps, o.Unit = append(o.Steps, c.Step), c.Unit
	}
}

// leave says of one that cannot be used what becomes of it: what is newer than all that can be is refused, what would be
// lost by a fresh start forbids one, and the rest says why a fresh start is right.
func (o *offering) leave(c format.Checkpoint, what verdict, reason problem.Reason, detail string) {
	cut, before := what == torn || what == ruined, o.lay(c)
	if what == state && c.Step < 0 && len(o.Steps) > 0 {
		o.warn("%s: %s", c.Path, detail)
	}
	if o.newest.IsZero() || cut && c.Step < 0 && c.Modified.After(o.newest) {
		o.refuse(c, reason, detail)
	}
	if what == torn && o.began && !before {
		o.cuts[c.Step] = true
	}
	switch {
	case what == state && !before, what == model && o.began && !before && !c.Data, what == ruined && !before:
		o.veto(reason, "%s", about(c.Path, detail))
	case what == model:
		o.fresh("%s is no training state (%s)", c.Path, cmp.Or(c.Detail, string(reason)))
	case cut && c.Complete:
		o.fresh("%s (no more is there of a first save, or it is no training state)", c.Detail)
	case cut:
		o.fresh("%s was cut while it was saved (%s), and there is no whole one before it", c.Path, strings.TrimPrefix(c.Detail, c.Path+": "))
	case what == state:
		o.fresh("%s lay there before this run began", c.Path)
	}
}

// fresh says why a fresh start is right, the first of several reasons.
func (o *Offer) fresh(format string, args ...any) {
	if o.Fresh == "" {
		o.Fresh = fmt.Sprintf(format, args...)
	}
}

// ask takes back what is offered where there is more than one training run, and nothing tells which is meant.
func (o *offering) ask(tied []string) {
	if o.empty() {
		return
	}
	if o.scan.Apart && !o.statesTogether(o.scan, o.memory, o.other, o.now) {
		o.Asks = true
		o.veto(problem.UnknownFormat, "there is no checkpoint in the directory itself, and several below it, of different writers (%s), and nothing says which is meant",
			strings.Join(o.scan.Below, ", ")+notAll(o.scan.Unseen))
	}
	if len(tied) > 0 && !o.Asks {
		o.Asks = true
		o.veto(problem.UnknownFormat, "%s and %s are of two training runs, by their names, written at the same time, and nothing says which is meant",
			tied[0], tied[1])
	}
	if o.Asks {
		o.Steps, o.Identities = nil, nil
	}
}

// noLess takes back a state without an optimizer where what held one was cut.
func (o *offering) noLess() {
	if o.empty() {
		return
	}
	if c := o.heldMore(o.scan, o.memory, o.At(o.scan, o.memory, o.First()), o.began, o.now); c != nil {
		o.Veto, o.Steps, o.Identities = nil, nil, nil
		o.veto(c.Reason, "%s; what is whole beside it has no state of an optimizer", about(c.Path, c.Detail))
	}
}

// settle ends the offer.
func (o *offering) settle() {
	switch {
	case !o.empty():
		o.Veto, o.Offer.Fresh = nil, ""
		o.passOver(o.others, o.At(o.scan, o.memory, o.First()))
	case len(o.cuts) == 1 && o.Veto == nil:
		for step := range o.cuts {
			if step >= 0 {
				o.Cut = &step
			}
		}
	}
	o.Steps, o.Identities = o.Steps[:min(len(o.Steps), maxLooks)], o.Identities[:min(len(o.Identities), maxLooks)]
}

func (o *Offer) warn(format string, args ...any) {
	o.Warnings = append(o.Warnings, fmt.Sprintf(format, args...))
}

// passOver says once for each series what is whole and not chosen.
func (o *Offer) passOver(others []format.Checkpoint, chosen *format.Checkpoint) {
	count := map[string]int{}
	for _, c := range others {
		count[c.Series()]++
	}
	for _, c := range others {
		n := count[c.Series()]
		if delete(count, c.Series()); n == 0 || chosen == nil {
			continue
		}
		name := c.Path
		if n > 1 {
			name = fmt.Sprintf("%s (and %d more like it)", c.Path, n-1)
		}
		switch {
		case c.Series() != chosen.Series():
			o.warn("passed over: %s, by the names not of the training run of %s", name, chosen.Path)
		case chosen.Optimizer && !c.Optimizer:
			o.warn("passed over: %s, without the state of an optimizer that %s has", name, chosen.Path)
		default:
			o.warn("passed over: %s, which does not say its step as %s does", name, chosen.Path)
		}
	}
}

func (o *Offer) refuse(c format.Checkpoint, reason problem.Reason, detail string) {
	c.Resumable, c.Reason, c.Detail = false, reason, detail
	o.Refused = append(o.Refused, c)
}

// veto keeps the first reason, and behind it the ways out.
func (o *offering) veto(reason problem.Reason, format string, args ...any) {
	if o.Veto == nil {
		o.Veto = &problem.Error{Reason: reason, Detail: then(fmt.Sprintf(format, args...), o.Ways.All)}
	}
}
