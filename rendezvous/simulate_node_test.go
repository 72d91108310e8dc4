package rendezvous

import (
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// simNode is one incarnation of one node: the shell around React and, while it leads, around Decide.
type simNode struct {
	s        *sim
	name     string
	place    int // its index among the names
	number   int
	host     int
	self     Self
	dead     bool
	skew     time.Duration
	why      string
	cutUntil time.Duration
	slow     time.Duration // until when its watch delivers late
	deaf     time.Duration // until when its watch delivers nothing
	paused   time.Duration // until when it stands still
	store    *simStore     // the one that its connection has reached last
	joined   bool          // its key is in that store
	joining  bool
	modRev   int64
	job      *Job // read last, from store
	round    *Round
	bring    *Job
	outcome  *Outcome
	toldAt   int64 // OutcomeRev
	after    *Farewell
	dirty    bool
	writing  bool
	halting  bool
	runs     string // the round whose workers run: token/number
	started  int
	leads    *simLead
	gone     bool // has left
	found    *Checkpoints
	looking  bool
	alone    bool   // it has a role that restarts alone
	budget   Budget // of its own
}

// sideRole is that of a node whose workers no promise is about but that of their place.
const sideRole = "side"

// birth starts a node, as an operator starts a pod.
func (s *sim) birth(place, host int) {
	s.born++
	name := fmt.Sprintf("n%03d", place)
	n := &simNode{s: s, name: name, place: place, number: s.born, host: host, store: s.store, skew: s.random(time.Minute) - 30*time.Second}
	n.self = Self{
		Name: name, Incarnation: fmt.Sprintf("%s#%d", name, s.born), RunUID: "run", Spec: s.spec, State: NodeWaiting, Round: -1,
		Store: s.store.token, Guard: Guard{Sent: s.now - time.Hour, Fence: simFence, Lease: simLease, StopTime: simStop},
	}
	if s.side && place == 0 {
		n.alone, n.self.Role = true, sideRole
	}
	if s.nameless {
		if j := s.store.job; j != nil && j.Phase.finished() {
			return // it would begin another run
		}
		n.self.RunUID = ""
	}
	s.nodes = append(s.nodes, n)
	s.say("%s: started on host %d", n.self.Incarnation, host)
	n.join()
	n.later(s.random(s.tick), n.tick)
}

// later runs do on this node's own time: not when it is dead, and after a pause.
func (n *simNode) later(d time.Duration, do func()) {
	n.s.after(d, func() {
		switch {
		case n.dead:
		case n.s.now < n.paused:
			n.later(n.paused-n.s.now, do)
		default:
			do()
		}
	})
}

// call sends a request to the store, and hands its answer back. Either can be lost, and a request may arrive when
// nobody waits for its answer any more and the next one has been there before it.
func (n *simNode) call(at func(*simStore), answer, lost func()) {
	s := n.s
	over := false
	n.later(time.Second, func() {
		if !over {
			over = true
			lost()
		}
	})
	there := s.latency()
	if s.now < n.slow && s.rng.IntN(4) == 0 {
		there += s.random(6 * time.Second)
	}
	if s.now < n.cutUntil {
		return
	}
	s.after(there, func() {
		if s.now < n.cutUntil {
			return
		}
		st := s.store
		at(st)
		s.after(s.latency(), func() {
			if s.now < n.cutUntil {
				return
			}
			n.later(0, func() {
				if !over {
					over = true
					n.reached(st)
					answer()
				}
			})
		})
	})
}

// reached takes in that an answer came from this store.
func (n *simNode) reached(st *simStore) {
	if st == n.store {
		return
	}
	n.s.say("%s: the store is another one", n.self.Incarnation)
	if n.job != nil {
		n.bring = n.job
	}
	n.store, n.job, n.round, n.joined, n.leads = st, nil, nil, false, nil
}

// join puts the key and reads the job in one transaction.
func (n *simNode) join() {
	if n.joining || n.gone {
		return
	}
	n.joining = true
	s, sent := n.s, n.s.now
	var job *Job
	var round *Round
	var refused, taken, ours bool
	var rev int64
	known, mine := n.modRev, n.record()
	n.call(func(st *simStore) {
		if st.token != n.self.Store {
			return // another store: first the workers must be gone
		}
		e, found := st.nodes[n.name]
		if found && e.Incarnation != n.self.Incarnation {
			if e.Leased {
				refused, taken = true, n.self.Joined > 0 || n.joined
				return
			}
			if e.State == NodeLeft {
				n.after = &Farewell{Incarnation: e.Incarnation, Round: e.Round}
			}
		}
		created := st.rev + 1
		if found && e.Incarnation == n.self.Incarnation {
			created = e.CreateRev
			if e.ModRev != known {
				known, rev = 0, e.ModRev // an earlier put has arrived: once more, knowing of it
				return
			}
		}
		s.grant(st, n.self.Incarnation)
		st.rev++
		record := mine
		record.After = n.after
		st.change(s.now, n.name, NodeEntry{Node: &record, CreateRev: created, ModRev: st.rev, Leased: true}, false)
		s.wakeLead()
		rev, job, round, ours = st.rev, st.job, st.round, true
	}, func() {
		n.joining = false
		switch {
		case taken:
			n.self.Taken = true
		case refused:
			n.later(500*time.Millisecond, n.join)
			return
		case known == 0 && rev > 0:
			n.modRev = rev
			n.join()
			return
		case ours && n.store.token == n.self.Store:
			n.joined, n.modRev, n.self.Guard.Sent = true, rev, sent
			if n.outcome != nil && n.toldAt == 0 {
				n.toldAt = rev
			}
			if n.self.Joined == 0 && job != nil {
				n.self.Joined = job.Seq
			}
			n.job, n.round = job, round
			if n.dirty {
				n.write() // what has changed since the request was sent
			}
		}
		n.step()
	}, func() {
		n.joining = false
		n.later(s.random(time.Second), n.join)
	})
}

// record is what the node writes about itself.
func (n *simNode) record() Node {
	r := Node{
		V: 1, Store: n.self.Store, RunUID: n.self.RunUID, Incarnation: n.self.Incarnation, BootID: fmt.Sprint("boot", n.host%100_000),
		PIDNS: fmt.Sprint("ns", n.host), Unique: n.s.unique, Address: n.name, Port: 1000, Slots: 1, SpecHash: n.self.Spec.Hash(),
		State: n.self.State, Round: n.self.Round, Leaving: n.self.Leaving, Outcome: n.outcome, OutcomeRev: n.toldAt,
		Reopens: n.self.Reopens, After: n.after, Brings: n.bring, Checkpoints: n.found, Role: n.self.Role,
	}
	if n.job == nil {
		r.Spec = &n.s.spec
	}
	if n.s.pinned {
		r.Pin = &n.place
	}
	if n.gone {
		r.State = NodeLeft
	}
	return r
}

// write puts the record, one request at a time. It compares the revision of the last put: a put that was sent twice
// must not undo a later one.
func (n *simNode) write() {
	n.dirty = true
	if n.writing || !n.joined {
		return
	}
	n.dirty, n.writing = false, true
	s := n.s
	record, told, known := n.record(), n.toldAt, n.modRev
	var rev int64
	var lost, taken, behind bool
	n.call(func(st *simStore) {
		e, found := st.nodes[n.name]
		_, leased := st.leases[n.self.Incarnation]
		switch {
		case st.token != n.self.Store:
			return
		case found && e.Incarnation != n.self.Incarnation && e.Leased:
			taken = true
			return
		case !found || e.Incarnation != n.self.Incarnation || !leased:
			lost = true
			return
		case e.ModRev != known:
			behind, rev = true, e.ModRev // an earlier put has arrived: once more, knowing of it
			return
		}
		created := e.CreateRev
		st.rev++
		rev = st.rev
		st.change(s.now, n.name, NodeEntry{Node: &record, CreateRev: created, ModRev: st.rev, Leased: record.State != NodeLeft}, false)
		if record.State == NodeLeft {
			delete(st.leases, n.self.Incarnation)
			st.election = slices.DeleteFunc(st.election, func(i string) bool { return i == n.self.Incarnation })
		}
		s.wakeLead()
	}, func() {
		n.writing = false
		switch {
		case taken:
			n.self.Taken = true
		case lost:
			n.joined = false
			n.join()
		case behind:
			n.modRev = rev
			n.write()
			return
		case rev > 0:
			n.modRev = rev
			if record.Outcome != nil && told == 0 && n.outcome == record.Outcome {
				n.toldAt = rev
			}
		}
		if n.gone && (rev > 0 && record.State == NodeLeft || taken) {
			n.die(true)
			return
		}
		if n.dirty {
			n.write()
		}
		n.step()
	}, func() {
		n.writing = false
		n.write()
	})
}

// tick renews the lease, finds out who leads and looks at the clock.
func (n *simNode) tick() {
	s := n.s
	n.step()
	if n.dead {
		return
	}
	n.later(s.tick, n.tick)
	if !n.joined {
		if !n.joining {
			n.join()
		}
		return
	}
	sent := s.now
	var renewed, leads bool
	var seq int64
	n.call(func(st *simStore) {
		_, renewed = st.leases[n.self.Incarnation]
		if renewed {
			s.grant(st, n.self.Incarnation)
			leads = st.election[0] == n.self.Incarnation
		}
		if st.job != nil {
			seq = st.job.Seq
		}
	}, func() {
		switch {
		case n.store.token != n.self.Store:
		case !renewed:
			n.joined, n.leads = false, nil
			n.join()
		default:
			n.self.Guard.Sent = max(n.self.Guard.Sent, sent)
			if leads && n.leads == nil {
				n.lead()
			} else if !leads {
				n.leads = nil
			}
			if (n.job == nil && seq > 0 || n.job != nil && seq > n.job.Seq) && s.now > n.deaf {
				n.read() // the watch has lost something
			}
		}
		n.step()
	}, func() {})
}

// read reads the job anew, as after a lost watch.
func (n *simNode) read() {
	var job *Job
	var round *Round
	n.call(func(st *simStore) { job, round = st.job, st.round }, func() {
		if n.store.token == n.self.Store {
			n.heard(n.store, job, round)
		}
	}, func() {})
}

// heard takes in a job record, unless it is of another store or older than what is known.
func (n *simNode) heard(st *simStore, job *Job, round *Round) {
	if st != n.store || !n.joined || job == nil || n.job != nil && job.Seq <= n.job.Seq {
		return
	}
	n.job, n.round = job, round
	n.step()
}

// publish hands the job's record to all watches.
func (s *sim) publish() {
	st, job, round := s.store, s.store.job, s.store.round
	if s.lateNews && job.Phase == Running && job.Round == 0 {
		late := s.nodes[len(s.nodes)-1]
		late.cutUntil = s.now + time.Minute
		s.failures++
		late.later(35*time.Second+s.random(10*time.Second), func() { late.heard(st, job, round) })
	}
	for _, n := range s.nodes {
		d := s.latency()
		if s.now < n.slow {
			d += s.random(30 * time.Second)
		}
		if s.now < n.deaf || s.now < n.cutUntil {
			continue
		}
		n.later(d, func() { n.heard(st, job, round) })
		if s.rng.IntN(10) == 0 {
			n.later(d+s.random(3*time.Second), func() { n.heard(st, job, round) })
		}
	}
}

func (n *simNode) step() {
	s := n.s
	if n.dead || n.gone {
		return
	}
	if n.self.RunUID == "" && n.job != nil && !n.job.Phase.finished() {
		n.self.RunUID = n.job.RunUID
	}
	step := React(n.self, Reading{Store: n.store.token, Job: n.job, Round: n.round}, s.now)
	n.why = step.Why
	n.look()
	switch step.Do {
	case ActStart:
		n.start(step)
	case ActHalt:
		n.halt(step)
	case ActAcknowledge:
		n.self.State, n.self.Round, n.outcome, n.toldAt = NodeStopped, step.Round, nil, 0
		n.write()
	case ActRejoin:
		n.self.State, n.self.Round, n.self.Store, n.self.Joined, n.self.Reopens = NodeWaiting, -1, n.store.token, 0, 0
		n.outcome, n.toldAt, n.after, n.found = nil, 0, nil, nil
		n.join()
	case ActReturn:
		n.self.Reopens = n.job.Seq
		n.write()
	case ActLeave:
		n.leave(*step.End)
	}
}

// look looks for checkpoints as an agent does. It takes a while, and now and then it shows nothing.
func (n *simNode) look() {
	s, job := n.s, n.job
	if !s.saves || n.looking || job == nil || job.Phase != Forming || n.self.State == NodeRunning ||
		n.found != nil && n.found.Asked >= job.SinceSeq && n.found.Asked <= job.Seq && n.found.Problem == "" {
		return
	}
	n.looking = true
	n.later(s.random(time.Second), func() {
		n.looking = false
		n.found = &Checkpoints{Asked: job.SinceSeq, Steps: slices.Clone(s.saved)}
		if len(s.saved) > 0 {
			n.found.Reached = &n.found.Steps[0]
		}
		if s.rng.IntN(5) == 0 {
			n.found = &Checkpoints{Asked: job.SinceSeq, Problem: "input/output error"}
		}
		n.write()
		n.later(s.random(2*time.Second), n.step)
	})
}

// save lets the workers of a round save now and then, as long as they live, even while they are being stopped.
func (n *simNode) save(id string, mine int) {
	s := n.s
	s.after(time.Second+s.random(3*time.Second), func() {
		if n.dead || n.runs != id || n.started != mine {
			return
		}
		s.steps++
		s.saved = append([]int64{s.steps}, s.saved...)
		s.saved = s.saved[:min(len(s.saved), 8)]
		n.save(id, mine)
	})
}

func (n *simNode) start(step Step) {
	s := n.s
	id := fmt.Sprintf("%s/%d", n.store.token, step.Round)
	s.say("%s: starts round %d as rank %d", n.self.Incarnation, step.Round, step.Rank)
	for other, count := range s.running {
		if count > 0 && other != id && !n.alone {
			s.violate("R1: %s starts %s while %d workers of %s run", n.self.Incarnation, id, count, other)
		}
	}
	if r := s.rounds[id]; r == nil || r.place(n.self, s.spec) != step.Rank || n.round.Resume != r.Resume {
		s.violate("R4, R7: %s starts %s with another record than the store has", n.self.Incarnation, id)
	}
	if !n.alone {
		s.running[id]++
	}
	n.runs, n.self.Again = id, false
	n.started++
	n.halting = false
	n.outcome, n.toldAt = nil, 0
	n.self.State, n.self.Round = NodeRunning, step.Round
	n.write()
	mine := n.started
	if s.saves && !n.alone {
		n.save(id, mine)
	}
	s.after(simWork+s.random(time.Second), func() { // workers do not stand still when gangrun is paused
		n.later(0, func() {
			if n.started == mine && n.runs == id && !n.halting {
				n.ended(exitcodes.Success, "Succeeded", "")
			}
		})
	})
	if !s.calm && s.rng.IntN(2) == 0 {
		n.suffer(id, mine) // the others hang
	}
}

// suffer lets workers fail some time after a peer has gone: with a code that says fatal, as training programs do.
func (n *simNode) suffer(id string, mine int) {
	s := n.s
	n.later(time.Second+s.random(4*time.Second), func() {
		if n.started != mine || n.runs != id || n.halting {
			return
		}
		r := s.rounds[id]
		running, done := s.running[id], 0
		if s.side { // it is in nobody's way
			done++
		}
		for _, m := range r.Members {
			if s.everDone[id+m.Name] && m.Role == "" {
				done++
			}
		}
		if running+done < len(r.Members) && s.now-n.s.roundStart(id) > 2*time.Second {
			n.ended(exitcodes.Fatal, "Cascade", "cascade")
			return
		}
		n.suffer(id, mine)
	})
}

func (s *sim) roundStart(id string) time.Duration { return s.rounds[id].At.Sub(simBase) }

var simBase = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ended is the end of a worker by itself.
func (n *simNode) ended(v exitcodes.Verdict, reason, role string) {
	s := n.s
	s.say("%s: its workers end: %s %s", n.self.Incarnation, v, reason)
	o := Outcome{Store: n.self.Store, RunUID: n.self.RunUID, Round: n.self.Round, Verdict: v, Reason: reason, Role: role, Code: 1}
	if v == exitcodes.Success {
		o.Code = 0
		s.everDone[n.runs+n.name] = true
		n.stopped()
		n.self.State = NodeDone
	}
	if n.alone {
		var ruling Ruling
		n.budget, ruling = s.spec.RestartAlone(n.budget, o, nil, simBase.Add(s.now), "")
		o.Again = ruling.Restart
	}
	n.outcome, n.toldAt = &o, 0
	n.write() // at once: the others are to stop
	if v != exitcodes.Success {
		n.halt(Step{Why: reason})
	}
}

// halt stops the workers, which takes its time.
func (n *simNode) halt(step Step) {
	s := n.s
	if n.halting {
		return
	}
	n.halting = true
	s.say("%s: stops its workers: %s", n.self.Incarnation, step.Why)
	cutOff := n.self.Guard.Expired(s.now) && n.outcome == nil
	mine := n.started
	s.after(s.random(simStop), func() {
		if n.dead || n.started != mine || n.runs == "" {
			return
		}
		n.stopped()
		n.later(0, func() {
			n.self.State = NodeStopped
			if cutOff {
				o := CutOff(n.self.Store, n.self.RunUID, n.self.Round, simBase)
				o.Again = n.alone
				n.outcome, n.toldAt = &o, 0
			}
			n.self.Again = n.outcome != nil && n.outcome.Again
			s.say("%s: has stopped round %d", n.self.Incarnation, n.self.Round)
			n.write()
			n.step()
		})
	})
}

// stopped is the moment when the last process of the workers is gone.
func (n *simNode) stopped() {
	if n.runs != "" {
		if !n.alone {
			n.s.running[n.runs]--
		}
		n.runs = ""
	}
}

func (n *simNode) leave(e End) {
	s := n.s
	s.say("%s: leaves: %s %s %d", n.self.Incarnation, e.Verdict, e.Reason, e.Code)
	if !CanEndAlone(e.Reason) && e.Verdict != exitcodes.Suspended {
		key := fmt.Sprint(e.At)
		if other, found := s.ends[key]; found && (other.Verdict != e.Verdict || other.Reason != e.Reason || other.Code != e.Code) {
			s.violate("R3: %s ends with %+v, another node with %+v", n.self.Incarnation, e, other)
		}
		s.ends[key] = e
	}
	if e.Verdict == exitcodes.Suspended {
		s.leaves++ // the job may have been resumed meanwhile, and counted on it
	}
	final := !CanEndAlone(e.Reason) && e.Verdict != exitcodes.Suspended
	n.gone = true
	n.dirty = true
	if n.self.Taken || !n.joined && !n.joining {
		n.die(!final)
		return
	}
	if final {
		n.place = -1 // the operator does not replace it
	}
	n.write()
	n.later(10*time.Second, func() { n.die(true) })
}

// die ends the node; the operator replaces it.
func (n *simNode) die(replaced bool) {
	s := n.s
	if n.dead {
		return
	}
	n.dead = true
	n.stopped()
	s.nodes = slices.DeleteFunc(s.nodes, func(o *simNode) bool { return o == n })
	if n.place < 0 || !replaced {
		return
	}
	host := n.host
	if s.rng.IntN(2) == 0 {
		host = s.born + 1000
	}
	for _, o := range s.nodes {
		if o.place == n.place {
			return // it was moved already
		}
	}
	place := n.place
	s.after(s.random(8*time.Second), func() { s.birth(place, host) })
}
