package node

import (
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// StopFileVariable names the file in which the ranks find the step at which all of them save and leave.
const StopFileVariable = "GANGRUN_STOP_FILE"

// save is a save that all ranks make at the same step. They are not sent a signal, which each would notice at another step,
// but find the step in a file, and exit once they have saved. A rank that has not done so by a deadline is stopped like any
// other.
type save struct {
	answerAt time.Time // the job is told then how far the workers are
	aloneAt  time.Time // without a word of the job by then, this node agrees with itself alone
	agreed   bool      // the step is known
	step     *int64    // nil: as soon as each can
	to       Signal    // for those that do not serve; 0: SIGTERM
	over     bool      // those that still run are told to stop by that
}

const (
	saveLeast = 5 * time.Second // with less time than this the workers are told to stop at once
	aloneTime = 3 * time.Second // for the job to agree on a step
)

// next is when something of it is due.
func (s *save) next() time.Time {
	if s == nil || s.over {
		return time.Time{}
	}
	return earlier(s.answerAt, s.aloneAt)
}

// savesFirst reports whether the workers of this node, which has to leave, are to save with all others before they are
// stopped. Somebody who presses Ctrl-C at a terminal does not want to wait for that.
func (n *Node) savesFirst(r *stopRequest, to Signal) bool {
	if n.state != Running || n.final != nil || to == SIGINT || r.signal == SIGINT || !n.stopBy.IsZero() {
		return false
	}
	if n.save != nil && n.save.agreed {
		return !n.save.over
	}
	if n.request != nil {
		return n.save != nil && !n.save.over
	}
	for i := range n.workers {
		if n.workers[i].stop != exitcodes.NotStopped {
			return false
		}
	}
	return r.until.Sub(n.now) >= saveLeast && n.looks()
}

// leaveAfterSave notes a request for the end, and has the workers save first: at the step that the job says, at the latest
// shortly before their time is over.
func (n *Node) leaveAfterSave(r *stopRequest, to Signal) {
	if n.save == nil {
		n.save = &save{}
	}
	n.save.to = to
	n.leave(r)
	if !n.save.agreed && n.save.aloneAt.IsZero() {
		n.save.aloneAt = n.now.Add(aloneTime)
	}
	until := n.request.until
	for i := range n.workers {
		w := &n.workers[i]
		if w.ended {
			continue
		}
		switch {
		case w.stop == exitcodes.NotStopped:
			w.stop, w.stoppedAt = exitcodes.StoppedOutside, n.now
		case w.told: // it saves already, and now for this
			w.stop = exitcodes.StoppedOutside
		}
		w.yields = false
		w.clock.limit(until, n.request.saveBy)
		w.clock.ask(n.lastCall(until))
		if w.paused {
			n.resume(i) // a stopped process cannot save
		}
	}
}

// lastCall is when workers that have time until then, and have not saved yet, are told to stop by a signal.
func (n *Node) lastCall(until time.Time) time.Time {
	return until.Add(-min(n.policy.RestartGrace, until.Sub(n.now)/4))
}

// gone reports whether the round's workers have all ended.
func (n *Node) gone() bool { return n.state == Clearing || n.state == Running && !n.anyForked() }

// asked is the job's question how far the workers are. While their speed is unknown, the answer waits.
func (n *Node) asked(ev Ask) {
	if ev.Round != n.round() {
		return
	}
	switch {
	case n.gone(): // and in nobody's way
		n.do(Serve{rendezvous.Service{Round: ev.Round, Looks: true, Answered: true}})
	case n.state != Running:
		n.do(Serve{rendezvous.Service{Round: ev.Round, Answered: true}})
	case !n.looks():
		n.note = n.blind()
		n.do(Serve{rendezvous.Service{Round: ev.Round, Answered: true, Who: n.note}})
	default:
		if n.save == nil {
			n.save = &save{}
		}
		n.save.answerAt = n.pace.knownAt(n.now)
	}
}

// answer tells the job how far the workers are.
func (n *Node) answer() {
	n.save.answerAt = time.Time{}
	until, _ := n.times(n.policy.Grace)
	if n.request != nil {
		until = n.lastCall(n.request.until)
	}
	n.do(Serve{rendezvous.Service{
		Round: n.round(), Looks: true, Answered: true, Step: n.pace.most,
		Each: rendezvous.Duration(n.pace.step()), Within: rendezvous.Duration(until.Sub(n.now)),
	}})
}

// saveDue does what has become due of a save that all make.
func (n *Node) saveDue() {
	s := n.save
	if s == nil || s.over {
		return
	}
	if !s.answerAt.IsZero() && !n.now.Before(earlier(s.answerAt, n.pace.knownAt(n.now))) {
		n.answer()
	}
	if !s.agreed && !s.aloneAt.IsZero() && !n.now.Before(s.aloneAt) {
		n.log(slog.LevelWarn, "the job has not said at which step all save: the ranks of this node save at one of their own",
			"waited", aloneTime)
		var step *int64
		if n.pace.most != nil {
			own := rendezvous.AgreedStep(*n.pace.most, n.pace.step())
			step = &own
		}
		n.agree(step, n.request.what, false)
	}
	for i := range n.workers {
		w := &n.workers[i]
		if s.agreed && !w.ended && w.report.Leaving && !w.lets { // it has saved, and is about to end
			w.lets = true
			last := n.now.Add(afterSaving)
			w.clock.limit(last.Add(n.policy.RestartGrace), last.Add(n.policy.RestartGrace))
			w.clock.ask(last)
		}
	}
}

// saveOrdered is the job's order at which step all save.
func (n *Node) saveOrdered(s Save) {
	switch {
	case s.Round != n.round():
	case n.state == Starting && !n.anyForked(): // there is nothing to save
		n.abandon()
	case n.state != Running, n.save != nil && (n.save.agreed || n.save.over):
	default:
		n.agree(s.Step, s.Why, s.Departure)
	}
}

// agree has the ranks told at which step they save and leave. From here on they are being stopped.
func (n *Node) agree(step *int64, why string, departure bool) {
	if n.save == nil {
		n.save = &save{}
	}
	s := n.save
	s.agreed, s.step, s.aloneAt, s.answerAt = true, step, time.Time{}, time.Time{}
	args := []any{"step", rendezvous.StopText(step), "why", why}
	if n.pace.most != nil {
		args = append(args, "now_at", *n.pace.most)
	}
	n.log(slog.LevelInfo, "asking all ranks to save at the same step and exit", args...)
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended && w.stop == exitcodes.NotStopped {
			w.stop, w.stoppedAt, w.yields, w.told = exitcodes.StoppedByGang, n.now, departure, true
		}
	}
	n.do(Tell{Round: n.round(), Text: rendezvous.StopText(step)})
}

// told continues without the file where it could not be written.
func (n *Node) told(ev Told) {
	if ev.Err != "" && ev.Round == n.round() && n.state == Running && n.save != nil && !n.save.over {
		n.endSave("the file for it could not be written: " + ev.Err)
	}
}
