package main

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// looks is a node that has listed the checkpoints, which are the same for all.
func (j *job) looks(n *rendezvous.Node) {
	c := &rendezvous.Checkpoints{Asked: -1}
	if j.v.Job != nil {
		c.Asked = j.v.Job.SinceSeq
	}
	if step := j.checkpoint.Milliseconds(); step > 0 {
		c.Steps, c.Reached = []int64{step}, &step
	}
	n.Checkpoints = c
}

// runs is a node that has started its workers.
func (j *job) runs(n *rendezvous.Node) {
	n.State, n.Round, n.Outcome, n.OutcomeRev = rendezvous.NodeRunning, j.v.Job.Round, nil, 0
	n.Service, n.RunUID, n.Spec = nil, j.v.Job.RunUID, nil
}

// fails is a node one of whose workers has failed.
func (j *job) fails(f exitcodes.Finding) func(*rendezvous.Node) {
	return func(n *rendezvous.Node) {
		if n.Outcome == nil {
			f.At = j.now
			o := rendezvous.OutcomeOf(f, j.v.Token, j.v.Job.RunUID, j.v.Job.Round)
			n.Outcome, n.OutcomeRev = &o, 0
		}
	}
}

// stops is a node whose last process is gone; one that has to leave does.
func (j *job) stops(n *rendezvous.Node) {
	n.State = rendezvous.NodeStopped
	switch {
	case n.Outcome != nil && n.Outcome.NodeFault:
		n.Sick, n.Leaving, n.State = n.Outcome.Message, true, rendezvous.NodeLeft
	case n.Leaving:
		n.State = rendezvous.NodeLeft
	}
	if n.State == rendezvous.NodeLeft {
		j.after(j.replacement, j.join)
	}
}

func (j *job) names() (list []string) {
	for name := range j.v.Nodes {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// running lists the nodes whose workers run.
func (j *job) running() (list []string) {
	for _, name := range j.names() {
		if j.v.Nodes[name].State == rendezvous.NodeRunning {
			list = append(list, name)
		}
	}
	return list
}

// halt is what the nodes do when they hear that the round is to stop.
func (j *job) halt() {
	if running := j.running(); len(running) > 0 {
		j.stopsAt, j.outAt = j.now, j.now.Add(j.stop)
		j.after(j.stop, func() {
			for _, name := range running {
				j.put(name, j.stops)
			}
		})
	} else if j.stopsAt.IsZero() {
		j.stopsAt, j.outAt = j.now, j.now
	}
}

// answer says how far the workers are, which look for a step at which all save.
func (j *job) answer() {
	step := int64(0)
	for _, name := range j.running() {
		j.put(name, func(n *rendezvous.Node) {
			s := rendezvous.ServiceOf(*n.Service)
			s.Answered, s.Step = true, &step
			s.Each, s.Within = rendezvous.Duration(j.step), rendezvous.Duration(j.notice)
			n.Service = &s
		})
	}
}

// serve trains up to the agreed step, saves, and ends.
func (j *job) serve(steps int64) {
	running := j.running()
	j.trained, j.saved = time.Duration(steps)*j.step, j.pause+j.written
	j.afterInRound(j.trained+j.saved, func() {
		j.checkpoint = j.worked + j.trained
		for _, name := range running {
			j.put(name, func(n *rendezvous.Node) {
				s := *n.Service
				s.Served = true
				n.Service = &s
				j.stops(n)
			})
		}
	})
}
