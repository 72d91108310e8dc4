package node

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// StopFileVariable names the file in which the ranks find the step at which all of them save and leave.
const StopFileVariable = "GANGRUN_STOP_FILE"

// save is a save that all make. The ranks are not sent a signal, of which each would hear in another step, but find the
// step in a file, and exit once they have saved. Who has not by a deadline is stopped as everybody else is.
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

// looks reports whether all ranks of the workers that run have said that they look at the file.
func (n *Node) looks() bool {
	some := false
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended {
			if !w.report.Looks {
				return false
			}
			some = true
		}
	}
	return some
}

// mayLose reports whether the workers are known to train: steps were told, or a checkpoint is there. Of what else is run, nobody
// expects a save.
func (n *Node) mayLose() bool {
	return n.saved != nil || slices.ContainsFunc(n.workers, func(w worker) bool { return w.report.Step != nil || w.report.Most != nil })
}

// blind says which ranks have not said that they look at the file.
func (n *Node) blind() string {
	var names []string
	some := false
	for i := range n.workers {
		w := &n.workers[i]
		switch {
		case w.ended:
		case w.report.Looks:
			some = true
		case w.Rank >= 0 || len(w.report.Blind) == 0:
			names = append(names, w.name())
		default:
			for _, rank := range w.report.Blind {
				if rank < 0 { // it does not say which it is
					names = append(names, w.name())
					continue
				}
				names = append(names, fmt.Sprintf("rank %d", rank))
			}
			some = some || w.report.Most != nil
		}
	}
	if !some {
		return "no rank has said that it looks at " + StopFileVariable
	}
	return few(names) + " did not say that it looks at " + StopFileVariable
}

// name is what a person knows the worker by.
func (w *worker) name() string {
	if w.Rank < 0 {
		return "the worker"
	}
	return fmt.Sprintf("rank %d", w.Rank)
}

// few lists names, bounded.
func few(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// tellLooks tells the job once that the ranks look, so that it knows whom it may ask.
func (n *Node) tellLooks() {
	if n.state == Running && !n.knows && n.looks() {
		n.knows = true
		n.do(Serve{rendezvous.Service{Round: n.round(), Looks: true}})
	}
}

// savesFirst reports whether the workers of this node, which is called away, are to save with all others before they are
// stopped. A person at a terminal who presses Ctrl-C does not want to wait.
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

// leaveAfterSave notes a request for the end, and has the workers save before: at the step that the job says, at the
// latest shortly before their time is over.
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

// asked is the job's question how far the workers are. Where it is not known yet how fast they are, the answer waits.
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

// saveOrdered is the job's word at which step all save.
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

// hasServed reports whether a worker that has ended had saved as it was asked to: it has exited with 0 by itself, or
// told that it had finished the step. What it does after that is its own affair. One that has ended after a signal
// may have saved at any step.
func (n *Node) hasServed(w *worker) bool {
	s := n.save
	return w.obeyed || s.agreed && s.step != nil && w.report.Step != nil && *w.report.Step >= *s.step
}

// endedEarly reports whether a worker that was stopped by nothing but the file has failed before it could have saved.
func (n *Node) endedEarly(w *worker) bool {
	return w.told && w.stop == exitcodes.StoppedByGang && w.status != exitcodes.Status{} && !w.signaled && !w.lets &&
		!w.report.Leaving && n.save != nil && !n.save.over && !n.hasServed(w)
}

// leftSaving looks at the end of a worker while a save is under way. If it has not saved, nobody else can any more: the
// ranks train together.
func (n *Node) leftSaving(w *worker) {
	s := n.save
	if s == nil || s.over || !s.agreed && n.request == nil {
		return
	}
	if n.failedAt.IsZero() && s.agreed {
		n.failedAt = w.at // it trains up to here
	}
	if !n.hasServed(w) {
		n.endSave(w.name() + " has ended before")
	}
}

// endSave stops those that still run by a signal.
func (n *Node) endSave(why string) {
	n.save.over = true
	n.log(slog.LevelWarn, "the save that all were to make is given up: telling those that run to stop", "why", why)
	killAt := n.now.Add(n.policy.RestartGrace)
	for i := range n.workers {
		if w := &n.workers[i]; !w.ended {
			n.hurrySave(w, killAt, killAt)
		}
	}
}

// hurrySave tells a worker that was asked to save, and has not, to stop by a signal now: in the middle of its save, it
// gets that when this is done.
func (n *Node) hurrySave(w *worker, killAt, saveBy time.Time) {
	if n.request == nil || !w.clock.runs() { // else it has its own time
		w.clock.limit(killAt, saveBy)
	}
	if !w.signaled { // else it has been told
		w.clock.ask(n.now)
	}
}

// lastCalled tells a worker that has not saved in time to stop.
func (n *Node) lastCalled(i int) {
	w := &n.workers[i]
	to := SIGTERM
	if s := n.save; s != nil {
		if s.to != 0 {
			to = s.to
		}
		if !s.over && !w.lets {
			n.log(slog.LevelWarn, "a worker has not saved in time at the step that all agreed on: telling it to stop",
				"worker", w.String(), "step", rendezvous.StopText(s.step), "at", w.place())
		}
	}
	w.signaled = w.signaled || !w.lets
	n.pass(i, to)
}

// noteSave says how a save has gone that the workers, which are gone, were asked for.
func (n *Node) noteSave() {
	s := n.save
	if s == nil || !s.agreed {
		return
	}
	at := "step " + rendezvous.StopText(s.step)
	if s.step == nil {
		at = "once"
	}
	var missed []string
	late := " in time"
	for i := range n.workers {
		w := &n.workers[i]
		switch {
		case n.hasServed(w):
		case w.signaled:
			missed = append(missed, fmt.Sprintf("%s (%s)", w.name(), w.place()))
		default:
			late = ""
			missed = append(missed, fmt.Sprintf("%s (ended %s)", w.name(), w.place()))
		}
	}
	level := slog.LevelInfo
	n.note = "all ranks here have saved at " + at + ", as agreed"
	who := ""
	if len(missed) > 0 {
		level, who = slog.LevelWarn, few(missed)
		n.note = "asked by " + StopFileVariable + " to save at " + at + ", and not done" + late + ": " + who
	}
	n.log(level, n.note)
	n.do(Serve{rendezvous.Service{Round: n.round(), Looks: true, Answered: true, Served: who == "", Who: who}})
}

// place is how far the worker has come.
func (w *worker) place() string {
	if w.report.Step == nil {
		return "at a step that it does not tell"
	}
	return fmt.Sprintf("at step %d", *w.report.Step)
}

// noted is a message with how the save has gone.
func (n *Node) noted(text string) string {
	if n.note == "" {
		return text
	}
	return text + "; " + n.note
}
