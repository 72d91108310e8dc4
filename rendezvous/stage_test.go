package rendezvous

import (
	"fmt"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// stage is a store, a leader and a clock, in which a test plays the nodes.
type stage struct {
	*testing.T
	now  time.Time
	rev  int64
	v    View
	puts []Put
	spec Spec
	last Decision
}

func newStage(t *testing.T, spec Spec) *stage {
	return &stage{
		T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), spec: spec,
		v: View{Token: "store-a", Nodes: map[string]NodeEntry{}},
	}
}

// join puts a new node's key. The incarnation is name#n.
func (s *stage) join(name string, edit ...func(*Node)) {
	s.rev++
	old, found := s.v.Nodes[name]
	n := Node{
		V: 1, Store: s.v.Token, Incarnation: fmt.Sprintf("%s#%d", name, s.rev), BootID: "boot-" + name, PIDNS: "ns-" + name,
		Address: name + ".svc", Port: 1000 + int(s.rev), Slots: 2, SpecHash: s.spec.Hash(), Spec: &s.spec,
		State: NodeWaiting, Round: -1,
	}
	if found && old.State == NodeLeft {
		n.Replaces = &Farewell{Incarnation: old.Incarnation, Round: old.Round}
	}
	for _, f := range edit {
		f(&n)
	}
	s.set(name, NodeEntry{Node: &n, CreateRev: s.rev, ModRev: s.rev, Leased: true})
}

func (s *stage) set(name string, e NodeEntry) {
	s.v.Nodes[name] = e
	s.puts = append(s.puts, Put{name, e.Incarnation, e.ModRev})
}

// put changes a node's key.
func (s *stage) put(name string, edit ...func(*Node)) {
	s.Helper()
	e, found := s.v.Nodes[name]
	if !found {
		s.Fatalf("no node %s", name)
	}
	s.rev++
	changed := *e.Node
	e.Node = &changed
	if e.Outcome != nil && e.OutcomeRev == 0 {
		e.OutcomeRev = e.ModRev
	}
	e.ModRev = s.rev
	for _, f := range edit {
		f(e.Node)
	}
	e.Leased = e.State != NodeLeft
	s.set(name, e)
}

// all changes the keys of all nodes.
func (s *stage) all(edit ...func(*Node)) {
	for _, name := range s.names() {
		s.put(name, edit...)
	}
}

func (s *stage) names() (list []string) {
	t := turn{View: s.v}
	for _, e := range t.entries() {
		list = append(list, e.name)
	}
	return list
}

// expire takes a node's key away, as the end of its lease does.
func (s *stage) expire(name string) { delete(s.v.Nodes, name) }

func (s *stage) sleep(d time.Duration) { s.now = s.now.Add(d) }

func (s *stage) command(id, verb string, edit ...func(*Control)) {
	s.rev++
	c := Control{V: 1, ID: id, Verb: verb}
	for _, f := range edit {
		f(&c)
	}
	s.v.Controls = append(s.v.Controls, ControlEntry{c, s.rev})
}

// whenever is what a node's checkpoints are asked for that are the same whenever it is asked.
const whenever = -1

// answered is what the leader sees: the nodes have answered whatever they were asked.
func (s *stage) answered() View {
	v := s.v
	v.Nodes = make(map[string]NodeEntry, len(s.v.Nodes))
	for name, e := range s.v.Nodes {
		if c := e.Checkpoints; c != nil && c.Asked == whenever && v.Job != nil {
			n, now := *e.Node, *c
			now.Asked = v.Job.Seq
			n.Checkpoints, e.Node = &now, &n
		}
		v.Nodes[name] = e
	}
	return v
}

// decide lets the leader decide once and does what it says.
func (s *stage) decide() Decision {
	s.Helper()
	s.rev++
	s.v.Rev, s.v.Read = s.rev, s.rev
	s.v.Observations = Observe(s.v.Observations, s.v, s.puts, s.now)
	s.puts = nil
	before := s.v.Job
	d := Decide(s.answered(), s.now)
	s.last = d
	s.check(before, d)
	if d.Job == nil && !d.Forget {
		return d
	}
	s.rev++
	s.v.Job, s.v.JobRev = d.Job, s.rev
	if d.Round != nil {
		s.v.Round = d.Round
	}
	if d.Job == nil || d.Job.Round < 0 {
		s.v.Round = nil
	}
	s.hosts(d)
	for _, r := range d.Remove {
		if s.v.Nodes[r.Name].ModRev == r.ModRev {
			delete(s.v.Nodes, r.Name)
		}
	}
	var rest []ControlEntry
	for _, c := range s.v.Controls {
		keep := true
		for _, id := range d.Controls {
			keep = keep && id != c.ID
		}
		if keep {
			rest = append(rest, c)
		}
	}
	s.v.Controls = rest
	return d
}

// check holds every decision to what the parsers accept.
func (s *stage) check(before *Job, d Decision) {
	s.Helper()
	if d.Action == ActWait && (d.Job != nil || d.Why.Text == "" || d.Why.For == "") {
		s.Fatalf("a wait that writes or does not say why: %+v", d)
	}
	if d.Job != nil {
		b, err := Encode(d.Job)
		if err == nil {
			_, err = ParseJob("job", b)
		}
		if err != nil {
			s.Fatalf("the leader wrote what nobody can read: %v\n%s", err, b)
		}
		if before != nil && d.Job.Seq != before.Seq+1 && d.Action != ActAdopt {
			s.Fatalf("seq %d after %d", d.Job.Seq, before.Seq)
		}
	}
	if d.Round != nil {
		b, err := Encode(d.Round)
		if err == nil {
			_, err = ParseRound("rounds/1", b)
		}
		if err != nil {
			s.Fatalf("the leader wrote what nobody can read: %v\n%s", err, b)
		}
	}
}

