//go:build model

package rendezvous

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The model of the embedded store: it lives in one node and is lost with it; a replacement of that node begins a new
// and empty one. What the other model has shown is taken for granted here: the leader decides and writes in one step,
// and workers die with their gangrun.

// embedded are the rules that can be taken out.
type embedded struct {
	noWait      bool // a new store forms rounds at once
	joinRunning bool // a node joins a new store while its workers run
	noProof     bool // a new store begins although the old one's host may live
	noToken     bool // what the old store's watch delivers late counts in the new one
	refuse      bool // a node refuses a store that knows less than it does
}

type eAgent struct {
	life, cut        uint8
	work, workStore  uint8 // the round that its workers run, and of which store
	last             uint8 // the newest round that it has started or acknowledged, in store
	store            uint8 // whose records it goes by
	phase, round, in uint8 // what it knows of the job
	since            uint8 // ticks since its last renewal
	behind           uint8 // it still reaches the old store
	late, lateStore  uint8 // a round that its watch will tell of, and of which store
}

type eName struct {
	agent           [2]eAgent
	inc, state, age uint8 // of the key
	keyRound        uint8
	member, silence uint8
}

type eState struct {
	n                   [3]eName
	up, store, newSince uint8 // of the store: whether it is there, which it is, how many ticks it has been (new ones)
	host                uint8 // the incarnation of name 0 that it lives in
	phase, round, next  uint8
	faults              uint8
}

type eModel struct {
	embedded
	index  map[eState]int32
	states []eState
	from   []int32
	by     []string
	broken string
}

// The fence counts from the new store's start. A node stops its workers half of it after its last renewal.
const (
	eDeadline = 1
	eFence    = 2
)

func (m *eModel) add(s eState, from int32, by string) {
	if _, found := m.index[s]; !found {
		m.index[s] = int32(len(m.states))
		m.states, m.from, m.by = append(m.states, s), append(m.from, from), append(m.by, by)
	}
}

func (m *eModel) explore(faults, limit int) bool {
	m.index = map[eState]int32{}
	s := eState{up: 1, faults: uint8(faults), next: 1}
	for i := range s.n {
		s.n[i].agent[0].life = mAlive
		s.n[i].inc = 1
	}
	m.add(s, -1, "")
	for i := 0; i < len(m.states) && m.broken == ""; i++ {
		if len(m.states) > limit {
			return false
		}
		m.step(m.states[i], func(t eState, by string) {
			m.add(t, int32(i), by)
			if m.broken == "" && t.overlap() {
				m.broken = "R1: workers of two rounds at once\n" + strings.Join(append(m.trace(int32(i)), by), "\n")
			}
		})
		if m.broken == "" && i%31 == 0 {
			m.peace(m.states[i], int32(i))
		}
	}
	return true
}

func (m *eModel) trace(i int32) (list []string) {
	for ; m.from[i] >= 0; i = m.from[i] {
		list = append(list, m.by[i])
	}
	slices.Reverse(list)
	return list
}

func (s *eState) overlap() bool {
	var round, store uint8
	for i := range s.n {
		for _, a := range s.n[i].agent {
			if a.work > 0 && round > 0 && (a.work != round || a.workStore != store) {
				return true
			}
			if a.work > 0 {
				round, store = a.work, a.workStore
			}
		}
	}
	return false
}

func (m *eModel) step(s eState, next func(eState, string)) {
	m.tick(s, next)
	for i := range s.n {
		for j := range s.n[i].agent {
			m.node(s, i, j, next)
			m.fault(s, i, j, next)
		}
	}
	m.lead(s, next)
}

func (a *eAgent) reaches(s *eState) bool {
	return a.life != mDead && a.cut == 0 && a.behind == 0 && s.up == 1
}

func (m *eModel) tick(s eState, next func(eState, string)) {
	for i := range s.n {
		n := &s.n[i]
		for j := range n.agent {
			a := &n.agent[j]
			if a.life != mAlive && a.life != mProof {
				continue
			}
			if a.work > 0 && a.since >= eDeadline && a.behind == 0 {
				return // it stops its workers first
			}
			a.since = min(a.since+1, 2)
			if a.reaches(&s) && n.inc == uint8(j)+1 && a.store == s.store {
				a.since, n.age = 0, 0
			}
			if a.behind == 1 {
				a.since = 0
			}
		}
		if n.inc > 0 && s.up == 1 {
			if a := &n.agent[n.inc-1]; a.life == mDead || !a.reaches(&s) {
				if n.age++; n.age > 1 {
					n.inc, n.state, n.keyRound, n.age = 0, 0, 0, 0
				}
			}
		}
		if n.silence > 0 {
			n.silence = min(n.silence+1, mFence)
		}
	}
	if s.store > 0 {
		s.newSince = min(s.newSince+1, 3)
	}
	next(s, "tick")
}

