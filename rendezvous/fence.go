package rendezvous

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// standing is what the leader knows about one member's workers.
type standing int

const (
	working standing = iota // they run, or may start
	leaving                 // they still run; the node has said that it is going
	silent                  // nothing is known: the member's key is gone
	// From here on the workers are gone.
	stopped // the member has said so
	done    // it has said so, and that they have succeeded
	left    // it has said so, and is gone for good
	dead    // a newcomer proves it
	fenced  // it has been silent for so long that it must have stopped them itself
)

func (s standing) out() bool { return s >= stopped }

// lost reports whether the member has gone without a word.
func (s standing) lost() bool { return s == silent || s == dead || s == fenced }

func (t *turn) member(rank int, m Member) member {
	e, found := t.Nodes[m.Name]
	r := member{Member: m}
	succeeds := found && t.job.Spec.Alone(m.Role) && e.Role == m.Role && e.of(t.job.RunUID) // in this very round
	if found && (e.Incarnation == m.Incarnation || succeeds) && e.Store == t.Token {
		r.entry, r.own = e, true
		// A node that has left for good starts nothing any more, whichever round it knew of.
		if e.State == NodeLeft || e.gone() && e.Round >= t.Round.Number {
			r.standing = map[State]standing{NodeDone: done, NodeLeft: left}[e.State]
			r.standing = max(r.standing, stopped)
			if o := t.outcome(r); o != nil && o.Verdict == exitcodes.Success {
				r.standing = done // and it may have left since
			}
			return r
		}
		if e.Leased {
			if e.Leaving {
				r.standing = leaving
			}
			return r
		}
	}
	r.taken = found && e.Incarnation != m.Incarnation
	if r.taken && e.Replaces != nil && e.Replaces.Incarnation == m.Incarnation {
		r.standing = left
		return r
	}
	if t.Candidates[CandidateName(m.Name, m.Incarnation)] && !(r.taken && proves(*e.Node, m)) {
		return r // only its key has gone, by somebody's hand; it will put it back, or see that another one has it
	}
	seen := t.observation(rank)
	r.until = seen.Silent.Add(t.fence())
	switch {
	case seen.Done: // whatever has become of the node since, its part is done
		r.standing = done
	case seen.Out:
		r.standing = stopped
	case r.taken && proves(*e.Node, m):
		r.standing = dead
	case !t.now.Before(r.until):
		r.standing = fenced
	default:
		r.standing = silent
	}
	return r
}

// fence is the fence time that the members of the current round go by.
func (t *turn) fence() time.Duration { return t.Round.Fence.of() }

// observation is what is remembered of the member with this rank. What was never observed counts as silent from now on.
func (t *turn) observation(rank int) Observation {
	s := t.Observations
	if s.Store == t.Token && s.RunUID == t.Round.RunUID && s.Round == t.Round.Number && rank < len(s.Member) {
		if seen := s.Member[rank]; !seen.Silent.IsZero() {
			return seen
		}
	}
	return Observation{Silent: t.now}
}

// proves reports whether newcomer is proof that the member of the same name is dead: because the operator never runs
// two of that name at once, or because both were in one PID namespace of one boot, where the newcomer has killed what
// was left before it joined. A boot id alone is shared by all containers of a host.
func proves(newcomer Node, m Member) bool {
	if newcomer.Unique && m.Unique {
		return true
	}
	return m.BootID != "" && m.PIDNS != "" && newcomer.BootID == m.BootID && newcomer.PIDNS == m.PIDNS
}

// EndedHere reports whether a newcomer has itself ended what an earlier incarnation of its name has left: both are of one
// PID namespace of one boot, which a node says of itself only once it has killed that. An operator's word that it never
// gives a name twice is not enough here.
func EndedHere(newcomer, earlier *Node) bool {
	return newcomer.BootID != "" && newcomer.PIDNS != "" && newcomer.BootID == earlier.BootID && newcomer.PIDNS == earlier.PIDNS
}

// barrier lists the members that may still have workers, split into those that are there and those that are silent,
// and the time when the first of the silent counts as gone.
func barrier(members []member) (there, missing []string, next time.Time) {
	for _, m := range members {
		switch {
		case m.standing.out():
		case m.standing == silent:
			missing = append(missing, m.Name)
			next = earliest(next, m.until)
		default:
			there = append(there, m.Name)
		}
	}
	return there, missing, next
}

// orphans lists nodes that say that they run something, but not as members of the current round: the record of their
// round has been deleted by hand, or they were counted as gone. They will stop as soon as they see what has happened.
func (t *turn) orphans(members []member) (list []string) {
	ours := make(map[string]bool, len(members))
	for _, m := range members {
		if m.own {
			ours[m.Name] = true
		}
	}
	for name, e := range t.Nodes {
		if !ours[name] && e.Leased && !e.gone() && e.Store == t.Token {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// waitForBarrier is the decision to wait for nodes that may still have workers; ok is false when there are none.
func (t *turn) waitForBarrier(members []member) (d Decision, ok bool) {
	there, missing, next := barrier(members)
	there = append(there, t.orphans(members)...)
	switch {
	case len(there) > 0:
		return t.wait(next, WaitsForLeaving, slices.Concat(there, missing),
			"round %d: waiting until %s stopped its workers", t.job.Round, joinNames(there, "has", "have")), true
	case len(missing) > 0:
		return t.wait(next, WaitsForFence, missing,
			"round %d: %s silent and may still have workers; counts as gone at the latest after %v of silence",
			t.job.Round, joinNames(missing, "is", "are"), t.fence()), true
	}
	return Decision{}, false
}
