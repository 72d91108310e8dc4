package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Policy is what a user asks of a checkpoint besides being whole.
type Policy struct {
	MaxAge time.Duration // 0: any age
	World  int           // number of ranks that will read it; 0 when not known
	// Owner is who may have written the checkpoints of a directory.
	Owner Owner
	// Way is how a user may say that what lies in the directory is not what it seems: the flags that do, for messages.
	Way string
}

// Owner says whose checkpoints a run may resume from.
type Owner string

// Whose checkpoints a run may resume from.
const (
	OwnerJob Owner = "job" // those of any run of a job of the same name; the default
	OwnerRun Owner = "run" // those of the same run alone
	OwnerAny Owner = "any"
)

// Run is one run of a job. Empty parts are not known.
type Run struct {
	Job string `json:"job,omitempty"`
	UID string `json:"runUid,omitempty"`
}

// mismatch says in what the writer differs from the reader, empty when it does not or when that is unknown.
func (o Owner) mismatch(writer, reader Run) string {
	switch {
	case o == OwnerAny:
	case writer.Job != "" && reader.Job != "" && writer.Job != reader.Job:
		return fmt.Sprintf("job %s wrote here, and this is job %s", writer.Job, reader.Job)
	case o == OwnerRun && writer.UID != "" && reader.UID != "" && writer.UID != reader.UID:
		return fmt.Sprintf("run %s wrote here, and this is run %s", writer.UID, reader.UID)
	}
	return ""
}

// Offer is what a node has to offer for the next round.
type Offer struct {
	// Steps are those of the checkpoints that it can resume from, newest first, in Unit; of these and of Identities the
	// newest 64 at most.
	Steps []int64
	Unit  format.Unit
	// Identities stand for those that say no step, newest first. They count where there are no Steps.
	Identities []string
	// Refused are the newer ones that it cannot resume from, and why. What was cut says no step: it is newer by its time.
	Refused []format.Checkpoint
	// Veto says why nothing may be started at all: the content is that of a training run, and to start from nothing
	// instead would lose it. Empty when there is no such reason.
	Veto *problem.Error
	// Asks says that Veto is a question: there is more than one training run here, and nothing tells which is meant.
	Asks bool
	// Warnings are sentences about what looks wrong and stops nothing.
	Warnings []string
	// Fresh says why a start from nothing is right, when there is nothing to resume from.
	Fresh string
	// Cut is the step of a save that this run began here and did not end, when there is nothing else: the first of all. It
	// is nil where there is more than one, or none that says its step.
	Cut *int64
}

// skew is how far the clocks of a machine and of its file server may be apart.
const skew = 5 * time.Minute

// ways are the flags for what is not what it seems, the narrowest first.
const ways = "--checkpoint-pattern GLOB says which ones are this training run's, --checkpoint-ignore GLOB which are not; with --resume own " +
	"the script finds its state itself; --checkpoint-require never starts over"

// verdict is what one checkpoint is worth for a reader.
type verdict int

const (
	usable  verdict = iota
	ignored         // it says nothing: it was moved aside, or is being written
	model           // whole, and no training state
	state           // a training state, whole, and not to be resumed from
	torn            // cut while it was written
	ruined          // cut while it was written over an earlier one, which may have been whole
)

