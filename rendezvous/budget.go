package rendezvous

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// Budget is how much of the job's restarts is used. It is part of the job's record, so that it survives every lead.
type Budget struct {
	Used        int `json:"used"` // restarts since the last progress
	Total       int `json:"total"`
	Preemptions int `json:"preemptions"`
	// Recent are the times of the restarts within the window.
	Recent []time.Time `json:"recent,omitempty"`
	// Mark is the furthest that training has come.
	Mark Progress `json:"mark,omitzero"`
	// Cause and Step are those of the last failure, Same how many times in a row it has happened.
	Cause string `json:"cause,omitempty"`
	Step  *int64 `json:"step,omitempty"`
	Same  int    `json:"same,omitempty"`
	// FellBack is set once the same failure has led to an older checkpoint: the next time it ends the job.
	FellBack bool `json:"fellBack,omitempty"`
}

// Progress is how far training has come, as far as anybody knows. What is not known is not zero.
type Progress struct {
	Step       *int64 `json:"step,omitempty"`
	Checkpoint *int64 `json:"checkpoint,omitempty"`

	looked  bool  // there are checkpoints to look at: then steps do not count
	atLeast int64 // by which a checkpoint has to be newer; 0 is 1
}

// IsZero reports whether nothing is known.
func (p Progress) IsZero() bool { return p.Step == nil && p.Checkpoint == nil }

// since reports whether p is ahead of an earlier mark. Where there are checkpoints to look at, only they count: steps
// beyond the last one are lost.
func (p Progress) since(mark Progress) bool {
	if p.looked || p.Checkpoint != nil {
		return p.Checkpoint != nil &&
			(mark.Checkpoint == nil || *p.Checkpoint >= *mark.Checkpoint+max(p.atLeast, 1))
	}
	return p.Step != nil && (mark.Step == nil || *p.Step > *mark.Step)
}

// Ruling is what follows a failure that is worth a retry.
type Ruling struct {
	Restart  bool
	After    time.Duration // the backoff
	Fallback bool          // resume from the checkpoint before the newest
	// Reason says why there is no restart, Spent which limit is reached.
	Reason string
	Spent  Spent
}

// Limit is one of those on a job's restarts. A later release may know more.
type Limit string

// The limits, by the fields of [Restarts] that set them.
const (
	LimitProgress    Limit = "max"            // restarts without progress
	LimitWindow      Limit = "inWindow"       // restarts within the window
	LimitPreemptions Limit = "maxPreemptions" // restarts after preemptions
	LimitSameFailure Limit = "maxSameFailure" // the same failure in a row
)

// Spent is the limit that is reached, and that in words.
type Spent struct {
	Limit Limit  `json:"limit"`
	Says  string `json:"says"`
}

// Failed charges a failure. cause is equal for equal failures; older says that there is an older checkpoint to fall
// back to. seed spreads the backoff: jobs that share a broken file system should not come back in step.
func (b Budget) Failed(
	p Restarts, now time.Time, cause string, progress Progress, older bool, seed string,
) (Budget, Ruling) {
	b.Recent = slices.Clone(b.Recent)
	if progress.since(b.Mark) {
		b.Used, b.FellBack = 0, false
		b.Mark = progress // it only ever advances: to reach the same step again is no progress
	}
	b.count(cause, progress.Step)
	var ruling Ruling
	if p.MaxSameFailure > 0 && b.Same >= p.MaxSameFailure {
		if b.FellBack || !older {
			ruling.Reason = exitcodes.ReasonNoProgress
			ruling.Spent = Spent{LimitSameFailure, fmt.Sprintf("the same failure %d times in a row at step %d", b.Same, *progress.Step)}
			return b, ruling
		}
		ruling.Fallback = true
	}
	if b.Used >= p.Max {
		ruling.Reason = exitcodes.ReasonRestartBudgetExhausted
		ruling.Spent = Spent{LimitProgress, fmt.Sprintf("%d of %d restarts without progress are used up", b.Used, p.Max)}
		return b, ruling
	}
	if b.windowFull(p, now) {
		ruling.Reason = exitcodes.ReasonRestartBudgetExhausted
		ruling.Spent = Spent{LimitWindow, fmt.Sprintf("%d of %d restarts within %v are used up", len(b.Recent), p.InWindow, p.Window.of())}
		return b, ruling
	}
	if ruling.Fallback {
		b.FellBack, b.Same = true, 0
	}
	ruling.Restart, ruling.After = true, b.backoff(p, seed)
	b.Used++
	b.Total++
	if p.InWindow > 0 {
		b.Recent = append(b.Recent, now.UTC())
	}
	return b, ruling
}

// Departed charges a restart after an announced departure.
func (b Budget) Departed(p Restarts) (Budget, Ruling) {
	if p.MaxPreemptions > 0 && b.Preemptions >= p.MaxPreemptions {
		return b, Ruling{
			Reason: exitcodes.ReasonRestartBudgetExhausted,
			Spent:  Spent{LimitPreemptions, fmt.Sprintf("%d of %d restarts after preemptions are used up", b.Preemptions, p.MaxPreemptions)},
		}
	}
	b.Preemptions++
	return b, Ruling{Restart: true}
}

// count counts the same failure at the same known step.
func (b *Budget) count(cause string, step *int64) {
	if step == nil || b.Step == nil || cause != b.Cause || *step != *b.Step {
		b.Same = 0
	}
	b.Cause, b.Step = cause, step
	if step != nil {
		b.Same++
	}
}

func (b *Budget) windowFull(p Restarts, now time.Time) bool {
	if p.InWindow == 0 {
		b.Recent = nil
		return false
	}
	b.Recent = slices.DeleteFunc(b.Recent, func(at time.Time) bool { return now.Sub(at) >= p.Window.of() })
	return len(b.Recent) >= p.InWindow
}

// backoff is the pause before the next restart: none before the first since the last progress, then doubling. Up to a
// quarter of it is taken off, by the seed and the number of the restart.
func (b *Budget) backoff(p Restarts, seed string) time.Duration {
	if b.Used == 0 {
		return 0
	}
	d, most := p.Backoff.of(), cmp.Or(p.BackoffMax.of(), DefaultBackoffMax)
	for range b.Used - 1 {
		if d >= most {
			break
		}
		d *= 2
	}
	d = min(d, most)
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d", seed, b.Total)
	return d - time.Duration(h.Sum64()%uint64(d/4+1))
}
