package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/hang"
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

// recover strikes the job and lets it recover.
func (j *job) recover(k kind, at, trains, worked, checkpoint time.Duration) recovery {
	began := j.start.Add(at)
	for len(j.events) > 0 && j.events[0].at.Before(began) { // replacements come, which decides nothing
		j.now = j.events[0].at
		j.due()
	}
	j.now, j.worked, j.checkpoint = began, worked, checkpoint
	j.ended, j.stopsAt, j.outAt, j.trained, j.saved = false, time.Time{}, time.Time{}, 0, 0
	j.strike(k, trains)
	j.form()

	rec := recovery{ended: j.ended, stop: j.outAt.Sub(j.stopsAt), form: j.now.Sub(j.outAt) + j.store}
	rec.detect = j.stopsAt.Sub(began)
	rec.trained = min(j.trained, rec.detect)
	rec.saved = min(j.saved, rec.detect-rec.trained)
	rec.detect -= rec.trained + rec.saved
	if step := j.v.Round.Resume.Step; step != nil {
		rec.resume = time.Duration(*step) * time.Millisecond
	}
	return rec
}

// strike is the interruption, as the nodes come to know of it.
func (j *job) strike(k kind, trains time.Duration) {
	running := j.running()
	victim := running[0]
	stuck := func() {
		for _, name := range j.running() {
			j.put(name, j.fails(j.hung))
		}
	}
	seen := j.watchdog // where no step was told yet gangrun waits, and the ranks give up by themselves
	if k == lost || k == hangs {
		if after, found := hangSeen(j.step, trains); found {
			seen = after
		}
	}
	switch k {
	case exits:
		j.put(victim, j.fails(j.failed))
	case breaks:
		j.put(victim, j.fails(j.broke))
	case lost:
		j.after(j.lease, func() { delete(j.v.Nodes, victim) })
		j.after(j.replacement, j.join)
		j.afterInRound(seen, stuck)
	case hangs:
		j.afterInRound(seen, stuck)
	case planned:
		for _, name := range running {
			j.put(name, func(n *rendezvous.Node) {
				n.Service = &rendezvous.Service{Round: n.Round, Looks: trains > 0}
				n.Leaving, n.Asks = name == victim, name == victim
			})
		}
	}
}

// afterInRound is after, for what happens only if the round still runs.
func (j *job) afterInRound(d time.Duration, do func()) {
	round := j.v.Job.Round
	j.after(d, func() {
		if j.v.Job.Round == round && j.v.Job.Phase == rendezvous.Running {
			do()
		}
	})
}

// hangSeen asks the shipped detector, with its defaults, after how long it acts when training stands that has run for
// so long; it does not where too few steps were told.
func hangSeen(step, trains time.Duration) (after time.Duration, found bool) {
	var start time.Time
	d := hang.New(hang.Policy{}, 1, start)
	trains = max(trains, 0)
	now, last := start, start
	listen := func(until time.Time) (acts bool) {
		for now.Before(until) {
			now = d.Next()
			do := d.Tick(now)
			if do.Suspect != nil {
				d.Gathered()
			}
			if do.Hang != nil && do.Hang.Acts {
				return true
			}
		}
		return false
	}
	for i := range min(int64(trains/step), 3) { // more steps of the same length tell it nothing
		last = last.Add(step)
		listen(last)
		d.Told(0, hang.Sign{Step: &i}, last)
	}
	if !listen(last.Add(time.Hour)) {
		return 0, false
	}
	return now.Sub(last) - trains%step, true
}
