package rendezvous

import "github.com/gangrun/gangrun/exitcodes"

// What follows where the store holds an earlier record of the job than its nodes have seen, as one that was restored
// from a backup does, and no leader remembers the newer one.

// wentBack stops a round that was over long ago: a node that was in a later one has stopped its workers, as all do
// that see such a record. Who is missing of the earlier round, or does not say why it has stopped, has not failed.
func (t *turn) wentBack() bool {
	for _, e := range t.Nodes {
		if e.Round > t.Round.Number && e.gone() && t.present(e) && e.of(t.job.RunUID) {
			t.stop(StopStore, "", exitcodes.ReasonStoreLost,
				"the store has gone back to an earlier record of the job than its nodes know")
			t.job.Stop.Judged = true
			return true
		}
	}
	return false
}

// nextRound is the number of the next round: after all that a node here has been in, or has heard of. None takes one
// that it was in already.
func (t *turn) nextRound() int {
	next := t.job.NextRound
	for _, e := range t.Nodes {
		if n := max(e.Round+1, e.Next); e.Store == t.Token && n < maxNumber/2 { // there have never been more
			next = max(next, n)
		}
	}
	return next
}
