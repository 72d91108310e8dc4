package account

import (
	"math"
	"time"

	"github.com/gangrun/gangrun/observe/event"
)

// spend books the time up to at.
func (t *Tally) spend(on Source, at time.Time) {
	d := at.Sub(t.mark)
	if d <= 0 {
		return
	}
	t.mark = at
	t.book(on, d)
}

func (t *Tally) book(on Source, d time.Duration) {
	t.sources[on] += d
	if t.open != nil {
		t.open.cost[on] += d
	}
}

// train books the time up to at as training.
func (t *Tally) train(at time.Time) time.Duration {
	d := at.Sub(t.mark)
	if d <= 0 {
		return 0
	}
	t.mark = at
	t.training += d
	t.progress.made(d)
	return d
}

// spendToStop books the time up to where the round began to stop. Only now it is known what it was.
func (t *Tally) spendToStop() {
	switch {
	case !t.stepping && (t.progress.any || !t.ran):
		t.spend(Startup, t.stopAt)
	case !t.stepping:
		t.spend(Unknown, t.stopAt)
	case t.succeeded || t.stopping.By == event.ByOutside:
		t.spend(Other, t.stopAt)
	default:
		if cut := t.mark.Add(t.progress.stepTime()); cut.Before(t.stopAt) {
			t.spend(LostProgress, cut)
			t.spend(Detection, t.stopAt)
		} else {
			t.spend(LostProgress, t.stopAt)
		}
	}
}

// now is what the time is that passes; Unknown where only the next event tells.
func (t *Tally) now() Source {
	switch {
	case t.phase == Starting:
		return Startup
	case t.phase != Forming:
		return Unknown
	case t.succeeded:
		return Other
	}
	return Rendezvous
}

// Seconds are d's, to the millisecond.
func Seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
