//go:build model

package rendezvous

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
