//go:build model

package rendezvous

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The model proves the design, not this code: it calls none of it, so it is no part of the usual tests. Run it with
// go test -tags model ./rendezvous when the design changes; the simulator (package agent) drives the code itself.

// The model of the round protocol with an external, linearizable store: every order of events within its bounds is
// examined. Three node names of two incarnations each, rounds 0 to 2, and a few faults. Lead actions have the names
// that Decide gives them, node actions those of React.
//
// Time is abstract. A lease lasts 1 tick, the fence 2. A tick cannot pass while somebody has to act before it: a node
// whose deadline has come kills its workers first, and a pause ends after at most one tick.

var (
	modelFaults = flag.Int("model.faults", 2, "number of faults in one run of the model")
	modelStates = flag.Int("model.states", 900_000, "give up a configuration beyond this many states")
)

// modelLimit bounds the states of one configuration.
func modelLimit() int {
	if testing.Short() {
		return min(*modelStates, 100_000)
	}
	return *modelStates
}

// mechanisms that can be taken out of the model.
type mechanisms struct {
	noCompare   bool // the leader's write does not compare the job's revision
	noElection  bool // nor its own election key
	readBefore  bool // a node that lost its lease continues with what it knew, and reads later
	oldWatch    bool // what an old watch delivers late counts
	noGuard     bool // workers are started although the node's deadline has passed
	fromAnswer  bool // the deadline counts from the answer of a renewal
	oldSilence  bool // silence goes on although the key was there in between
	leaveStops  bool // who says that it is leaving counts as stopped
	anyProof    bool // any newcomer of the name is a proof of death
	twoWrites   bool // the job's record and the round's are written one after the other
	orphans     bool // workers outlive their gangrun
	deadline    uint8
	pauses      bool
	noDeadlines bool
	// only bounds the search to some kinds of faults, by the first letters of their names; all when empty. faults is
	// how many of them; the flag's number when 0.
	only   string
	faults int
}

// has reports whether a kind of fault may happen.
func (m mechanisms) has(kind string) bool {
	return m.only == "" || slices.Contains(strings.Fields(m.only), kind)
}

const (
	mForming = iota
	mRunning
	mStopping
	mHalf // two writes: the round's record is written, the job's is not
)

const (
	mUnborn = iota
	mAlive
	mDead
	mProof // alive, and a proof that the incarnation before it is dead
)

const ( // states of a key
	mThere = iota
	mStopped
	mLeft
	mLeaving
)

const mFence = 3 // a member's silence, when it counts as gone: 1 + ticks

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

// model is one exploration.
type model struct {
	mechanisms
	index  map[mKey]int32
	states []mKey
	from   []int32
	by     []string
	broken string
	limit  int
}

func newModel(m mechanisms, faults, limit int) *model {
	if m.faults > 0 {
		faults = m.faults
	}
	if m.deadline == 0 {
		m.deadline = 1
	}
	x := &model{mechanisms: m, index: map[mKey]int32{}, limit: limit}
	var s mState
	s.faults = uint8(faults)
	for i := range s.n {
		s.n[i].agent[0] = mAgent{life: mAlive, joined: 1}
		s.n[i].inc = 1
	}
	s.n[0].owner, s.n[0].lead[0].inc = 1, 1
	x.add(&s, -1, "")
	return x
}

func (x *model) add(s *mState, from int32, by string) {
	k := s.pack()
	if _, found := x.index[k]; found {
		return
	}
	x.index[k] = int32(len(x.states))
	x.states, x.from, x.by = append(x.states, k), append(x.from, from), append(x.by, by)
}

