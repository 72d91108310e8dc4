//go:build model

package rendezvous

import "fmt"

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
