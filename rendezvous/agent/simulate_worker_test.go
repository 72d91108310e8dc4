package agent_test

import (
	"cmp"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/node"
)

// This file is the machine of a simulated node: what the node decides is the shipped step, package node; here are its
// effects, on workers that train, fail, and take their time to stop. All of it runs with the simulation's lock held.

// workers are those of one node: two, so that one can fail and the other has to be stopped.
type workers struct {
	node    *node.Node
	start   *agent.Start // the last order
	runs    string       // the round that they run, "" for none
	round   int
	started int // how often they were
	alive   [2]bool
	halting bool              // at least one is being stopped
	failure exitcodes.Finding // of the first, once it has failed
	found   [2]exitcodes.Finding
	tick    time.Time // is under way
	at      int64     // the step that they have finished
	stopAt  string    // what they have been told of the step at which all save
}

// ordered follows an order.
func (n *simNode) ordered(o agent.Order) {
	switch {
	case o.Start != nil:
		n.start = o.Start
		n.step(node.Begin{Round: o.Start.Round.Number})
	case o.Ask != nil:
		n.step(node.Ask{Round: o.Ask.Round})
	case o.Save != nil:
		n.step(node.Save{Round: o.Save.Round, Step: o.Save.Step, Why: o.Save.Why, Departure: o.Save.Departure})
	case o.Slow != nil:
		n.step(node.Slows(*o.Slow))
	case o.Stop != nil:
		n.step(node.Stop{Round: o.Stop.Round, Why: o.Stop.Why, Suspend: o.Stop.Suspend, Departure: o.Stop.Departure, Expedite: o.Stop.Expedite})
	case o.End != nil:
		if n.step(node.End{End: *o.End}); n.node.State() == node.Ended {
			n.ends(*o.End)
		}
	}
}

// step has the node take an event, and does what follows.
func (n *simNode) step(first node.Event) {
	if n.workers.node == nil {
		policy := node.Policy{Node: n.name, Grace: 5 * time.Second, RestartGrace: 5 * time.Second}
		if n.s.looks {
			policy.Grace, policy.StopSignals = simGrace, []node.Signal{node.SIGTERM}
		}
		n.workers.node, _ = node.New(policy, time.Now())
	}
	for events := []node.Event{first}; len(events) > 0; events = events[1:] {
		for _, e := range n.workers.node.Step(events[0], time.Now()) {
			if answer := n.effect(e); answer != nil {
				events = append(events, answer)
			}
		}
	}
	if next := n.workers.node.Deadline(); !next.IsZero() && next != n.tick {
		n.tick = next
		n.later(time.Until(next), func() { n.step(node.Tick{}) })
	}
}

// effect is what a machine does.
func (n *simNode) effect(e node.Effect) node.Event {
	switch e := e.(type) {
	case node.Prepare:
		may := n.agent.MayStart()
		if !may {
			n.s.say("%s: too late to start round %d", n.incarnation, e.Round)
		}
		return node.Prepared{Workers: []node.Worker{{Rank: 0}, {Rank: 1}}, MayStart: may}
	case node.Fork:
		if e.Worker == 0 {
			n.begins()
		}
		n.alive[e.Worker] = true
		return node.Forked{Worker: e.Worker, PID: 1 + e.Worker}
	case node.Send:
		n.stops(e.Worker)
	case node.Gather:
		f := exitcodes.Judge(e.Outcome, exitcodes.NoRules())
		if e.Worker == 0 && n.failure.Verdict != "" && e.Outcome.Stop == exitcodes.NotStopped {
			f = n.failure
		}
		n.found[e.Worker] = f
		return node.Judged{Worker: e.Worker, Finding: f}
	case node.Amend:
		return node.Amended{Findings: n.found[:]}
	case node.Sweep:
		return node.Swept{}
	case node.Flush:
		return node.Flushed{}
	case node.Failing:
		n.agent.Failing(e.Round, e.Outcome, e.Step)
	case node.Gone:
		n.s.say("%s: has stopped round %d", n.incarnation, e.Round)
		n.agent.Gone(e.Round, e.Outcome, e.Step)
	case node.Leave:
		switch {
		case e.Sick != "":
			n.agent.LeaveSick(e.Sick)
		case e.Saves:
			n.agent.LeaveAfterSave()
		default:
			n.agent.Leave()
		}
	case node.Serve:
		n.agent.Serve(e.Service)
	case node.Tell:
		return n.tell(e)
	}
	return nil
}

// begins is the start of the first worker of a round.
func (n *simNode) begins() {
	s, start := n.s, n.start
	s.say("%s: starts round %d as rank %d", n.incarnation, start.Round.Number, start.Rank)
	s.startedWorkers(n, start.Round, start.Rank)
	n.runs, n.round = roundID(start.Round.Store, start.Round.Number), start.Round.Number
	n.started++
	n.halting, n.failure, n.stopAt, n.at = false, exitcodes.Finding{}, "", 0
	mine := n.started
	if s.looks && !n.alone() {
		n.later(0, func() { n.trains(mine) })
	}
	s.after(cmp.Or(s.work, simWork)+s.random(time.Second), func() { // workers do not stand still when their gangrun does
		n.later(0, func() {
			if n.started == mine && n.runs != "" && !n.halting {
				n.succeed()
			}
		})
	})
	if s.saves && !n.alone() {
		n.save(mine)
	}
	n.sickens(mine)
	for step := range int64(6) { // what everybody tells of that must hold up nothing
		n.later(time.Duration(step)*time.Second, func() {
			if n.started == mine && n.runs != "" {
				n.agent.Progressed(rendezvous.Reached{Round: n.round, Step: &step, Own: &rendezvous.OwnTime{
					Minute: int(1 + step), Usec: 100_000, Step: 1_000_000, Steps: 60,
				}}, false)
			}
		})
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
	n.gone()
	n.step(node.Exited{Worker: 0, At: time.Now()})
	n.step(node.Exited{Worker: 1, At: time.Now(), Alone: true})
}

// fail lets the first worker end by itself; the node stops the other.
func (n *simNode) fail(v exitcodes.Verdict, reason string, role exitcodes.Role) {
	n.s.say("%s: its workers fail: %s %s", n.incarnation, v, reason)
	n.failure = exitcodes.Finding{Verdict: v, Reason: reason, Role: role, Code: 1, Rank: -1, LocalRank: -1}
	n.halting = true
	n.alive[0] = false
	n.exits()
}

// exits is the end of the first worker by itself.
func (n *simNode) exits() {
	n.step(node.Exited{Worker: 0, Status: exitcodes.Status{Code: 1}, At: time.Now()})
}

// stops stops a worker, which takes a while.
func (n *simNode) stops(i int) {
	s := n.s
	if n.runs == "" || !n.alive[i] {
		return
	}
	n.halting = true
	mine := n.started
	s.after(s.random(simStop), func() {
		if n.dead || n.started != mine || !n.alive[i] {
			return
		}
		n.alive[i] = false
		alone := n.alive == [2]bool{}
		if alone {
			n.gone()
		}
		n.later(0, func() {
			n.step(node.Exited{Worker: i, Status: exitcodes.Status{Signal: 15}, At: time.Now(), Alone: alone})
		})
	})
}

// gone is the moment when the last process of the workers is.
func (n *simNode) gone() {
	if n.runs != "" && !n.alone() {
		n.s.running[n.runs]--
	}
	n.runs, n.alive = "", [2]bool{}
}
