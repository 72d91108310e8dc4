//go:build model

package rendezvous

import "testing"

type mAgent struct {
	life, cut, pause, work, last, kphase, kround, kmember, since, joined, leaving, late uint8
}

type mLead struct{ inc, silence, pick uint8 }

type mName struct {
	agent                  [2]mAgent
	inc, state, round, age uint8 // of the key; inc 0: none, else incarnation+1
	member                 uint8 // of the current round: 0 none, else incarnation+1
	owner                  uint8 // of the election: 0 none, else incarnation+1
	lead                   [2]mLead
}

type mState struct {
	n            [3]mName
	phase, round uint8
	pending      [2]uint8 // 0 none, 1 stop, 2 form, 3 form of whom the round's record knows (two writes)
	fresh        [2]uint8
	faults       uint8
}

type mKey [4]uint64

// pack makes a key of a state. The names are alike: one order stands for all.
func (s *mState) pack() mKey {
	k := s.names()
	if k[0] < k[1] {
		k[0], k[1] = k[1], k[0]
	}
	if k[1] < k[2] {
		k[1], k[2] = k[2], k[1]
	}
	if k[0] < k[1] {
		k[0], k[1] = k[1], k[0]
	}
	k[3] = uint64(s.phase)<<16 | uint64(s.round)<<14 | uint64(s.pending[0])<<12 | uint64(s.pending[1])<<10 |
		uint64(s.fresh[0])<<9 | uint64(s.fresh[1])<<8 | uint64(s.faults)
	return k
}

// names packs the names, in their own order.
func (s *mState) names() (k mKey) {
	for i := range s.n {
		n := &s.n[i]
		var w uint64
		put := func(v uint8, bits uint) { w = w<<bits | uint64(v) }
		for j := range n.agent {
			a := &n.agent[j]
			put(a.life, 2)
			put(a.cut, 1)
			put(a.pause, 2)
			put(a.work, 2)
			put(a.last, 2)
			put(a.kphase, 2)
			put(a.kround, 2)
			put(a.kmember, 1)
			put(a.since, 2)
			put(a.joined, 1)
			put(a.leaving, 1)
			put(a.late, 2)
		}
		put(n.inc, 2)
		put(n.state, 2)
		put(n.round, 2)
		put(n.age, 1)
		put(n.member, 2)
		put(n.owner, 2)
		for j := range n.lead {
			put(n.lead[j].inc, 2)
			put(n.lead[j].silence, 2)
			put(n.lead[j].pick, 2)
		}
		k[i] = w
	}
	return k
}

func (k mKey) unpack() (s mState) {
	for i := range s.n {
		n, w := &s.n[i], k[i]
		take := func(bits uint) uint8 {
			v := uint8(w & (1<<bits - 1))
			w >>= bits
			return v
		}
		for j := 1; j >= 0; j-- {
			n.lead[j].pick, n.lead[j].silence, n.lead[j].inc = take(2), take(2), take(2)
		}
		n.owner, n.member, n.age, n.round, n.state, n.inc = take(2), take(2), take(1), take(2), take(2), take(2)
		for j := 1; j >= 0; j-- {
			a := &n.agent[j]
			a.late, a.leaving, a.joined, a.since = take(2), take(1), take(1), take(2)
			a.kmember, a.kround, a.kphase, a.last = take(1), take(2), take(2), take(2)
			a.work, a.pause, a.cut, a.life = take(2), take(2), take(1), take(2)
		}
	}
	g := k[3]
	s.faults, s.fresh[1], s.fresh[0] = uint8(g&0xff), uint8(g>>8&1), uint8(g>>9&1)
	s.pending[1], s.pending[0] = uint8(g>>10&3), uint8(g>>12&3)
	s.round, s.phase = uint8(g>>14&3), uint8(g>>16&3)
	return s
}

func (a *mAgent) alive() bool { return a.life == mAlive || a.life == mProof }

// acts reports whether the agent can do anything, and reaches whether it can reach the store.
func (a *mAgent) acts() bool    { return a.alive() && a.pause == 0 }
func (a *mAgent) reaches() bool { return a.acts() && a.cut == 0 }

// owns reports whether the name's key belongs to incarnation j and has a lease.
func (n *mName) owns(j int) bool { return n.inc == uint8(j)+1 && n.state != mLeft }

func (s *mState) overlap() (a, b uint8) {
	for i := range s.n {
		for j := range s.n[i].agent {
			switch w := s.n[i].agent[j].work; {
			case w == 0 || w == a:
			case a == 0:
				a = w
			default:
				return a, w
			}
		}
	}
	return 0, 0
}

func isMember(n *mName, j int) uint8 {
	if n.member == uint8(j)+1 {
		return 1
	}
	return 0
}

// read is what a node learns from the job's record.
func (s *mState) read(n *mName, j int, a *mAgent) {
	a.kphase, a.kround, a.kmember = s.phase, s.round, isMember(n, j)
	if s.phase == mHalf {
		a.kphase = mStopping
	}
}

// present lets every leader know that the key was there: silence starts again.
func (s *mState) present(n *mName, x *model) {
	for l := range n.lead {
		if !x.oldSilence && n.inc == n.member {
			n.lead[l].silence = 0
		}
	}
}

// dies ends an incarnation, and its lead.
func (s *mState) dies(n *mName, j int) {
	n.agent[j] = mAgent{life: mDead}
	for l := range n.lead {
		if n.lead[l].inc == uint8(j)+1 {
			s.resign(l)
		}
	}
}

// resign empties a leader's memory.
func (s *mState) resign(l int) {
	s.pending[l], s.fresh[l] = 0, 0
	for i := range s.n {
		s.n[i].lead[l] = mLead{}
	}
}

// leadOf finds who believes to be lead l.
func (s *mState) leadOf(l int) (i, j int, found bool) {
	for i := range s.n {
		if inc := s.n[i].lead[l].inc; inc > 0 {
			return i, int(inc) - 1, true
		}
	}
	return 0, 0, false
}

// runs reports whether the current round runs on all its members.
func (s *mState) runs() bool {
	if s.phase != mRunning {
		return false
	}
	for i := range s.n {
		if m := s.n[i].member; m > 0 && s.n[i].agent[m-1].work != s.round {
			return false
		}
	}
	return true
}

func TestModelPacking(t *testing.T) {
	x := newModel(mechanisms{pauses: true}, 2, 3000)
	x.explore()
	for _, k := range x.states {
		s := k.unpack()
		if s.pack() != k {
			t.Fatalf("%x is unpacked to %+v and packed to %x", k, s, s.pack())
		}
	}
}
