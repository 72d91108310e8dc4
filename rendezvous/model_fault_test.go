//go:build model

package rendezvous

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