// explore looks at all states, or until something breaks.
func (x *model) explore() (whole bool) {
	for i := 0; i < len(x.states) && x.broken == ""; i++ {
		if len(x.states) > x.limit {
			return false
		}
		s := x.states[i].unpack()
		x.step(&s, func(t *mState, by string) {
			if x.broken != "" {
				return
			}
			x.add(t, int32(i), by)
			if round, other := t.overlap(); other > 0 && x.broken == "" {
				x.broken = fmt.Sprintf("R1: workers of round %d and of round %d at once\n%s", round-1, other-1,
					strings.Join(x.trace(int32(i), by), "\n"))
			}
		})
		if x.broken == "" && i%61 == 0 {
			x.peace(s, int32(i))
		}
	}
	return true
}

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

// trace lists the actions that lead to a state, and then more. A state does not keep the order of its names, so they
// are followed on the way.
func (x *model) trace(i int32, more ...string) (list []string) {
	path := []int32{i}
	for ; x.from[i] >= 0; i = x.from[i] {
		path = append(path, x.from[i])
	}
	slices.Reverse(path)
	order := []int{0, 1, 2}
	named := func(by string) string {
		words := strings.Fields(by)
		if w := words[len(words)-1]; len(w) == 2 && w[0] >= 'a' && w[0] <= 'c' {
			words[len(words)-1] = fmt.Sprintf("%c%c", 'a'+order[w[0]-'a'], w[1])
		}
		return strings.Join(words, " ")
	}
	for k, at := range path[1:] {
		before := x.states[path[k]].unpack()
		found := false
		x.step(&before, func(t *mState, by string) {
			if found || by != x.by[at] || t.pack() != x.states[at] {
				return
			}
			found = true
			list = append(list, named(by))
			blocks := t.names()
			places := []int{0, 1, 2}
			slices.SortStableFunc(places, func(a, b int) int { return -cmp.Compare(blocks[a], blocks[b]) })
			order = []int{order[places[0]], order[places[1]], order[places[2]]}
		})
	}
	for _, by := range more {
		list = append(list, named(by))
	}
	return list
}

// step calls next for every state that can follow.
func (x *model) step(s *mState, next func(*mState, string)) {
	x.tick(s, next)
	for i := range s.n {
		for j := range s.n[i].agent {
			if s.n[i].agent[j].life == mUnborn {
				x.born(s, i, j, next)
				continue
			}
			x.node(s, i, j, next)
			if s.faults > 0 {
				x.fault(s, i, j, next)
			}
		}
	}
	for l := range s.fresh {
		x.lead(s, l, next)
	}
	x.campaign(s, next)
}

func label(action Action, i, j int) string { return fmt.Sprintf("%s %c%d", action, 'a'+i, j) }

// tick lets time pass, unless somebody must act first. Whoever reaches the store renews its lease.
func (x *model) tick(s *mState, next func(*mState, string)) {
	t := *s
	for i := range t.n {
		n := &t.n[i]
		for j := range n.agent {
			a := &n.agent[j]
			switch {
			case !a.alive():
				continue
			case a.pause == 2:
				return
			case a.pause == 0 && a.work > 0 && a.since >= x.deadline && !x.noDeadlines:
				return
			}
			if a.pause == 1 {
				a.pause = 2
			}
			a.since = min(a.since+1, 3)
			if a.reaches() && a.joined == 1 && n.owns(j) {
				a.since = 0
				n.age = 0
			} else if n.owns(j) {
				if n.age == 1 {
					n.expire()
				} else {
					n.age = 1
				}
			}
		}
		if n.inc > 0 && n.state != mLeft && !n.agent[n.inc-1].alive() {
			if n.age == 1 {
				n.expire()
			} else {
				n.age = 1
			}
		}
		for l := range n.lead {
			if n.lead[l].silence > 0 {
				n.lead[l].silence = min(n.lead[l].silence+1, mFence)
			}
		}
	}
	next(&t, "tick")
}

// expire ends the lease of the key's owner, and with it its place in the election.
func (n *mName) expire() {
	if n.owner == n.inc {
		n.owner = 0
	}
	n.inc, n.state, n.round, n.age = 0, 0, 0, 0
}

