package rendezvous

import (
	"cmp"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// How the members of a role are restarted after a failure of their own. A round that ends for another reason ends for
// them too, and the next one starts all.
const (
	RestartGang  = "gang"  // with all others; the default
	RestartSelf  = "self"  // alone, in the same round: an evaluator, the workers of a parameter server
	RestartNever = "never" // not at all
)

// RolePolicy says how the members of one role take part in restarts and in success. The failure of a role that is not
// gang concerns nobody else while the role restarts alone, or when success does not need it. Else it counts as any
// other, except that one of RestartNever ends the job.
type RolePolicy struct {
	Restart  string `json:"restart,omitempty"`
	Optional bool   `json:"optional,omitempty"` // the job's success does not wait for it
}

// Gang reports whether members of the role restart with all others.
func (s Spec) Gang(role string) bool { return s.restart(role) == RestartGang }

func (s Spec) restart(role string) string { return cmp.Or(s.Roles[role].Restart, RestartGang) }

// Alone reports whether members of the role are restarted by themselves.
func (s Spec) Alone(role string) bool { return s.restart(role) == RestartSelf }

// Dispensable reports whether the others continue without members of the role that have failed for good.
func (s Spec) Dispensable(role string) bool {
	return s.restart(role) != RestartGang && !s.required(role)
}

// required reports whether the job's success waits for members of the role.
func (s Spec) required(role string) bool { return !s.Roles[role].Optional }

// RestartAlone rules on the failure of a node whose role restarts alone. The budget is the node's own in this round, and
// its policy the job's; when it is spent, the failure is one for the others, as far as they need this node.
func (s Spec) RestartAlone(b Budget, o Outcome, step *int64, now time.Time, seed string) (Budget, Ruling) {
	switch {
	case o.cutOff():
		return b, Ruling{Restart: true}
	case !s.WorthRestartingAlone(o):
		return b, Ruling{}
	}
	return b.Failed(s.Restarts, now, failureKey(Stop{Outcome: &o}), Progress{Step: step}, false, seed)
}

// WorthRestartingAlone reports whether the failure may be restarted at all, whatever the budget says.
func (s Spec) WorthRestartingAlone(o Outcome) bool {
	return o.failed() && !o.NodeFault && !s.Restarts.Never && (o.Verdict != exitcodes.Fatal || s.Restarts.retries(&o))
}

// gang reports whether the member restarts with all others.
func (t *turn) gang(m member) bool { return t.job.Spec.Gang(m.Role) }

// blames reports whether the member's failure counts for the others.
func (t *turn) blames(m member, o *Outcome) bool {
	return t.gang(m) || t.job.Spec.required(m.Role) && !o.RestartsAlone
}

// missed reports whether the others cannot go on once the member has gone: it is one of the gang, or success needs it. While
// it is merely silent, one that restarts alone can still be replaced in the round.
func (t *turn) missed(m member) bool { return t.gang(m) || t.job.Spec.required(m.Role) }

// neverRestarted reports whether the node has a role whose failure ends the job.
func (t *turn) neverRestarted(node string) bool {
	if t.Round == nil {
		return false
	}
	for _, m := range t.Round.Members {
		if m.Name == node {
			return t.job.Spec.restart(m.Role) == RestartNever
		}
	}
	return false
}

// place is the rank of the node in the round, -1 when it has none. A newcomer takes its name's place in the round that
// runs where its role restarts alone.
func (r *Round) place(s Self, spec Spec) int {
	rank := r.Rank(s.Name, s.Incarnation)
	if rank < 0 && spec.Alone(s.Role) {
		for i, m := range r.Members {
			if m.Name == s.Name && m.Role == s.Role {
				return i
			}
		}
	}
	return rank
}
