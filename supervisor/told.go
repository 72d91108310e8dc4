package supervisor

import (
	"fmt"
	"math"

	"github.com/gangrun/gangrun/supervisor/hang"
)

func (w *worker) name(i int) string {
	if w.spec.Rank >= 0 {
		return fmt.Sprintf("rank %d", w.spec.Rank)
	}
	return fmt.Sprintf("worker %d", i)
}

// step is the one that the worker has told, in whichever way, also right before the call.
func (w *worker) step() (int64, bool) {
	if w.notify != nil {
		w.notify.CatchUp()
	}
	return w.lastStep()
}

// lastStep is the one that was heard.
func (w *worker) lastStep() (int64, bool) {
	if w.notify != nil && w.notify.Told() {
		return w.notify.Least()
	}
	if w.progress != nil {
		if sign := w.progress.Sign(); sign.Steps > 0 {
			return sign.Step, true
		}
	}
	return 0, false
}

// phase is the one of a rank of the worker that has come least far; empty where none is told.
func (w *worker) phase() string {
	if w.notify == nil || !w.notify.Told() {
		return ""
	}
	phase, least := "", int64(math.MaxInt64)
	for _, r := range w.notify.Reports() {
		if r.Step != nil && *r.Step < least {
			phase, least = r.Phase, *r.Step
			if r.Stepped {
				phase = hang.Train
			}
		}
	}
	return phase
}
