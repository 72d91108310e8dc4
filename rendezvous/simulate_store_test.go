package rendezvous

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// simStore is the store: linearizable, with leases and an election.
type simStore struct {
	token    string
	newSince time.Duration // -1: the first
	rev      int64
	job      *Job
	jobRev   int64
	round    *Round
	nodes    map[string]NodeEntry
	leases   map[string]time.Duration // by incarnation, when they end
	election []string                 // incarnations, the oldest first
	controls []ControlEntry
	log      []simChange
	why      string // what the lead said last
}

// simChange is a change of a node's key.
type simChange struct {
	rev   int64
	at    time.Duration
	name  string
	entry NodeEntry
	gone  bool
}

func (s *sim) newStore() {
	old := s.store
	s.store = &simStore{
		token: fmt.Sprintf("store%d", len(s.rounds)+s.ids), newSince: -1, nodes: map[string]NodeEntry{}, leases: map[string]time.Duration{},
	}
	if old != nil {
		s.store.newSince = s.now
	}
}

func (st *simStore) change(at time.Duration, name string, e NodeEntry, gone bool) {
	if gone {
		delete(st.nodes, name)
	} else {
		st.nodes[name] = e
	}
	st.log = append(st.log, simChange{st.rev, at, name, e, gone})
}

// grant begins or renews a lease and looks for its end.
func (s *sim) grant(st *simStore, incarnation string) {
	_, had := st.leases[incarnation]
	st.leases[incarnation] = s.now + simLease
	if !had {
		st.election = append(st.election, incarnation)
		s.watchLease(st, incarnation)
	}
}

func (s *sim) watchLease(st *simStore, incarnation string) {
	s.after(st.leases[incarnation]-s.now, func() {
		ends, found := st.leases[incarnation]
		if found && s.now < ends {
			s.watchLease(st, incarnation)
			return
		}
		if found {
			s.revoke(st, incarnation)
		}
	})
}

func (s *sim) revoke(st *simStore, incarnation string) {
	delete(st.leases, incarnation)
	st.election = slices.DeleteFunc(st.election, func(i string) bool { return i == incarnation })
	name, _, _ := strings.Cut(incarnation, "#")
	if e, found := st.nodes[name]; found && e.Incarnation == incarnation && e.Leased {
		st.rev++
		st.change(s.now, name, e, true)
		s.say("store: the lease of %s ends", incarnation)
		s.wakeLead()
	}
}
