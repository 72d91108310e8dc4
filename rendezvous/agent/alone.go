package agent

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// alone is how often, and when, this node restarts its workers within a round, where its role does that by itself.
type alone struct {
	budget  rendezvous.Budget // of the round
	decided bool              // on the failure that is being cleared up
	again   bool              // it is worth a restart
	at      time.Duration     // not before then
}

// ruleAlone decides, once for each failure, whether this node starts its workers again by itself, and says so in the
// outcome, so that the others go on meanwhile.
func (n *node) ruleAlone(o *rendezvous.Outcome, step *int64) {
	job, a := n.reading.Job, &n.alone
	switch {
	case job == nil || !job.Spec.Alone(n.record.Role):
		return
	case a.decided: // it may have turned out worse since it was first told of
		a.again = a.again && job.Spec.WorthRestartingAlone(*o)
	case n.record.Leaving:
		return
	default:
		budget, ruling := job.Spec.RestartAlone(a.budget, *o, step, n.now(), job.RunUID+"/"+n.cfg.Name)
		*a = alone{budget: budget, decided: true, again: ruling.Restart, at: n.clock() + ruling.After}
		if a.again {
			n.log.Info("this node restarts its workers alone", "role", n.record.Role, "after", ruling.After, "used", budget.Used)
			time.AfterFunc(ruling.After, n.poke)
		} else if ruling.Reason != "" {
			n.log.Warn("this node no longer restarts its workers alone", "role", n.record.Role, "why", ruling.Spent.Says)
		}
	}
	o.RestartsAlone = a.again
}

// sayDispensable says that this node's part in the round is over although the round goes on.
func (n *node) sayDispensable() {
	o, job := n.record.Outcome, n.reading.Job
	failed := o.Verdict == exitcodes.Retry || o.Verdict == exitcodes.Fatal
	if failed && !o.RestartsAlone && job != nil && job.Spec.Dispensable(n.record.Role) {
		n.log.Warn("the job continues without this node's workers", "role", n.record.Role, "round", n.record.Round)
	}
}

// due reports whether it is time to start the workers again.
func (a *alone) due(at time.Duration) bool { return a.again && at >= a.at }
