//go:build model

package rendezvous

// What goes wrong in the model of the embedded store.

func (m *eModel) fault(s eState, i, j int, next func(eState, string)) {
	a := &s.n[i].agent[j]
	if s.faults == 0 || a.life != mAlive && a.life != mProof {
		return
	}
	s.faults--
	cut := s
	if a.cut == 0 {
		cut.n[i].agent[j].cut = 1
		next(cut, label("cut", i, j))
	}
	if a.work > 0 {
		fails := s
		fails.n[i].agent[j].work = 0
		next(fails, label("fail", i, j))
	}
	if s.phase == mRunning && s.n[i].member == uint8(j)+1 && a.round < s.round && a.late == 0 {
		delay := s
		delay.n[i].agent[j].late, delay.n[i].agent[j].lateStore = s.round, s.store
		next(delay, label("delay", i, j))
	}
	crash := s
	crash.n[i].agent[j] = eAgent{life: mDead}
	if i == 0 && s.up == 1 && int(s.host) == j {
		crash.up = 0
		crash.lose()
	}
	next(crash, label("crash", i, j))
	if m.noProof && i == 0 && j == 0 && s.host == 0 && s.store == 0 && s.n[0].agent[1].life == mUnborn {
		// The host is out of sight, but it lives, and with it the store; some can still reach it.
		for who := range 4 {
			moved := s
			for k := range moved.n {
				if k == 0 || who>>(k-1)&1 == 1 {
					moved.n[k].agent[0].behind = 1
				}
			}
			moved.n[0].agent[1] = eAgent{life: mProof, store: 1}
			moved.begin()
			next(moved, "the store starts empty while the old one lives")
		}
	}
}

// lose is the loss of all that was in the store.
func (s *eState) lose() {
	for i := range s.n {
		n := &s.n[i]
		n.inc, n.state, n.keyRound, n.age, n.member, n.silence = 0, 0, 0, 0, 0, 0
	}
	s.phase, s.round = mForming, 0
}

// begin is a new store in the second incarnation of name a.
func (s *eState) begin() {
	s.lose()
	s.up, s.store, s.host, s.newSince, s.next = 1, 1, 1, 0, 1
}
