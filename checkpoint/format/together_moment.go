package format

import (
	"path"
	"time"
)

// moment is how far apart the files of one save are written at most, the last of one part and the first of the next.
const moment = 5 * time.Second

// moments gives states that say no step that of what was saved in the same moment beside each, and which holds nothing else
// that training continues with: model.pth and optimizer.pth, and infos.pkl. Where one of a series is left without, since what
// would tell is of another save, all are: a state with a step would go before it.
func moments(cs []*Checkpoint) {
	tellers, left := map[*Checkpoint]*Checkpoint{}, map[string]bool{}
	for _, c := range cs {
		if !c.alone() {
			continue
		}
		if tellers[c] = c.teller(cs); tellers[c] == nil {
			left[c.series] = true
		}
	}
	for c, from := range tellers {
		if !left[c.series] {
			c.Step, c.Unit, c.StepFrom, from.Tells = from.Step, from.Unit, StepFromContent, true
		}
	}
}

// teller is what says how far a state is; nil where there is none, or where several do not agree.
func (c *Checkpoint) teller(cs []*Checkpoint) (from *Checkpoint) {
	if !c.Optimizer || c.Unsure {
		return nil
	}
	for _, o := range cs {
		switch {
		case !o.inPlace() || !o.Bare || o.Step < 0 || o.StepFrom != StepFromContent || !c.sameMoment(o):
		case from == nil:
			from = o
		case from.Step != o.Step || from.Unit != o.Unit:
			return nil
		}
	}
	return from
}

// inPlace reports whether a checkpoint of a program's own is one that is written over in place, and can be resumed from.
func (c *Checkpoint) inPlace() bool {
	return c.save != nil && !c.save.directory && c.InPlace && c.Complete && c.Resumable && c.save.when == ""
}

// alone reports whether such a one says no step. A 0 in the name of the state of an optimizer is that of a part.
func (c *Checkpoint) alone() bool {
	part := c.save != nil && !c.save.directory && c.Complete && c.Resumable && c.Optimizer && c.StepFrom == StepFromName && c.Step == 0 && !c.save.named
	return part || c.inPlace() && c.Step < 0
}

func (c *Checkpoint) sameMoment(o *Checkpoint) bool {
	return c.save.slot == o.save.slot && path.Dir(c.Path) == path.Dir(o.Path) && c.sameTime(o.Modified)
}

// sameTime reports whether what was written at a time may be of the save that a checkpoint is.
func (c *Checkpoint) sameTime(written time.Time) bool { return c.Modified.Sub(written).Abs() <= moment }

// SameMoment reports whether two that lie side by side were written as one save.
func (c *Checkpoint) SameMoment(o Checkpoint) bool {
	return path.Dir(c.Path) == path.Dir(o.Path) && c.sameTime(o.Modified)
}
