package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// records is what an observer of the simulated store has seen, and what it holds the leader's writes to.
type records struct {
	token    string
	job      *rendezvous.Job // the newest
	rounds   map[string]*rendezvous.Round
	lists    map[string]*rendezvous.MemberList
	formed   map[string]time.Duration
	wrote    map[string]string // the rounds' values
	previous *rendezvous.Round
	running  map[string]int  // workers, by round
	begun    map[string]int  // starts, by round
	everDone map[string]bool // round and node
	ends     map[string]rendezvous.End
}

func newRecords() records {
	return records{
		lists:  map[string]*rendezvous.MemberList{},
		rounds: map[string]*rendezvous.Round{}, formed: map[string]time.Duration{},
		wrote: map[string]string{}, running: map[string]int{}, begun: map[string]int{},
		everDone: map[string]bool{}, ends: map[string]rendezvous.End{},
	}
}

// roundID names a round among those of all stores.
func roundID(token string, number int) string { return fmt.Sprintf("%s/%d", token, number) }

// observe follows what is written, at the moment when it is.
func (s *sim) observe() {
	updates := s.server.Watch(s.ctx, "").Updates()
	for u := range updates {
		s.mu.Lock()
		s.token = u.Token
		for _, kv := range u.Changed {
			if name, found := strings.CutPrefix(kv.Key, "members/"); found && string(kv.Value) != byHandGarbage {
				list, err := rendezvous.ParseMemberList(kv.Key, kv.Value)
				if err != nil {
					s.violate("the leader writes what nobody can read: %v", err)
					continue
				}
				s.lists[name] = list
			}
			if strings.HasPrefix(kv.Key, "hosts/") && string(kv.Value) != byHandGarbage {
				s.hostWritten(kv)
			}
		}
		for _, kv := range u.Changed {
			switch {
			case kv.Key == "job":
				s.jobWritten(kv)
			case strings.HasPrefix(kv.Key, "rounds/"):
				s.roundWritten(kv)
			}
		}
		s.mu.Unlock()
	}
}

func (s *sim) jobWritten(kv store.KV) {
	if string(kv.Value) == byHandGarbage {
		return
	}
	j, err := rendezvous.ParseJob(kv.Key, kv.Value)
	if err != nil {
		s.violate("the leader writes what nobody can read: %v", err)
		return
	}
	s.job = j
	s.agreedOn(j)
	s.say("job: %s round %d seq %d (%v)", j.Phase, j.Round, j.Seq, j.Stop)
	if j.Phase == rendezvous.Failed && s.fatals == 0 {
		s.violate("R5: the job ends with %+v, and no worker has failed for good", j.End)
	}
	if j.Phase == rendezvous.Succeeded {
		s.deserved(j)
	}
	if j.End != nil && s.nameless { // who comes only now would begin another run
		for _, n := range slices.Clone(s.nodes) {
			if n.started == 0 {
				n.die(false)
			}
		}
	}
	if s.lateNews && j.Phase == rendezvous.Running && j.Round == 0 && len(s.nodes) > 0 {
		s.lateNews = false
		s.failures++
		late := s.nodes[len(s.nodes)-1]
		late.lateUntil = s.now() + 35*time.Second + s.random(10*time.Second)
		late.cutUntil = s.now() + simLate
	}
}

// deserved checks that whoever had to succeed has.
func (s *sim) deserved(j *rendezvous.Job) {
	r := s.rounds[roundID(s.token, j.Round)]
	if r == nil {
		return // adopted
	}
	for _, m := range r.Members {
		if m.Role == "" && !s.everDone[roundID(s.token, j.Round)+m.Name] {
			s.violate("R3: success, but %s has not succeeded", m.Name)
		}
	}
}

func (s *sim) roundWritten(kv store.KV) {
	if string(kv.Value) == byHandGarbage {
		return
	}
	r, err := rendezvous.ParseRound(kv.Key, kv.Value)
	if err != nil {
		s.violate("the leader writes what nobody can read: %v", err)
		return
	}
	if !r.Whole() {
		if s.lists[r.MemberList] == nil {
			s.violate("round %d names members that are not there", r.Number)
			return
		}
		r = r.With(s.lists[r.MemberList])
	}
	id := roundID(s.token, r.Number)
	if s.rounds[id] != nil {
		if kv.CreateRev == kv.ModRev && s.wrote[id] != string(kv.Value) { // the same is put back where it was deleted
			s.violate("round %s is formed twice", id)
		}
		return
	}
	s.say("round %s is formed", id)
	s.rounds[id], s.formed[id], s.wrote[id] = r, s.now(), string(kv.Value)
	s.stable(r)
	if s.saves {
		s.newest(id, r.Resume)
	}
}

// stable checks that ranks are kept, R7.
func (s *sim) stable(r *rendezvous.Round) {
	before := s.previous
	s.previous = r
	for rank, m := range r.Members {
		if s.pinned && s.min == s.n && fmt.Sprintf("n%03d", rank) != m.Name {
			s.violate("R7: %s is rank %d against its pin", m.Name, rank)
		}
		if before == nil || before.Store != r.Store || s.pinned {
			continue
		}
		if was := before.Rank(m.Name, m.Incarnation); was >= 0 && was < len(r.Members) && was != rank {
			s.violate("R7: %s was rank %d and is now %d", m.Name, was, rank)
		}
	}
}

// started holds the start of workers to the records. The node counts as one whose workers run from now on.
func (s *sim) startedWorkers(n *simNode, start *rendezvous.Round, rank int) {
	id := roundID(start.Store, start.Number)
	for other, count := range s.running {
		if count > 0 && other != id && !n.alone() {
			s.violate("R1: %s starts %s while %d workers of %s run", n.incarnation, id, count, other)
		}
	}
	r := s.rounds[id]
	if r == nil {
		s.violate("R4: %s starts %s, which nobody has formed", n.incarnation, id)
		return
	}
	place := slices.IndexFunc(r.Members, func(m rendezvous.Member) bool {
		return m.Name == n.name && (m.Incarnation == n.incarnation || n.alone())
	})
	if place != rank || r.MasterAddr != start.MasterAddr || r.MasterPort != start.MasterPort || len(r.Members) != len(start.Members) {
		s.violate("R4, R7: %s starts %s with another record than the store has", n.incarnation, id)
	}
	s.begun[id]++
	if !n.alone() {
		s.running[id]++
	}
}

// ended holds the end of a node to those of the others.
func (s *sim) endedNode(n *simNode, e rendezvous.End) (final bool) {
	s.say("%s: ends: %s %s %d %s", n.incarnation, e.Verdict, e.Reason, e.Code, e.Message)
	if rendezvous.CanEndAlone(e.Reason) || e.Verdict == exitcodes.Suspended {
		if e.Verdict == exitcodes.Suspended {
			s.leaves++ // the job may have been resumed meanwhile, and counted on it
		}
		return false
	}
	key := e.At.String()
	if other, found := s.ends[key]; found && (other.Verdict != e.Verdict || other.Reason != e.Reason || other.Code != e.Code) {
		s.violate("R3: %s ends with %+v, another node with %+v", n.incarnation, e, other)
	}
	s.ends[key] = e
	return true
}