// Offer weighs what a scan has shown. It is pure. The error says that it is unknown what there is: a checkpoint that
// cannot be read may be the newest.
func (p Policy) Offer(s Scan, m History, reader Run, now time.Time) (Offer, error) {
	var o Offer
	other := p.Owner.mismatch(m.Run, reader)
	began := reader.UID != "" && m.Run == reader // this run has begun a round here
	s.Checkpoints = slices.Clone(s.Checkpoints)
	slices.SortStableFunc(s.Checkpoints, newestFirst)
	good, tied := p.eligible(s, m)
	var newest time.Time // of what can be used: when it was written
	cuts := map[int64]bool{}
	saves := map[string]int{}
	var others []format.Checkpoint // that can be used, and are not of those among which one is chosen
	for _, c := range s.Checkpoints {
		saves[c.Series()]++
	}
	if s.Unseen > 0 {
		o.warn("%d directories further down were not searched, the oldest by their names", s.Unseen)
	}
	if s.Older > 0 {
		o.warn("%d that say no step were not verified, by their times the oldest", s.Older)
	}
	for i, c := range s.Checkpoints {
		if c.Reason.Unknown() {
			if len(o.Steps)+len(o.Identities) == 0 {
				return Offer{}, &problem.Error{Reason: c.Reason, Detail: c.Path + ": " + c.Detail}
			}
			continue
		}
		what, reason, detail := p.weigh(c, m, other, now)
		if what == model && c.Part && saves[c.Series()] == 1 && (!c.InPlace || c.First) {
			what = torn // all that there is of the first save
		}
		before := began && m.lay(c)
		switch {
		case what == usable && !good[i]:
			if len(o.Steps)+len(o.Identities) == 0 && !slices.Contains(good, true) {
				continue
			}
			if !before {
				others = append(others, c)
			}
			continue
		}
		if what == usable && newest.IsZero() {
			newest = c.Modified
		}
		if what == usable && c.Doubt != "" && len(o.Steps)+len(o.Identities) == 0 {
			doubt := c.Doubt
			if c.Unsure {
				doubt += "; if it is none: " + cmp.Or(p.Way, "--checkpoint-ignore GLOB passes it over")
			}
			o.warn("%s", doubt)
		}
		switch {
		case what == usable && c.Step < 0:
			o.Identities = append(o.Identities, c.Identity)
			continue
		case what == usable:
			if c.Modified.After(now.Add(skew)) {
				o.warn("%s is from the future, by %v: the clocks differ", c.Path, c.Modified.Sub(now).Round(time.Second))
			}
			if !slices.Contains(o.Steps, c.Step) { // the same step twice: the later written is taken
				o.Steps, o.Unit = append(o.Steps, c.Step), c.Unit
			}
			continue
		}
		if what == state && c.Step < 0 && len(o.Steps) > 0 {
			o.warn("%s: %s", c.Path, detail)
		}
		cut := what == torn || what == ruined
		if newest.IsZero() || cut && c.Step < 0 && c.Modified.After(newest) {
			o.refuse(c, reason, detail)
		}
		if what == torn && began && !before {
			cuts[c.Step] = true
		}
		switch {
		case what == state && !before, what == model && began && !before && !c.Data, what == ruined && !before:
			o.veto(reason, "%s; %s", about(c.Path, detail), cmp.Or(p.Way, ways))
		case what == model:
			o.Fresh = cmp.Or(o.Fresh, fmt.Sprintf("%s is no training state (%s)", c.Path, cmp.Or(c.Detail, string(reason))))
		case cut && c.Complete:
			o.Fresh = cmp.Or(o.Fresh, fmt.Sprintf("%s (no more is there of a first save, or it is no training state)", c.Detail))
		case cut:
			o.Fresh = cmp.Or(o.Fresh, fmt.Sprintf("%s was cut while it was saved (%s), and there is no whole one before it", c.Path, strings.TrimPrefix(c.Detail, c.Path+": ")))
		case what == state:
			o.Fresh = cmp.Or(o.Fresh, fmt.Sprintf("%s lay there before this run began", c.Path))
		}
	}
	if s.Apart && len(o.Steps)+len(o.Identities) > 0 && !p.statesTogether(s, m, other, now) {
		o.Steps, o.Identities = nil, nil
		o.Asks = true
		o.veto(problem.UnknownFormat, "there is no checkpoint in the directory itself, and several below it, of different writers (%s): which is meant? %s",
			strings.Join(s.Below, ", ")+notAll(s.Unseen), cmp.Or(p.Way, ways))
	}
	if len(tied) > 0 && len(o.Steps)+len(o.Identities) > 0 {
		o.Steps, o.Identities = nil, nil
		o.Asks = true
		o.veto(problem.UnknownFormat, "%s and %s are of two training runs, by their names, and were written at the same time: which is meant? %s",
			tied[0], tied[1], cmp.Or(p.Way, ways))
	}
	if c := p.heldMore(s, m, p.At(s, m, o.First()), began, now); c != nil {
		o.Veto, o.Steps, o.Identities = nil, nil, nil
		o.veto(c.Reason, "%s; what is whole beside it has no state of an optimizer; %s", about(c.Path, c.Detail), cmp.Or(p.Way, ways))
	}
	if len(o.Steps)+len(o.Identities) > 0 {
		o.Veto, o.Fresh = nil, ""
		o.passOver(others, p.At(s, m, o.First()))
	} else if len(cuts) == 1 && o.Veto == nil {
		for step := range cuts {
			if step >= 0 {
				o.Cut = &step
			}
		}
	}
	o.Steps, o.Identities = o.Steps[:min(len(o.Steps), maxLooks)], o.Identities[:min(len(o.Identities), maxLooks)]
	return o, nil
}

