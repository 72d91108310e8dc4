package rendezvous

// stopping finds the cause of the stop as soon as it is certain, and goes on when the last member has stopped.
func (t *turn) stopping(members []member) Decision {
	judged := t.job.Stop.Judged
	if !judged {
		cause, settled, again := t.cause(members)
		if !settled {
			d, _ := t.waitForBarrier(members) // somebody is still there, or it would be settled
			d.Next = earliest(d.Next, again)
			return d
		}
		if !t.judge(cause, members) {
			return t.write(ActFail)
		}
	}
	if d, ok := t.waitForBarrier(members); ok {
		if !judged {
			return t.write(ActJudge)
		}
		return d
	}
	t.job.MembersGone = true
	switch {
	case t.job.Suspend:
		t.job.enter(Suspended, t.now)
		return t.write(ActSuspend)
	case t.allLeft(members):
		t.job.enter(Suspended, t.now)
		return t.write(ActSuspend)
	}
	t.job.enter(Forming, t.now)
	// The common case: everybody is back already, and the next round begins in this very transaction.
	if d := t.forming(members); d.Job != nil {
		return d
	}
	return t.write(ActGather)
}

// allLeft reports whether all members have left as announced and nobody is there to go on: a job that was drained.
func (t *turn) allLeft(members []member) bool {
	for _, m := range members {
		if m.standing != left && !(m.own && m.entry.Leaving && m.standing.out()) {
			return false
		}
	}
	return len(members) > 0 && len(t.candidates()) == 0
}
