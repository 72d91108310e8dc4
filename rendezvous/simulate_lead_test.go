package rendezvous

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// simLead is what a node has while it leads: a view from its own watch.
type simLead struct {
	n      *simNode
	st     *simStore
	pos    int // in the store's log
	rev    int64
	nodes  map[string]NodeEntry
	puts   []Put
	sights Sights
	busy   bool
	again  bool
	timer  int
}

func (n *simNode) lead() {
	l := &simLead{n: n, st: n.store}
	n.leads = l
	n.s.say("%s: leads", n.self.Incarnation)
	n.call(func(st *simStore) { // the whole state first
		l.nodes, l.pos, l.rev = maps.Clone(st.nodes), len(st.log), st.rev
	}, func() {
		if l.nodes != nil {
			l.decide()
		}
	}, func() { n.leads = nil })
}

// wakeLead lets whoever believes that it leads look again.
func (s *sim) wakeLead() {
	for _, n := range s.nodes {
		if l := n.leads; l != nil && l.nodes != nil && l.timer < 1_000_000_000 {
			l.wake(s.latency())
		}
	}
}

func (l *simLead) wake(d time.Duration) {
	l.timer++
	mine := l.timer
	l.n.later(d, func() {
		if l.n.leads == l && (mine == l.timer || l.busy) {
			l.decide()
		}
	})
}

// decide reads the store's revision, drains the watch, decides, and writes.
func (l *simLead) decide() {
	n, s := l.n, l.n.s
	if l.busy {
		l.again = true
		return
	}
	l.busy = true
	var v View
	n.call(func(st *simStore) {
		v = View{Token: st.token, Read: st.rev, Job: st.job, JobRev: st.jobRev, Round: st.round, Controls: slices.Clone(st.controls)}
		if st.newSince >= 0 {
			v.NewSince = simBase.Add(n.skew + st.newSince)
		}
	}, func() {
		if n.leads != l || n.store != l.st || v.Token != n.self.Store {
			l.busy = false
			return
		}
		for ; l.pos < len(l.st.log); l.pos++ {
			c := l.st.log[l.pos]
			if s.now < n.slow && c.at > s.now.Truncate(8*time.Second) {
				break // it comes late, and then all at once
			}
			if c.gone {
				if e, found := l.nodes[c.name]; found && e.Incarnation == c.entry.Incarnation {
					delete(l.nodes, c.name)
				}
			} else {
				l.nodes[c.name] = c.entry
				l.puts = append(l.puts, Put{c.name, c.entry.Incarnation, c.entry.ModRev})
			}
			l.rev = c.rev
		}
		if l.pos == len(l.st.log) {
			l.rev = max(l.rev, v.Read)
		}
		v.Rev, v.Nodes = l.rev, l.nodes
		now := simBase.Add(s.now + n.skew)
		l.sights = Observe(l.sights, v, l.puts, now)
		l.puts = nil
		v.Sights = l.sights
		d := Decide(v, now)
		l.done(v, d, now)
	}, func() { l.busy = false; l.wake(time.Second) })
}

func (l *simLead) done(v View, d Decision, now time.Time) {
	n, s := l.n, l.n.s
	idle := func() {
		l.busy = false
		if l.again {
			l.again = false
			l.wake(0)
		}
	}
	if d.Job == nil {
		s.store.why = d.Why.Text
		switch {
		case d.Why.For == WaitsForWatch:
			l.wake(50 * time.Millisecond)
		case !d.Next.IsZero():
			l.wake(max(d.Next.Sub(now), time.Millisecond))
		}
		idle()
		return
	}
	if s.skip--; s.skip < 0 && s.lead != nil {
		s.armed, s.lead = append(s.armed, *s.lead), nil
	}
	if len(s.armed) > 0 {
		f := s.armed[0]
		s.armed = s.armed[1:]
		s.say("fault: %s", f)
		switch f.kind {
		case "lead crashes before its write":
			s.failures++
			n.die(true)
			return
		case "lead crashes after its write":
			s.failures++
			s.after(s.latency(), func() { s.commit(l, v, d) })
			n.die(true)
			return
		default:
			s.failures++
			n.pause(f.long)
		}
	}
	// The write is sent only when the node goes on again.
	n.later(0, func() {
		n.call(func(*simStore) { s.commit(l, v, d) }, func() { idle(); l.wake(0) }, func() { l.busy = false; l.wake(time.Second) })
	})
}

// commit is the lead's transaction at the store.
func (s *sim) commit(l *simLead, v View, d Decision) {
	st := s.store
	if st != l.st || st.jobRev != v.JobRev || len(st.election) == 0 || !slices.Contains(st.election, l.n.self.Incarnation) {
		return
	}
	st.rev++
	s.check(d)
	s.say("lead %s: %s: %s round %d (%v)", l.n.self.Incarnation, d.Action, d.Job.Phase, d.Job.Round, d.Job.Stop)
	st.job, st.jobRev = d.Job, st.rev
	if d.Round != nil {
		st.round = d.Round
	} else if d.Job.Round < 0 {
		st.round = nil
	}
	for _, r := range d.Remove {
		if e := st.nodes[r.Name]; e.ModRev == r.ModRev {
			st.change(s.now, r.Name, e, true)
		}
	}
	st.controls = slices.DeleteFunc(st.controls, func(c ControlEntry) bool { return slices.Contains(d.Controls, c.ID) })
	s.publish()
}

// check holds a write of the lead to the invariants.
func (s *sim) check(d Decision) {
	j := d.Job
	if b, err := Encode(j); s.n < 100 {
		if err == nil {
			_, err = ParseJob("job", b)
		}
		if err != nil {
			s.violate("the lead writes what nobody can read: %v", err)
		}
	}
	if d.Round != nil {
		id := fmt.Sprintf("%s/%d", s.store.token, d.Round.Number)
		if s.rounds[id] != nil {
			s.violate("round %s is formed twice", id)
		}
		r := *d.Round
		r.At = simBase.Add(s.now) // true time
		s.rounds[id] = &r
		s.stable(d.Round)
		if r := d.Round.Resume; s.saves && (len(s.saved) == 0) != (r.Step == nil) || r.Step != nil && *r.Step != s.saved[0] {
			s.violate("R4: round %s begins from %+v, and %v was saved", id, r, s.saved)
		}
	}
	if d.Action == ActSucceed {
		for _, m := range s.store.round.Members {
			if s.spec.required(m.Role) && !s.everDone[fmt.Sprintf("%s/%d%s", s.store.token, j.Round, m.Name)] {
				s.violate("R3: success, but %s has not succeeded", m.Name)
			}
		}
	}
	if d.Action == ActFail && s.fatals == 0 {
		s.violate("R5: the job ends with %+v, and no worker has failed for good", j.End)
	}
}

// stable checks R7.
func (s *sim) stable(r *Round) {
	before := s.previous
	s.previous = r
	if before == nil || before.Store != r.Store {
		return
	}
	for rank, m := range r.Members {
		was := before.Rank(m.Name, m.Incarnation)
		if s.pinned && s.min == s.n && fmt.Sprintf("n%03d", rank) != m.Name {
			s.violate("R7: %s is rank %d against its pin", m.Name, rank)
		}
		if was >= 0 && was < len(r.Members) && was != rank && !s.pinned {
			s.violate("R7: %s was rank %d and is now %d", m.Name, was, rank)
		}
	}
}
