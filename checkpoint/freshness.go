package checkpoint

import (
	"fmt"
	"slices"
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
}

// Owner says whose checkpoints a run may go on from.
type Owner string

// Whose checkpoints a run may go on from.
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

// mismatch says in what the writer differs from the reader, empty when it does not or when nobody knows.
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
	// Steps are those of the checkpoints that it can go on from, newest first.
	Steps []int64
	// Refused are the newer ones that it cannot go on from, and why.
	Refused []format.Checkpoint
	// Veto says why nothing may be started at all: what is there is whole, and still it must not be used, and to start
	// from nothing instead would be worse. Empty when there is no such reason.
	Veto *problem.Error
	// Warnings are sentences about what looks wrong and stops nothing.
	Warnings []string
}

// skew is how far the clocks of a machine and of its file server may be apart.
const skew = 5 * time.Minute

// Offer weighs what a scan has shown. It is pure. The error says that nobody knows: a checkpoint that cannot be read may
// be the newest.
func (p Policy) Offer(s Scan, m Memory, reader Run, now time.Time) (Offer, error) {
	var o Offer
	other := p.Owner.mismatch(m.Run, reader)
	for _, c := range s.Checkpoints {
		switch {
		case c.Reason.Unknown():
			if len(o.Steps) == 0 {
				return Offer{}, &problem.Error{Reason: c.Reason, Detail: c.Path + ": " + c.Detail}
			}
			continue
		case !c.Complete || !c.Resumable:
			o.refuse(c, c.Reason, c.Detail)
			continue
		case m.setAside(c):
			o.refuse(c, problem.Quarantined, "training failed twice after it, and went back behind it")
			continue
		case other != "":
			o.refuse(c, problem.OtherRun, other)
			o.veto(problem.OtherRun, "%s: %s", c.Path, other)
			continue
		case c.WorldSize > 0 && p.World > 0 && c.WorldSize != p.World && !c.Elastic:
			o.refuse(c, problem.WorldSizeMismatch, fmt.Sprintf("%d ranks wrote it, and %d would read it", c.WorldSize, p.World))
			o.veto(problem.WorldSizeMismatch, "%s: %d ranks wrote it, and %d would read it", c.Path, c.WorldSize, p.World)
			continue
		case c.Step < 0:
			o.Warnings = append(o.Warnings, c.Path+" is whole, and nothing says of which step it is: it cannot be chosen")
			continue
		case p.MaxAge > 0 && now.Sub(c.Modified) > p.MaxAge:
			age := now.Sub(c.Modified).Round(time.Second)
			o.refuse(c, problem.TooOld, fmt.Sprintf("%v old, at most %v", age, p.MaxAge))
			o.veto(problem.TooOld, "%s is %v old, and at most %v are allowed", c.Path, age, p.MaxAge)
			continue
		}
		if c.Modified.After(now.Add(skew)) {
			o.Warnings = append(o.Warnings, fmt.Sprintf(
				"%s is from the future, by %v: the clocks differ", c.Path, c.Modified.Sub(now).Round(time.Second)))
		}
		if !slices.Contains(o.Steps, c.Step) { // the same step twice: the first is taken
			o.Steps = append(o.Steps, c.Step)
		}
	}
	if len(o.Steps) > 0 {
		o.Veto = nil
	}
	return o, nil
}

func (o *Offer) refuse(c format.Checkpoint, reason problem.Reason, detail string) {
	if len(o.Steps) > 0 {
		return // something newer can be used
	}
	c.Resumable, c.Reason, c.Detail = false, reason, detail
	o.Refused = append(o.Refused, c)
}

func (o *Offer) veto(reason problem.Reason, format string, args ...any) {
	if o.Veto == nil {
		o.Veto = problem.New(reason, format, args...)
	}
}

// At is the checkpoint of a step that a scan has shown and that may be gone on from, nil when there is none.
func (p Policy) At(s Scan, m Memory, step int64) *format.Checkpoint {
	for i, c := range s.Checkpoints {
		if c.Step == step && c.Complete && c.Resumable && !m.setAside(c) &&
			(c.WorldSize == 0 || p.World == 0 || c.WorldSize == p.World || c.Elastic) {
			return &s.Checkpoints[i]
		}
	}
	return nil
}
