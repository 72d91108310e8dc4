package checkpoint

import (
	"fmt"

	"github.com/gangrun/gangrun/checkpoint/format"
)

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
// step it is the one that is not the best so far, which may be a copy or an average, else the one that was written later.
func (p Policy) At(s Scan, m History, from From) (found *format.Checkpoint) {
	good, _ := p.eligible(s, m)
	for i := range s.Checkpoints {
		c := &s.Checkpoints[i]
		is := from.Step != nil && c.Step == *from.Step || from.Step == nil && c.Step < 0 && c.Identity == from.Identity
		if is && good[i] && (c.WorldSize == 0 || p.World == 0 || c.WorldSize == p.World || c.Elastic) &&
			(found == nil || found.OfBest() && !c.OfBest() || found.OfBest() == c.OfBest() && c.Modified.After(found.Modified)) {
			found = c
		}
	}
	return found
}
