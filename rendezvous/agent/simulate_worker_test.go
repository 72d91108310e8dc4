package agent_test

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
)

// This file stands in for what a node does above its agent: it follows orders, and its workers train, fail, and take
// their time to stop. All of it runs with the simulation's lock held.

// workers are those of one node.
type workers struct {
	runs    string // the round that they run, "" for none
	round   int
	started int // how often they were
	halting bool
}

// ordered follows an order.
func (n *simNode) ordered(o agent.Order) {
	switch {
	case o.Start != nil:
		n.start(o.Start)
	case o.Stop != nil:
		n.halt(o.Stop.Round, o.Stop.Why, rendezvous.Outcome{})
	case o.End != nil:
		n.ends(*o.End)
	}
}

func (n *simNode) start(start *agent.Start) {
	s := n.s
	if !n.agent.MayStart() {
		s.say("%s: too late to start round %d", n.incarnation, start.Round.Number)
		n.agent.Gone(start.Round.Number, rendezvous.Outcome{}, nil)
		return
	}
	s.say("%s: starts round %d as rank %d", n.incarnation, start.Round.Number, start.Rank)
	s.startedWorkers(n, start.Round, start.Rank)
	n.workers = workers{runs: roundID(start.Round.Store, start.Round.Number), round: start.Round.Number, started: n.started + 1}
	mine := n.started
	s.after(simWork+s.random(time.Second), func() { // workers do not stand still when their gangrun does
		n.later(0, func() {
			if n.started == mine && n.runs != "" && !n.halting {
				n.succeed()
			}
		})
	})
	if s.saves && !n.alone() {
		n.save(mine)
	}
	if !s.calm && s.chance(2) {
		n.suffer(mine) // the others hang
	}
}

// suffer lets workers fail some time after a peer has gone: with a code that says fatal, as training programs do.
func (n *simNode) suffer(mine int) {
	s := n.s
	n.later(time.Second+s.random(4*time.Second), func() {
		if n.started != mine || n.runs == "" || n.halting {
			return
		}
		r, there := s.rounds[n.runs], s.running[n.runs]
		if s.side { // it is in nobody's way
			there++
		}
		for _, m := range r.Members {
			if s.everDone[n.runs+m.Name] && m.Role == "" {
				there++
			}
		}
		if there < len(r.Members) && s.now()-s.formed[n.runs] > 2*time.Second {
			n.fail(exitcodes.Fatal, "Cascade", exitcodes.RoleCascade)
			return
		}
		n.suffer(mine)
	})
}

func (n *simNode) succeed() {
	n.s.say("%s: its workers succeed", n.incarnation)
	n.s.everDone[n.runs+n.name] = true
	round := n.round
	n.gone()
	n.agent.Gone(round, rendezvous.Outcome{Verdict: exitcodes.Success}, nil)
}

func (n *simNode) fail(v exitcodes.Verdict, reason string, role exitcodes.Role) {
	n.s.say("%s: its workers fail: %s %s", n.incarnation, v, reason)
	o := rendezvous.Outcome{Verdict: v, Reason: reason, Role: role.String(), Code: 1}
	n.agent.Failing(n.round, o, nil)
	n.halt(n.round, reason, o)
}

// halt stops the workers, which takes a while.
func (n *simNode) halt(round int, why string, o rendezvous.Outcome) {
	s := n.s
	if n.runs == "" || n.round != round || n.halting {
		return
	}
	n.halting = true
	s.say("%s: stops its workers: %s", n.incarnation, why)
	mine := n.started
	s.after(s.random(simStop), func() {
		if n.dead || n.started != mine || n.runs == "" {
			return
		}
		n.gone()
		n.later(0, func() {
			s.say("%s: has stopped round %d", n.incarnation, round)
			n.agent.Gone(round, o, nil)
		})
	})
}

// gone is the moment when the last process of the workers is.
func (n *simNode) gone() {
	if n.runs != "" && !n.alone() {
		n.s.running[n.runs]--
	}
	n.runs = ""
}