// statesTogether reports whether of several directories all hold weights alone, each whole, but for one, or for those that
// differ in their numbers alone and were written by the same program: the weights are those of the states there.
func (p Policy) statesTogether(s Scan, m History, other string, now time.Time) bool {
	if s.Unseen > 0 {
		return false
	}
	var in, writers []string
	for _, c := range s.Checkpoints {
		if what, _, _ := p.weigh(c, m, other, now); what == model {
			continue
		}
		for _, dir := range s.Below {
			if c.Path != dir && !strings.HasPrefix(c.Path, dir+"/") {
				continue
			}
			in, writers = append(in, dir), append(writers, c.Format)
		}
	}
	slices.Sort(writers)
	in, writers = slices.Compact(in), slices.Compact(writers)
	return len(in) < 2 || format.Versions(in) && len(writers) == 1
}

// notAll says that there may be more.
func notAll(unseen int) string {
	if unseen == 0 {
		return ""
	}
	return fmt.Sprintf(" and perhaps in %d more", unseen)
}

// newestFirst orders by steps, and what says none by when it was written: some say of which step they are only when they
// are looked into.
func newestFirst(a, b format.Checkpoint) int {
	if c := cmp.Compare(b.Step, a.Step); c != 0 || a.Step >= 0 {
		return c
	}
	switch { // a copy may be younger than what it is a copy of
	case a.WasBefore() && !b.WasBefore():
		return 1
	case b.WasBefore() && !a.WasBefore():
		return -1
	}
	return b.Modified.Compare(a.Modified)
}

// about names a checkpoint once in a sentence that mostly names it already.
func about(path, detail string) string {
	if strings.HasPrefix(detail, path) {
		return detail
	}
	return path + ": " + detail
}

// weigh says what one checkpoint is worth, and why it is not to be used. other says whose it is when it is not the
// reader's.
func (p Policy) weigh(c format.Checkpoint, m History, other string, now time.Time) (verdict, problem.Reason, string) {
	switch {
	case !c.Complete:
		switch c.Reason {
		case problem.PointerDangling, problem.PointerMalformed:
			return ignored, c.Reason, c.Detail
		case problem.InProgress:
			return torn, c.Reason, c.Detail
		}
		if c.InPlace && !c.First {
			return ruined, c.Reason, c.Detail
		}
		return torn, c.Reason, c.Detail
	case !c.Resumable && c.Training:
		return state, c.Reason, c.Detail
	case !c.Resumable:
		return model, c.Reason, c.Detail
	case m.superseded(c):
		return ignored, problem.Quarantined, "training failed twice after it, and went back behind it"
	case other != "":
		return state, problem.OtherRun, other
	case c.WorldSize > 0 && p.World > 0 && c.WorldSize != p.World && !c.Elastic:
		return state, problem.WorldSizeMismatch, fmt.Sprintf("%d ranks wrote it, and %d would read it", c.WorldSize, p.World)
	case c.Step < 0 && c.Identity == "":
		return state, problem.UnknownFormat, "it is whole, and nothing says of which step it is"
	case p.MaxAge > 0 && now.Sub(c.Modified) > p.MaxAge:
		return state, problem.TooOld, fmt.Sprintf("%v old, and at most %v are allowed", now.Sub(c.Modified).Round(time.Second), p.MaxAge)
	}
	return usable, "", ""
}

