package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// order gives an order out, after those that wait already.
func (n *node) order(o Order) {
	if n.lastJob != nil {
		o.Budget = n.lastJob.Budget
	}
	n.pending = append(n.pending, o)
}

// start gives out the order to start a round, once its checkpoint is ready.
func (n *node) start(step rendezvous.Step) bool {
	if n.outdated() {
		return false
	}
	again := n.record.Round == step.Round // alone: the round goes on
	round := n.reading.Round
	joins := again || round.Rank(n.cfg.Name, n.record.Incarnation) < 0
	var resumed *Resumed
	var unresumed error
	var ready bool
	if joins {
		resumed, round, ready = n.present(round)
	} else {
		resumed, unresumed, ready = n.prepared(round)
	}
	if !ready {
		return false
	}
	n.record.State, n.record.Round, n.record.Rank = rendezvous.NodeRunning, step.Round, &step.Rank
	n.record.Outcome, n.record.OutcomeRev, n.record.Carried, n.record.Replaces = nil, 0, nil, nil
	n.record.Step, n.record.Service, n.asked, n.saving = nil, nil, false, false
	n.stepped.Store(nil)
	n.self.RunUID, n.record.RunUID = n.reading.Round.RunUID, n.reading.Round.RunUID
	n.self.Guard.Fence = time.Duration(n.reading.Round.Fence)
	n.started, n.halted, n.expedited, n.cutOff = true, false, false, false
	if n.alone.decided, n.alone.again = false, false; !again {
		n.alone = alone{}
		n.ports.current.Release()
		n.ports.current, n.ports.next = n.ports.next, nil
		n.reservePort()
	}
	n.guard()
	n.sayNeeded()
	if joins {
		n.writer.dirty = true // its key may say that it is done with this very round
	} else {
		n.owe(len(round.Members)) // whoever has not said that it has stopped counts as running
	}
	n.order(Order{Start: &Start{
		Round: round, Rank: step.Rank, Resumed: resumed, Unresumed: unresumed,
		Looked: n.cfg.Checkpoints != nil, Banned: n.keptOut(), Blamed: n.blamed(),
		StoreLost: n.lastStop().Kind == rendezvous.StopStore,
	}})
	return true
}

// outdated reports whether what the node has read of the job may be older than what its deadline rests on: with a new lease
// the deadline moves at once, while the news can still be those from before the old one ended, and the others have
// continued since. Its next write puts its key back and reads the job, and then it knows.
func (n *node) outdated() bool {
	w := &n.writer
	return n.link.lease != nil && (w.rejoin || w.under != n.link.lease)
}

// lastStop is the last stop of the job; empty before the first.
func (n *node) lastStop() (p rendezvous.Past) {
	if j := n.reading.Job; j != nil && len(j.History) > 0 {
		p = j.History[len(j.History)-1]
	}
	return p
}

// blamed is the node whose failure the newest stop was, as the job has judged.
func (n *node) blamed() string {
	p := n.lastStop()
	if p.Kind != rendezvous.StopFailure && p.Kind != rendezvous.StopLoss {
		return ""
	}
	return p.Node
}

// halt gives out the order to stop the round, once, and once more if there is need to hurry.
func (n *node) halt(step rendezvous.Step, at time.Duration) {
	if n.halted && (n.expedited || !step.Expedite) {
		return
	}
	if !n.halted {
		n.cutOff, n.late = n.self.Guard.Expired(at) && !n.record.Leaving, n.self.Guard
	}
	n.halted, n.expedited = true, step.Expedite
	n.payOwed()
	n.log.Debug("the round is to be stopped", "round", step.Round, "why", step.Why)
	stop := &Stop{Round: step.Round, Why: step.Why, Expedite: step.Expedite}
	if j := n.reading.Job; !step.Expedite && j != nil && j.Stop != nil && j.Stop.Round == step.Round {
		if j.Stop.Kind == rendezvous.StopFailure || j.Stop.Kind == rendezvous.StopLoss {
			stop.Failure = j.Stop.Reason
		}
		stop.Suspend, stop.Departure = j.Stop.Kind == rendezvous.StopSuspend, j.Stop.Kind == rendezvous.StopDeparture
		stop.Silence = time.Duration(j.Stop.Silence)
	}
	n.order(Order{Stop: stop})
}

