package agent

import (
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// readJob handles the job's record, and that of the round which begins with it, unless an earlier one has come back instead of the one that is known.
func (n *node) readJob(kv store.KV, known *rendezvous.Job) {
	n.jobRev, n.older = kv.ModRev, false
	job, begins, err := rendezvous.ParseBeginning(kv.Key, kv.Value)
	if err != nil {
		n.cannotUse(err)
		return
	}
	n.numbered.hear(job)
	if n.older = wentBack(known, job); n.older {
		return
	}
	if job.Same(n.lastJob) {
		job = job.Moved(n.lastJob.At.Sub(job.At))
	} else {
		job = job.Moved(n.now().UTC().Sub(job.At))
	}
	n.heard.Store(job)
	// A new store may hold a record already that others have begun there. It is not what this node brings.
	if j := n.lastJob; j != nil && j.Store != job.Store && (n.earlierJob == nil || j.NextRound >= n.earlierJob.NextRound) {
		n.earlierJob = j
	}
	n.tellRestart(n.lastJob, job)
	if k := n.keeper.Load(); k != nil && job.End != nil && (n.lastJob == nil || n.lastJob.End == nil) {
		k.forget(job)
	}
	n.reading.Job, n.goneAt = job, 0
	n.lastJob = job
	n.record.ReadSeq = job.Seq
	n.matchRound()
	if begins != nil {
		n.heardOf(begins)
	}
}

// tellRestart logs the decision to restart: what it is charged to, and how long the pause is.
func (n *node) tellRestart(before, job *rendezvous.Job) {
	if n.record.Leaving || before == nil || before.RunUID != job.RunUID ||
		job.Budget.Total+job.Budget.Preemptions <= before.Budget.Total+before.Budget.Preemptions {
		return
	}
	lost := job.Stop != nil && job.Stop.Kind == rendezvous.StopLoss && job.Stop.Node == n.cfg.Name
	if lost || job.Phase == rendezvous.Running && (n.started || n.cutOff) {
		return // the others have continued without this node
	}
	round, after := job.Round, time.Duration(0)
	if job.Phase == rendezvous.Forming || job.Phase == rendezvous.Stopping {
		round = job.NextRound
		if !job.NotBefore.IsZero() {
			after = max(0, job.NotBefore.Sub(n.now()))
		}
	}
	args := []any{
		"round", round, "after", after.Round(time.Millisecond), "used", job.Budget.Used, "max", job.Spec.Restarts.Max,
	}
	if s := job.Stop; s != nil && (s.Kind == rendezvous.StopLoss || s.Kind == rendezvous.StopDeparture) {
		// Too few may be left.
		args = append(args, "needs_nodes", job.Spec.MinNodes)
	}
	n.log.Info("restarting", args...)
}

// cannotUse tells of a record that cannot be read, once: nothing is ever decided on it, and nobody overwrites it.
func (n *node) cannotUse(err error) {
	if text := err.Error(); text != n.unusable {
		n.unusable = text
		n.log.Warn("a record in the store cannot be used", "err", err)
	}
}
