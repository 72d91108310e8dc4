//go:build model

package rendezvous

func (m *eModel) node(s eState, i, j int, next func(eState, string)) {
	n, a := &s.n[i], &s.n[i].agent[j]
	do := func(name Action, change func(*eState, *eName, *eAgent)) {
		t := s
		change(&t, &t.n[i], &t.n[i].agent[j])
		next(t, label(name, i, j))
	}
	if a.life == mUnborn {
		if j == 1 && n.agent[0].life == mDead {
			do("born", func(s *eState, n *eName, a *eAgent) {
				*a = eAgent{life: mProof, store: s.store}
				if i == 0 && s.up == 0 {
					a.store = 1
					s.begin()
				}
			})
		}
		return
	}
	if a.life == mDead {
		return
	}
	if a.cut == 1 {
		do("heal", func(_ *eState, _ *eName, a *eAgent) { a.cut = 0 })
	}
	other := a.store != s.store && a.reaches(&s)
	runs := a.phase == mRunning && a.in == 1
	if a.work > 0 && a.behind == 0 && (!runs || a.round != a.work || a.since >= eDeadline || other) {
		do(ActHalt, func(_ *eState, _ *eName, a *eAgent) { a.work = 0 })
	}
	if a.work == 0 && runs && a.last < a.round && a.since < eDeadline && !other {
		do(ActStart, func(_ *eState, _ *eName, a *eAgent) { a.work, a.workStore, a.last = a.round, a.store, a.round })
	}
	if a.late > 0 {
		do("late watch", func(_ *eState, _ *eName, a *eAgent) {
			switch {
			case a.lateStore == a.store && a.late > a.round:
				a.phase, a.round, a.in = mRunning, a.late, 1
			case a.lateStore != a.store && m.noToken && a.work == 0 && a.last < a.late && a.since < eDeadline:
				a.work, a.workStore, a.last = a.late, a.lateStore, a.late // it starts what is long over
			}
			a.late, a.lateStore = 0, 0
		})
	}
	if a.work == 0 && a.phase != mRunning && a.in == 1 && a.last < a.round {
		do(ActAcknowledge, func(_ *eState, _ *eName, a *eAgent) { a.last = a.round })
	}
	if !a.reaches(&s) {
		return
	}
	own := n.inc == uint8(j)+1
	switch {
	case own && a.store == s.store:
		in := uint8(0)
		if n.member == uint8(j)+1 {
			in = 1
		}
		if a.phase != s.phase || a.round != s.round || a.in != in {
			do("see", func(s *eState, _ *eName, a *eAgent) { a.phase, a.round, a.in = s.phase, s.round, in })
		}
		if a.work == 0 && a.last > 0 && (n.state != mStopped || n.keyRound < a.last) {
			do("put stopped", func(_ *eState, n *eName, a *eAgent) { n.state, n.keyRound, n.silence = mStopped, a.last, 0 })
		}
	case n.inc == 0 && (a.store == s.store || a.work == 0 || m.joinRunning):
		if m.refuse && other && a.round >= s.next {
			return
		}
		do(ActRejoin, func(s *eState, n *eName, a *eAgent) {
			if a.store != s.store {
				if a.round >= s.next && !m.refuse {
					s.adopt(a.round)
				}
				a.last = 0
			}
			a.store, a.since = s.store, 0
			a.phase, a.round, a.in = s.phase, s.round, 0
			if n.member == uint8(j)+1 {
				a.in = 1
			}
			n.inc, n.state, n.keyRound, n.age, n.silence = uint8(j)+1, mThere, 0, 0, 0
			if a.work == 0 && a.last > 0 {
				n.state, n.keyRound = mStopped, a.last
			}
		})
	}
}

// adopt takes over a record of a later round than the store knows.
func (s *eState) adopt(round uint8) {
	s.next = min(round+1, 4)
	if s.phase == mRunning {
		s.phase = mStopping
	}
}