// left ends the node. Where the job continues without it the others are told first, in a key that stays: that nothing
// of this node runs any more, and that it went on purpose. Where the job has ended, that the key goes says enough.
func (n *node) left(e rendezvous.End) {
	n.ended = true
	if j := n.reading.Job; j != nil && n.EndedJob(j.End) {
		e.By = j.End.By // it goes as it was told to, and has ended the job all the same
	}
	if !n.record.Leaving || !n.writer.claimed || n.self.Taken {
		n.order(Order{End: &e})
		return
	}
	n.record.State = rendezvous.NodeLeft
	n.writer.dirty, n.writer.last = true, &e
	time.AfterFunc(farewellTime, func() { n.report((*node).farewellLate) })
}

// partTime is how long a node that has said farewell stays at most until the job no longer needs it. When all nodes leave, the
// last leader has to be there still once the last of them has, or nobody writes down that the job is suspended.
const partTime = time.Second

// part ends a node that has said farewell, or never can, since its key has become another one's.
func (n *node) part(at time.Duration) {
	said := n.partBy != 0 && (!n.needed() || at >= n.partBy)
	if n.writer.last == nil || !said && !n.self.Taken {
		return
	}
	n.order(Order{End: n.writer.last})
	n.writer.last = nil
}

// needed reports whether a node that has said farewell may be the one that has to write down what follows: how its round ends, and,
// where the job already waits for its next round, that nobody is left to come. A record written after the farewell tells that
// somebody else is there to decide: on the farewell, too, be it after that record. So whoever has written it stays until it has
// decided on all that there was then.
func (n *node) needed() bool {
	j := n.reading.Job
	switch {
	case j == nil:
		return false
	case j.Phase == rendezvous.Forming:
		return j.Round >= 0 && (n.jobRev < n.writer.expect || n.undecided.Load())
	}
	return j.Round == n.record.Round && (j.Phase == rendezvous.Running || j.Phase == rendezvous.Stopping)
}

// farewellLate ends a node that could not tell the others in time.
func (n *node) farewellLate() {
	if n.writer.last == nil || n.partBy != 0 {
		return
	}
	n.log.Warn("could not tell the other nodes that this node is leaving")
	n.order(Order{End: n.writer.last})
	n.writer.last = nil
}

// farewellTime is how long a node that leaves tries to tell the others.
const farewellTime = 2 * time.Second

// giveUp ends a node that has no workers, and for too long no store that it could write to.
func (n *node) giveUp(at time.Duration) {
	if n.writer.last != nil || n.started {
		return
	}
	f, message := n.full.Load(), ""
	switch {
	case f != nil && (at-f.since >= n.cfg.StoreTimeout || n.lostAt != 0 && at-n.lostAt >= n.cfg.StoreTimeout):
		message = fmt.Sprintf("the store took nothing for %v: %v", n.cfg.StoreTimeout, f.err)
	case n.lostAt != 0 && at-n.lostAt >= n.cfg.StoreTimeout:
		message = fmt.Sprintf("the store did not answer for %v", n.cfg.StoreTimeout)
		if n.link.err != nil { // the first attempt may still go on
			message += ": " + n.link.err.Error()
		}
	default:
		return
	}
	n.ended = true
	n.order(Order{End: &rendezvous.End{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonStoreLost, Code: exitcodes.CodeStoreLost, Message: message,
	}})
}

// refuse ends a node to which the store says something that trying again does not change.
func (n *node) refuse(err error) {
	if n.ended {
		return
	}
	if n.started { // training goes on until the guard says otherwise
		n.say(err.Error())
		n.retry()
		return
	}
	n.ended = true
	n.order(Order{End: &rendezvous.End{
		Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonBadConfig, Code: exitcodes.CodeBadConfig,
		Message: err.Error(),
	}})
}

// permanent reports whether trying again is of no use.
func permanent(err error) bool {
	return errors.Is(err, store.ErrDenied) || errors.Is(err, store.ErrTLS) || errors.Is(err, store.ErrRefused) ||
		errors.Is(err, store.ErrUnusable) || errors.Is(err, store.ErrSettings)
}