// eligible marks those checkpoints among which one is chosen: of one series, since steps of two training runs say
// nothing of one another. It is the one in which something has appeared since this run began, else the one that was
// written last, else the only one with the state of an optimizer; where there are several, tied names a checkpoint of
// each of two. What may be a part of another goes behind them all. Where some of a series have the state of an optimizer,
// the others are its weights. Numbers count before none, and steps before epochs.
func (p Policy) eligible(s Scan, m History) (good []bool, tied []string) {
	type series struct {
		path                              string // of its newest
		fresh, optimizer, numbered, steps bool
		newest                            time.Time
		lacks                             bool // all of them are known to have none
		whole                             bool // one of them is no part of another
		beside                            bool // all of them may be parts of another's
		at                                map[int64]bool
	}
	of := map[string]*series{}
	whole := func(c format.Checkpoint) bool { return c.Complete && c.Resumable && !m.superseded(c) }
	for _, c := range s.Checkpoints {
		if !whole(c) {
			continue
		}
		x := of[c.Series()]
		if x == nil {
			x = &series{path: c.Path, lacks: true, at: map[int64]bool{}}
			of[c.Series()] = x
		}
		x.fresh = x.fresh || len(m.Before) > 0 && !m.lay(c)
		x.whole = x.whole || !c.Bare
		x.lacks = x.lacks && lacksOptimizer(c)
		x.at[c.Step] = c.Step >= 0
		x.optimizer = x.optimizer || c.Optimizer
		x.numbered = x.numbered || c.Step >= 0
		x.steps = x.steps || c.Step >= 0 && c.Unit == format.UnitStep
		if c.Modified.After(x.newest) {
			x.newest = c.Modified
		}
	}
	// A buffer, a history: of the same steps as what it belongs to, or of none.
	for _, x := range of {
		for _, y := range of {
			shared := func(step int64) bool { return y.at[step] }
			x.beside = x.beside || !x.whole && y.whole && (!x.numbered || slices.ContainsFunc(slices.Collect(maps.Keys(x.at)), shared))
		}
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(of)) {
		x, y := of[name], of[best]
		switch {
		case y == nil, y == x, !x.beside && y.beside:
			best, tied = name, nil
		case x.beside != y.beside:
		case x.fresh == y.fresh && (x.optimizer && y.lacks || x.lacks && y.optimizer):
			if x.optimizer {
				best, tied = name, nil
			}
		case x.fresh && !y.fresh, x.fresh == y.fresh && x.newest.After(y.newest):
			best, tied = name, nil
		case x.fresh != y.fresh || !x.newest.Equal(y.newest):
		case x.optimizer && !y.optimizer:
			best, tied = name, nil
		case x.optimizer == y.optimizer:
			tied = []string{y.path, x.path}
		}
	}
	good = make([]bool, len(s.Checkpoints))
	for i, c := range s.Checkpoints {
		x := of[c.Series()]
		if !whole(c) || c.Series() != best || x.optimizer && !c.Optimizer {
			continue
		}
		good[i] = c.Step < 0 && !x.numbered || c.Step >= 0 && (c.Unit == format.UnitStep) == x.steps
	}
	onlyLastRun(s.Checkpoints, good)
	return good, tied
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

func (o *Offer) veto(reason problem.Reason, format string, args ...any) {
	if o.Veto == nil {
		o.Veto = problem.New(reason, format, args...)
	}
}

// From is what a round resumes from: a step, or where none is said, an identity; neither is the start.
type From struct {
	Step     *int64
	Identity string
	Why      string // neither is chosen although there may be some here; empty where that needs no word
}

// First is what an offer begins with: what a single node would resume from.
func (o Offer) First() (from From) {
	switch {
	case len(o.Steps) > 0:
		from.Step = &o.Steps[0]
	case len(o.Identities) > 0:
		from.Identity = o.Identities[0]
	}
	return from
}

// Fresh reports whether it is the start.
func (f From) Fresh() bool { return f.Step == nil && f.Identity == "" }

func (f From) String() string {
	switch {
	case f.Step != nil:
		return fmt.Sprintf("the checkpoint of step %d", *f.Step)
	case f.Identity != "":
		return "the checkpoint with the content " + f.Identity
	}
	return "no checkpoint"
}

// At is the checkpoint that a scan has shown and that may be resumed from, nil when there is none. Of two of the same
// step it is the one that was written later.
func (p Policy) At(s Scan, m History, from From) (found *format.Checkpoint) {
	good, _ := p.eligible(s, m)
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		is := from.Step != nil && c.Step == *from.Step || from.Step == nil && c.Step < 0 && c.Identity == from.Identity
		if is && good[i] && (c.WorldSize == 0 || p.World == 0 || c.WorldSize == p.World || c.Elastic) &&
			(found == nil || c.Modified.After(found.Modified)) {
			found = c
		}
	}
	return found
}