// hosts changes the records of hosts as the decision says.
func (s *stage) hosts(d Decision) {
	s.Helper()
	for name, h := range d.Hosts {
		if s.v.Hosts == nil {
			s.v.Hosts = map[string]*Host{}
		}
		if delete(s.v.Hosts, name); h == nil {
			continue
		}
		b, err := Encode(h)
		if err == nil {
			s.v.Hosts[name], err = ParseHost("hosts/"+name, b)
		}
		if err != nil {
			s.Fatalf("the leader wrote what nobody can read: %v\n%s", err, b)
		}
	}
}

// settle lets the leader decide until it waits, and checks what it did.
func (s *stage) settle(want ...Action) Decision {
	s.Helper()
	var got []Action
	for range 20 {
		d := s.decide()
		if d.Action == ActWait {
			if fmt.Sprint(got) != fmt.Sprint(want) {
				s.Fatalf("the leader did %v, want %v; now waits: %s", got, want, d.Why.Text)
			}
			return d
		}
		got = append(got, d.Action)
	}
	s.Fatalf("the leader never rests: %v", got)
	return Decision{}
}

// run begins a round with the nodes that are there and lets them say that they run.
func (s *stage) run(want ...Action) {
	s.Helper()
	s.settle(want...)
	s.started()
}

func (s *stage) started() {
	for _, m := range s.v.Round.Members {
		if e := s.v.Nodes[m.Name]; e.Incarnation == m.Incarnation {
			s.put(m.Name, runs(s.v.Round.Number), func(n *Node) { n.RunUID, n.Spec, n.ReopenSeq = s.v.Job.RunUID, nil, 0 })
		}
	}
}

// stage of a running round of n nodes a, b, c, …
func runningStage(t *testing.T, spec Spec) *stage {
	s := newStage(t, spec)
	for i := range spec.MaxNodes {
		s.join(string(rune('a' + i)))
		if spec.Resume.Look {
			s.put(string(rune('a'+i)), checkpoints())
		}
	}
	s.run(ActCreate, ActForm)
	return s
}

func runs(r int) func(*Node) {
	return func(n *Node) { n.State, n.Round, n.Outcome, n.OutcomeRev = NodeRunning, r, nil, 0 }
}
func stops(n *Node)   { n.State = NodeStopped }
func leaves(n *Node)  { n.Leaving = true }
func hasLeft(n *Node) { n.State, n.Leaving = NodeLeft, true }

// stopsAll acknowledges for all that still run.
func (s *stage) stopsAll() {
	for _, name := range s.names() {
		if s.v.Nodes[name].State == NodeRunning {
			s.put(name, stops)
		}
	}
}

// halts has the leader stop the round, all stop, and the next one begin. It returns why.
func (s *stage) halts() *Stop {
	s.Helper()
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
	return s.v.Job.Stop
}

func (s *stage) fails(name string, edit ...func(*Outcome)) {
	o := Outcome{
		Store: s.v.Token, RunUID: s.v.Job.RunUID, Round: s.v.Job.Round, Verdict: exitcodes.Retry, Reason: "Error", Code: 137,
		Role: "root", Message: name + " failed",
	}
	for _, f := range edit {
		f(&o)
	}
	s.put(name, func(n *Node) { n.Outcome, n.OutcomeRev = &o, 0 })
}

func as(role string) func(*Outcome) { return func(o *Outcome) { o.Role = role } }

func fatal(o *Outcome) { o.Verdict, o.Code = exitcodes.Fatal, 1 }

// hadSaid is a worker that was stopped when it had failed already.
func hadSaid(o *Outcome) {
	o.Verdict, o.Role, o.Reason, o.Message, o.Code = "", "", "", "", 0
	o.Said = &Said{Verdict: exitcodes.Fatal, Code: 1, Reason: "Error", Evidence: "ValueError: heads", Rank: 4}
}

func succeeds(s *stage) func(*Node) {
	return func(n *Node) {
		n.State = NodeDone
		n.Outcome = &Outcome{Store: s.v.Token, RunUID: s.v.Job.RunUID, Round: s.v.Job.Round, Verdict: exitcodes.Success}
	}
}

func pin(rank int) func(*Node) { return func(n *Node) { n.Pin = &rank } }

func uid(u string) func(*Node) { return func(n *Node) { n.RunUID = u } }

func (s *stage) phase(want Phase) {
	s.Helper()
	if got := s.v.Job.Phase; got != want {
		s.Fatalf("phase %s, want %s; %+v", got, want, s.v.Job)
	}
}

func (s *stage) ended(v exitcodes.Verdict, reason string, code int) {
	s.Helper()
	e := s.v.Job.End
	if e == nil || e.Verdict != v || e.Reason != reason || e.Code != code {
		s.Fatalf("ended with %+v, want %s %s %d", e, v, reason, code)
	}
}

func (s *stage) ranks() string {
	text := ""
	for _, m := range s.v.Round.Members {
		text += m.Name
	}
	return text
}

func (s *stage) stopped(kind, node string) {
	s.Helper()
	if got := s.v.Job.Stop; got == nil || got.Kind != kind || got.Node != node {
		s.Fatalf("stopped by %+v, want %s of %q", got, kind, node)
	}
}
