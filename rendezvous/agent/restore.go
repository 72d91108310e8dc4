package agent

import "github.com/gangrun/gangrun/rendezvous"

// actRestore is what the leader does about a round's record that somebody has deleted.
const actRestore rendezvous.Action = "Restore"

// deletedRound is the record of the current round where it has gone from the store and this node remembers it; else
// nil. Nothing but a deletion by hand takes it away. Without it nobody can tell whose workers may still run, so that no
// later round could ever begin; and since a round's record never changes, putting it back is always right.
func (l *leader) deletedRound() *rendezvous.Round {
	j, r := l.view.Job, l.newest.Load()
	if j == nil || l.view.Round != nil || l.view.Rev < l.view.Read || r == nil ||
		r.Store != l.view.Token || r.RunUID != j.RunUID || r.Number != j.Round {
		return nil
	}
	return r
}