func (m *eModel) lead(s eState, next func(eState, string)) {
	if s.up == 0 {
		return
	}
	t := s
	for i := range t.n {
		n := &t.n[i]
		switch {
		case n.member > 0 && n.inc == n.member:
			n.silence = 0
		case n.member > 0 && n.silence == 0:
			n.silence = 1
		}
	}
	if t != s {
		next(t, "observe")
		return
	}
	ready, stop, count := true, false, 0
	for i := range s.n {
		n := &s.n[i]
		if n.inc > 0 {
			count++
		}
		if n.member == 0 {
			continue
		}
		acked := n.inc == n.member && n.state == mStopped && n.keyRound >= s.round
		dead := n.inc > 0 && n.inc != n.member && n.agent[n.inc-1].life == mProof || n.silence >= mFence
		stop = stop || acked || dead || n.inc > 0 && n.inc != n.member
		ready = ready && (acked || dead)
	}
	switch {
	case s.phase == mRunning && stop:
		s.phase = mStopping
		next(s, string(ActStop))
	case s.phase == mRunning || !ready || count < 2 || s.next > 3:
	case s.store > 0 && s.newSince < eFence+1 && !m.noWait && (count < 3 || s.next > 1):
		// Not yet: nodes that knew the old store may run. A whole fresh gang need not wait.
	default:
		s.phase, s.round = mRunning, s.next
		s.next++
		for i := range s.n {
			n := &s.n[i]
			n.member, n.silence = n.inc, 0
		}
		next(s, string(ActForm))
	}
}

// peace lets everybody do what it can, without any more faults: the job must come to a round that runs.
func (m *eModel) peace(s eState, from int32) {
	s.faults = 0
	for i := range s.n {
		for _, a := range s.n[i].agent {
			if a.behind == 1 {
				return
			}
		}
	}
	start := s
	for range 300 {
		running, members := true, 0
		for i := range s.n {
			if k := s.n[i].member; k > 0 {
				members++
				running = running && s.n[i].agent[k-1].work == s.round
			}
		}
		if s.phase == mRunning && running && members > 0 || s.next > 3 {
			return
		}
		best, chosen := 0, s
		m.step(s, func(t eState, by string) {
			rank := 2
			if by == "tick" {
				rank = 1
			}
			if t != s && rank > best {
				best, chosen = rank, t
			}
		})
		if best == 0 {
			break
		}
		s = chosen
	}
	m.broken = fmt.Sprintf("no progress when left in peace\n%s\n%+v\n%+v", strings.Join(m.trace(from), "\n"), start, s)
	if s.n[0].agent[1].life == mDead || !s.enough() {
		m.broken = "" // too few are left, or the store's host has died twice
	}
}

func (s *eState) enough() bool {
	alive := 0
	for i := range s.n {
		if s.n[i].agent[0].life == mAlive || s.n[i].agent[1].life == mProof {
			alive++
		}
	}
	return alive >= 2
}

func TestEmbeddedModel(t *testing.T) {
	m := eModel{}
	whole := m.explore(*modelFaults, modelLimit())
	if m.broken != "" {
		t.Fatal(m.broken)
	}
	t.Logf("%d states, whole: %v", len(m.states), whole)
}

func TestEmbeddedModelNeedsEveryRule(t *testing.T) {
	for name, rules := range map[string]embedded{
		"one fence after the start":       {noWait: true},
		"join with one's workers gone":    {joinRunning: true},
		"proof that the old host is dead": {noProof: true},
		"events carry the store's token":  {noToken: true},
		"adopt, do not refuse":            {refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := eModel{embedded: rules}
			whole := m.explore(2, 3**modelStates)
			if m.broken == "" {
				t.Fatalf("nothing breaks in %d states, whole: %v", len(m.states), whole)
			}
			if testing.Verbose() {
				t.Logf("%d states; %d steps:\n%s", len(m.states), strings.Count(m.broken, "\n"), m.broken)
			}
		})
	}
}
