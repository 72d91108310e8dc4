package supervisor

import "time"

// afterSaving is how long a worker that has saved its checkpoint has to exit by itself.
const afterSaving = 2 * time.Second

// putOff moves SIGKILL, which is due, to the last moment that there is while the worker saves a checkpoint, and reports
// whether it has. Once the checkpoint is there it is due soon.
func (w *worker) putOff(now time.Time, saving bool) bool {
	switch {
	case w.waits && !saving:
		w.waits, w.killAt = false, earlier(now.Add(afterSaving), w.saveBy)
	case !w.waits && saving && !now.Before(w.killAt) && w.killAt.Before(w.saveBy):
		w.waits, w.killAt = true, w.saveBy
		return true
	}
	return false
}

// spareSaving lets the workers that save a checkpoint go on. What comes after the workers, hooks too, has that time as
// well.
func (s *Supervisor) spareSaving(now time.Time) {
	for _, w := range s.workers {
		if w.ended || w.killed || w.killAt.IsZero() || w.notify == nil || !w.putOff(now, w.notify.Saving()) {
			continue
		}
		s.log.Info("saving a checkpoint: SIGKILL waits until "+w.saveBy.Local().Format(time.TimeOnly), "worker", w)
		if s.outside != nil {
			s.outside.waits, s.outside.until = true, s.outside.saveBy
		}
	}
}
