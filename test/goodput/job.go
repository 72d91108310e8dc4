package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// job plays the nodes and the store of a job whose leader decides as it is shipped: a phase of a restart lasts until
// rendezvous.Decide ends it. It is what rendezvous' own tests have as a stage, with a clock that jumps.
type job struct {
	assumptions
	start  time.Time
	now    time.Time
	spec   rendezvous.Spec
	v      rendezvous.View
	puts   []rendezvous.Put
	events []event
	joined int // how many nodes have ever
	failed exitcodes.Finding
	broke  exitcodes.Finding
	hung   exitcodes.Finding

	checkpoint time.Duration // the training time of the newest complete one
	worked     time.Duration // training when it was interrupted
	ended      bool
	stopsAt    time.Time // of the interruption that it recovers from: the order to stop
	outAt      time.Time // and the end of the last process
	trained    time.Duration
	saved      time.Duration
}

// event is something that happens to a node.
type event struct {
	at time.Time
	do func()
}

func newJob(a assumptions) *job {
	spec := rendezvous.DefaultSpec(a.nodes)
	spec.Fence, spec.Resume.Look = a.fence, true
	j := &job{
		assumptions: a, spec: spec, start: time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC),
		failed: exitcodes.Judge(exitcodes.Outcome{Status: exitcodes.Status{Signal: 9}}, exitcodes.NoRules()),
		broke: exitcodes.Judge(exitcodes.Outcome{
			Status: exitcodes.Status{Code: 1}, Xids: []exitcodes.Xid{{Number: 79, PCI: "0000:3b:00"}},
		}, exitcodes.NoRules()),
		hung: exitcodes.Judge(exitcodes.Outcome{Hang: &exitcodes.Hang{Why: "made no progress"}}, exitcodes.NoRules()),
	}
	j.now = j.start
	j.found()
	return j
}

// found begins a run of the job, with all its nodes.
func (j *job) found() {
	j.v = rendezvous.View{Token: "store", Rev: j.v.Rev, Nodes: map[string]rendezvous.NodeEntry{}}
	j.puts, j.events = nil, nil
	for range j.nodes + j.spares {
		j.join()
	}
	j.form()
}

// join puts the key of a new node.
func (j *job) join() {
	j.joined++
	name := fmt.Sprintf("node%d", j.joined)
	n := &rendezvous.Node{
		V: 1, Store: j.v.Token, Incarnation: name + "#", BootID: "boot-" + name, PIDNS: "ns", Host: name,
		Address: name, Port: 29500, Slots: 8, SpecHash: j.spec.Hash(), Spec: &j.spec,
		State: rendezvous.NodeWaiting, Round: -1,
	}
	if j.v.Job != nil {
		n.RunUID, n.Spec = j.v.Job.RunUID, nil
	}
	j.v.Rev++
	j.v.Nodes[name] = rendezvous.NodeEntry{Node: n, CreateRev: j.v.Rev}
	j.put(name, j.looks)
}

// put changes a node's key.
func (j *job) put(name string, edit ...func(*rendezvous.Node)) {
	e, found := j.v.Nodes[name]
	if !found {
		return // it is dead
	}
	n := *e.Node
	if n.Outcome != nil && n.OutcomeRev == 0 {
		n.OutcomeRev = e.ModRev
	}
	for _, f := range edit {
		f(&n)
	}
	j.v.Rev++
	e.Node, e.ModRev, e.Leased = &n, j.v.Rev, n.State != rendezvous.NodeLeft
	j.v.Nodes[name] = e
	j.puts = append(j.puts, rendezvous.Put{Name: name, Incarnation: n.Incarnation, ModRev: e.ModRev})
}

// after puts off what is done.
func (j *job) after(d time.Duration, do func()) {
	j.events = append(j.events, event{j.now.Add(d), do})
	slices.SortStableFunc(j.events, func(a, b event) int { return a.at.Compare(b.at) })
}

// form lets time pass until a round is formed.
func (j *job) form() {
	for range 1000 {
		d := j.decide()
		switch d.Action {
		case rendezvous.ActForm:
			for _, m := range d.Round.Members {
				j.put(m.Name, j.runs)
			}
			return
		case rendezvous.ActStop:
			j.halt()
		case rendezvous.ActAsk:
			j.answer()
		case rendezvous.ActSave:
			j.serve(*d.Job.Save.Step)
		case rendezvous.ActCreate, rendezvous.ActGather:
			j.after(j.look, func() {
				for _, name := range j.names() {
					j.put(name, j.looks)
				}
			})
		case rendezvous.ActFail:
			j.ended = true
			j.now = j.now.Add(j.operator)
			j.found()
			return
		case rendezvous.ActWait:
			j.pass(d)
		}
	}
	panic(fmt.Sprintf("round %d does not come about; the job is %s", j.v.Job.NextRound, j.v.Job.Phase))
}

// decide lets the leader decide once, and does what it says.
func (j *job) decide() rendezvous.Decision {
	j.v.Rev++
	j.v.Read = j.v.Rev
	j.v.Observations = rendezvous.Observe(j.v.Observations, j.v, j.puts, j.now)
	j.puts = nil
	d := rendezvous.Decide(j.v, j.now)
	if d.Job == nil {
		return d
	}
	j.v.Rev++
	j.v.Job, j.v.JobRev = d.Job, j.v.Rev
	if d.Round != nil {
		j.v.Round = d.Round
	}
	for name, h := range d.Hosts {
		if j.v.Hosts == nil {
			j.v.Hosts = map[string]*rendezvous.Host{}
		}
		if j.v.Hosts[name] = h; h == nil {
			delete(j.v.Hosts, name)
		}
	}
	for _, r := range d.Remove {
		if j.v.Nodes[r.Name].ModRev == r.ModRev {
			delete(j.v.Nodes, r.Name)
		}
	}
	return d
}

// pass lets time pass until something happens, or the leader wants to look again.
func (j *job) pass(d rendezvous.Decision) {
	next := d.Next
	if len(j.events) > 0 && (next.IsZero() || j.events[0].at.Before(next)) {
		next = j.events[0].at
	}
	if next.IsZero() || next.Before(j.now) {
		panic(fmt.Sprintf("the job waits for ever: %s", d.Why.Text))
	}
	j.now = next
	j.due()
}

// due does what is due.
func (j *job) due() {
	for len(j.events) > 0 && !j.events[0].at.After(j.now) {
		do := j.events[0].do
		j.events = j.events[1:]
		do()
	}
}