// born lets the second incarnation of a name begin once the first is dead; while it lives only as a fault.
func (x *model) born(s *mState, i, j int, next func(*mState, string)) {
	if j == 0 {
		return
	}
	old := &s.n[i].agent[0]
	if old.life == mDead {
		for _, life := range []uint8{mAlive, mProof} {
			t := *s
			t.n[i].agent[j].life = life
			if x.orphans && life == mProof {
				t.n[i].agent[0].work = 0 // it kills what the old one left before it joins
			}
			next(&t, label("born", i, j))
		}
	} else if s.faults > 0 && old.alive() && x.has("replaced") {
		t := *s
		t.faults--
		t.n[i].agent[j].life = mAlive
		next(&t, label("replaced while alive", i, j))
	}
}

// node is what one incarnation can do.
func (x *model) node(s *mState, i, j int, next func(*mState, string)) {
	n, a := &s.n[i], &s.n[i].agent[j]
	if !a.alive() {
		return
	}
	do := func(name Action, change func(*mState, *mName, *mAgent)) {
		t := *s
		change(&t, &t.n[i], &t.n[i].agent[j])
		next(&t, label(name, i, j))
	}
	if a.pause > 0 {
		do("wake", func(_ *mState, _ *mName, a *mAgent) {
			a.pause = 0
			if a.since >= x.deadline {
				a.work = 0 // it looks at the clock before anything else
			}
		})
		return
	}
	if a.cut == 1 {
		do("heal", func(_ *mState, _ *mName, a *mAgent) { a.cut = 0 })
	}
	if n.age == 1 && n.owns(j) && a.cut == 1 {
		do("expire", func(_ *mState, n *mName, _ *mAgent) { n.expire() })
		if x.fromAnswer && a.since == 1 {
			do("answer", func(_ *mState, _ *mName, a *mAgent) { a.since = 0 })
		}
	}
	if a.late > 0 {
		do("late watch", func(_ *mState, _ *mName, a *mAgent) {
			if x.oldWatch || a.late > a.kround {
				a.kphase, a.kround, a.kmember = mRunning, a.late, 1
			}
			a.late = 0
		})
	}
	taken := n.inc > 0 && n.state != mLeft && n.inc != uint8(j)+1 && a.joined == 1
	known := mRunning == a.kphase && a.kmember == 1
	if a.work > 0 && (!known || a.kround != a.work || a.since >= x.deadline || a.leaving == 1 || taken && a.cut == 0) {
		do(ActHalt, func(_ *mState, _ *mName, a *mAgent) { a.work = 0 })
	}
	if a.work == 0 && known && a.last < a.kround && a.leaving == 0 && (x.noGuard || a.since < x.deadline) {
		do(ActStart, func(_ *mState, _ *mName, a *mAgent) { a.work, a.last = a.kround, a.kround })
	}
	if a.work == 0 && a.kphase != mRunning && a.kmember == 1 && a.last < a.kround {
		do(ActAcknowledge, func(_ *mState, _ *mName, a *mAgent) { a.last = a.kround })
	}
	if a.cut == 1 {
		return
	}
	switch {
	case n.owns(j) && a.joined == 1:
		if a.kphase != s.phase || a.kround != s.round || a.kmember != isMember(n, j) {
			do("see", func(s *mState, n *mName, a *mAgent) { s.read(n, j, a) })
		}
		if a.work == 0 && a.last > 0 && (n.state != mStopped && n.state != mLeaving || n.round < a.last) {
			do("put stopped", func(s *mState, n *mName, a *mAgent) {
				n.state, n.round = mStopped, a.last
				s.present(n, x)
			})
		}
		if a.leaving == 1 && a.work == 0 {
			do(ActLeave, func(s *mState, n *mName, a *mAgent) {
				n.state, n.round, n.age = mLeft, a.last, 0
				if n.owner == uint8(j)+1 {
					n.owner = 0
				}
				s.present(n, x)
				s.dies(n, j)
			})
		} else if a.leaving == 1 && n.state != mLeaving {
			do("put leaving", func(s *mState, n *mName, _ *mAgent) { n.state = mLeaving; s.present(n, x) })
		}
	case taken && a.work == 0:
		do("exit, replaced", func(s *mState, n *mName, _ *mAgent) { s.dies(n, j) })
	case n.inc == 0 || n.state == mLeft && n.inc != uint8(j)+1:
		if a.leaving == 1 && a.work == 0 {
			do("exit", func(s *mState, n *mName, _ *mAgent) { s.dies(n, j) })
		}
		if a.joined == 1 && a.leaving == 1 {
			return
		}
		do(ActRejoin, func(s *mState, n *mName, a *mAgent) {
			if n.state == mLeft && n.inc > 0 && n.member == n.inc {
				n.member = 0 // the farewell of the old one stays with the key
			}
			n.inc, n.state, n.round, n.age = uint8(j)+1, mThere, 0, 0
			if a.work == 0 && a.last > 0 {
				n.state, n.round = mStopped, a.last
			}
			again := a.joined == 1
			a.joined, a.since = 1, 0
			if !x.oldWatch {
				a.late = 0
			}
			if !x.readBefore || !again {
				s.read(n, j, a)
			}
			s.present(n, x)
		})
	}
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

// fault is what can go wrong with one incarnation.
func (x *model) fault(s *mState, i, j int, next func(*mState, string)) {
	a := &s.n[i].agent[j]
	if !a.alive() {
		return
	}
	do := func(name string, change func(*mState, *mName, *mAgent)) {
		if !x.has(name) {
			return
		}
		t := *s
		t.faults--
		change(&t, &t.n[i], &t.n[i].agent[j])
		next(&t, label(Action(name), i, j))
	}
	do("crash", func(s *mState, n *mName, a *mAgent) {
		work := a.work
		s.dies(n, j)
		if x.orphans {
			n.agent[j].work = work
		}
	})
	if a.work > 0 && a.pause == 0 {
		do("fail", func(_ *mState, _ *mName, a *mAgent) { a.work = 0 })
	}
	if a.cut == 0 {
		do("cut", func(_ *mState, _ *mName, a *mAgent) { a.cut = 1 })
	}
	if a.pause == 0 && x.pauses {
		do("pause", func(_ *mState, _ *mName, a *mAgent) { a.pause = 1 })
	}
	if a.leaving == 0 && a.joined == 1 {
		do("leave", func(_ *mState, _ *mName, a *mAgent) { a.leaving = 1 })
	}
	if a.late == 0 && s.phase == mRunning && isMember(&s.n[i], j) == 1 && a.kround < s.round {
		do("delay", func(s *mState, _ *mName, a *mAgent) { a.late = s.round })
	}
}

// campaign makes somebody the leader when there is none.
func (x *model) campaign(s *mState, next func(*mState, string)) {
	free := -1
	for l := range s.fresh {
		if _, _, found := s.leadOf(l); !found {
			free = l
		}
	}
	for i := range s.n {
		if s.n[i].owner > 0 {
			return
		}
	}
	for i := range s.n {
		n := &s.n[i]
		for j := range n.agent {
			a := &n.agent[j]
			if !a.reaches() || !n.owns(j) || a.joined == 0 || a.leaving == 1 {
				continue
			}
			l := free
			for k := range n.lead {
				if n.lead[k].inc == uint8(j)+1 {
					l = k
				}
			}
			if l < 0 {
				continue
			}
			t := *s
			t.resign(l)
			t.n[i].owner, t.n[i].lead[l].inc = uint8(j)+1, uint8(j)+1
			next(&t, label("elected", i, j))
			return // the names are alike, and who is elected matters little
		}
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

// lead is what a leader can do.
func (x *model) lead(s *mState, l int, next func(*mState, string)) {
	i, j, found := s.leadOf(l)
	if !found || !s.n[i].agent[j].reaches() {
		return
	}
	if s.n[i].owner != uint8(j)+1 {
		t := *s
		t.resign(l)
		next(&t, label("leads no more", i, j))
	}
	t := *s
	changed := false
	for k := range t.n {
		n := &t.n[k]
		switch {
		case n.member > 0 && n.inc == n.member:
			changed = changed || n.lead[l].silence != 0
			n.lead[l].silence = 0
		case n.member > 0 && n.lead[l].silence == 0:
			n.lead[l].silence, changed = 1, true
		}
	}
	if changed {
		next(&t, label("observe", i, j))
		t = *s
	}
	if s.pending[l] == 0 {
		if x.decide(&t, l) {
			next(&t, label("decide", i, j))
		}
		return
	}
	act := ActStop
	if s.pending[l] >= 2 {
		act = ActForm
	}
	if _, _, used := s.leadOf(1 - l); !used && s.faults > 0 && x.has("lag") {
		// The request is under way for so long that the leader gives it up and decides again.
		late := *s
		late.faults--
		late.pending[1-l], late.fresh[1-l], late.pending[l] = s.pending[l], s.fresh[l], 0
		for k := range late.n {
			late.n[k].lead[1-l] = s.n[k].lead[l]
			late.n[k].lead[l].pick = 0
		}
		next(&late, label("lag of "+act, i, j))
	}
	ok := (x.noCompare || s.fresh[l] == 1) && (x.noElection || s.n[i].owner == uint8(j)+1)
	if ok {
		x.commit(&t, l)
	}
	if !ok && s.n[i].owner != uint8(j)+1 {
		t.resign(l) // the answer tells
	} else if t.pending[l] != 3 {
		t.pending[l] = 0
		for k := range t.n {
			t.n[k].lead[l].pick = 0
		}
	}
	next(&t, label(act, i, j))
}

// out reports whether the member of the current round can have no workers any more, as far as lead l knows.
func (x *model) out(s *mState, n *mName, l int) bool {
	if n.inc == n.member {
		return n.state == mLeft || n.state == mStopped && n.round >= s.round || n.state == mLeaving && x.leaveStops
	}
	if n.inc > 0 && (x.anyProof || n.agent[n.inc-1].life == mProof) {
		return true
	}
	return n.lead[l].silence >= mFence
}

// decide is the model's Decide: it looks at the store as it is now.
func (x *model) decide(s *mState, l int) bool {
	switch s.phase {
	case mRunning:
		for i := range s.n {
			n := &s.n[i]
			if n.member == 0 {
				continue
			}
			if n.inc == n.member && n.state == mThere || n.inc == 0 && n.lead[l].silence < mFence {
				continue
			}
			if n.inc == n.member && n.state == mStopped && n.round < s.round {
				continue
			}
			s.pending[l], s.fresh[l] = 1, 1
			return true
		}
		return false
	case mHalf:
		return false // the round's record is there, and it is unknown whose it is
	}
	count := 0
	for i := range s.n {
		n := &s.n[i]
		if n.member > 0 && !x.out(s, n, l) {
			return false
		}
		if n.inc > 0 && n.state < mLeft {
			count++
		}
	}
	if count < 2 || s.round == 3 {
		return false
	}
	for i := range s.n {
		n := &s.n[i]
		n.lead[l].pick = 0
		if n.inc > 0 && n.state < mLeft {
			n.lead[l].pick = n.inc
		}
	}
	s.pending[l], s.fresh[l] = 2, 1
	return true
}

// commit is the leader's transaction.
func (x *model) commit(s *mState, l int) {
	switch {
	case s.pending[l] == 1:
		s.phase = mStopping
	case x.twoWrites && s.pending[l] == 2:
		s.phase, s.pending[l] = mHalf, 3
		s.fresh[1-l] = 0
		return
	default:
		s.phase = mRunning
		s.round = min(s.round+1, 3)
		for i := range s.n {
			n := &s.n[i]
			n.member = n.lead[l].pick
			for k := range n.lead {
				n.lead[k].silence = 0
			}
			if n.state == mLeft {
				n.inc, n.state, n.round = 0, 0, 0
			}
		}
		s.pending[l] = 2
	}
	s.fresh = [2]uint8{}
}

// peace follows a state without any more faults: everybody does what it can, and time passes when nobody can. The job
// must come to a round that runs on all its members.
func (x *model) peace(s mState, from int32) {
	s.faults = 0
	var path []string
	for range 400 {
		if s.runs() || s.round == 3 {
			return
		}
		var chosen mState
		var did string
		best := 0
		x.step(&s, func(t *mState, by string) {
			rank := 3
			switch {
			case t.pack() == s.pack():
				return
			case by == "tick":
				rank = 1
			case strings.HasPrefix(by, "expire"), strings.HasPrefix(by, "leads no more"):
				rank = 2
			}
			if rank > best {
				best, chosen, did = rank, *t, by
			}
		})
		if best == 0 {
			break
		}
		s = chosen
		path = append(path, did)
	}
	alive := 0
	for i := range s.n {
		if s.n[i].agent[0].acts() || s.n[i].agent[1].acts() {
			alive++
		}
	}
	if alive >= 2 {
		x.broken = "no progress when left in peace\n" + strings.Join(x.trace(from), "\n") + "\nin peace:\n" + strings.Join(path[:min(len(path), 60)], "\n") + fmt.Sprintf("\n%+v", s)
	}
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

// TestModel finds nothing with all mechanisms in place.
func TestModel(t *testing.T) {
	for name, m := range map[string]mechanisms{
		"short deadline, pauses":     {pauses: true},
		"long deadline, no pauses":   {deadline: 2},
		"without the election check": {pauses: true, noElection: true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newModel(m, *modelFaults, modelLimit())
			whole := x.explore()
			if x.broken != "" {
				t.Fatal(x.broken)
			}
			t.Logf("%d states, whole: %v", len(x.states), whole)
		})
	}
}

// TestModelNeedsEveryMechanism takes out one mechanism after the other, and must find what breaks.
func TestModelNeedsEveryMechanism(t *testing.T) {
	for name, m := range map[string]mechanisms{
		"compare of the job's revision": {noCompare: true, only: "fail lag", faults: 2},
		"compare of job and election":   {noCompare: true, noElection: true, pauses: true, only: "pause cut fail", faults: 2},
		"read with the put":             {readBefore: true, only: "cut", faults: 1},
		"old watch dropped":             {oldWatch: true, only: "cut delay", faults: 2},
		"start guard":                   {noGuard: true, only: "cut", faults: 1},
		"deadline from the sending":     {fromAnswer: true, deadline: 2, only: "cut", faults: 1},
		"silence starts over":           {oldSilence: true, deadline: 2, only: "cut", faults: 2},
		"leaving is not stopped":        {leaveStops: true, only: "leave", faults: 1},
		"proof of death":                {anyProof: true, only: "cut replaced", faults: 2},
		"one transaction":               {twoWrites: true, only: "crash", faults: 1},
		"workers die with gangrun":      {orphans: true, only: "crash", faults: 1},
		"kill deadline":                 {noDeadlines: true, only: "cut", faults: 1},
		"deadline, pause, fence":        {deadline: 2, pauses: true, only: "pause cut", faults: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && m.faults > 1 && m.deadline > 1 {
				t.Skip("takes seconds: make test-long")
			}
			x := newModel(m, *modelFaults, 3**modelStates)
			whole := x.explore()
			if x.broken == "" {
				t.Fatalf("nothing breaks in %d states, whole: %v", len(x.states), whole)
			}
			if testing.Verbose() {
				t.Logf("%d states; %d steps:\n%s", len(x.states), strings.Count(x.broken, "\n"), x.broken)
			}
		})
	}
}
