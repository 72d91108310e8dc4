package agent

import (
	"slices"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
)

// checkpoints is what the node knows of its checkpoints. The directory is used by one goroutine at a time.
type checkpoints struct {
	busy     bool          // a goroutine uses the directory
	lookedAt time.Duration // when it was last read
	results  chan func(*node)
	// round and runUID are those for which the checkpoint was made ready last; resumed and err are how that went.
	round   int
	runUID  string
	resumed *Resumed
	err     error
	// joined is the number after that of a running round for which the newest checkpoint was looked up, and joins what to
	// resume from there.
	joined int
	joins  rendezvous.Resume
	// emptySince is when the directory was first seen empty while workers run, 0 when it is not; warned says that this was
	// told.
	emptySince time.Duration
	warned     bool
}

const (
	// lookEvery is how often the node looks what the training has saved: for whoever asks, for nodes that wait for the
	// next checkpoint to be admitted, and to know what has been reached if everything is lost later.
	lookEvery = 30 * time.Second
	// askAgain is the pause after a look that has shown nothing, because something could not be read.
	askAgain = 2 * time.Second
)

// look looks for checkpoints when it is time: at the begin of every phase in which a round is formed, and now and then.
func (n *node) look(at time.Duration) {
	job, c := n.reading.Job, n.record.Checkpoints
	if n.cfg.Checkpoints == nil || n.checkpoints.busy || job == nil || n.record.Store == "" {
		return
	}
	since := at - n.checkpoints.lookedAt
	switch {
	case c == nil:
	case job.Phase == rendezvous.Forming && n.record.State != rendezvous.NodeRunning &&
		(c.Asked < job.SinceSeq || c.Asked > job.Seq):
	case c.Problem != "" && since >= askAgain:
	case since < lookEvery:
		return
	}
	n.checkpoints.busy, n.checkpoints.lookedAt = true, at
	asked, run := job.SinceSeq, checkpoint.Run{Job: n.cfg.Job, UID: job.RunUID}
	n.inBackground(func() func(*node) {
		report, err := n.cfg.Checkpoints.Look(n.ctx, run)
		return func(n *node) { n.looked(asked, report, err) }
	})
}

// inBackground does something with the directory that may take its time, and handles the result later.
func (n *node) inBackground(f func() func(*node)) {
	crash.Go(func() {
		select {
		case n.checkpoints.results <- f():
		case <-n.ctx.Done():
		}
	})
}

// looked handles what a look has shown.
func (n *node) looked(asked int64, r checkpoint.Report, err error) {
	n.checkpoints.busy = false
	c := &rendezvous.Checkpoints{Asked: asked, Steps: r.Steps, Unit: string(r.Unit), Identities: r.Identities, Reached: r.Reached, Cut: r.Cut}
	switch {
	case err != nil:
		c.Problem = rendezvous.Sentence(err.Error())
		if before := n.record.Checkpoints; before == nil || before.Problem != c.Problem {
			n.log.Warn("cannot list the checkpoints; trying again", "dir", n.cfg.Checkpoints.Name, "err", err)
		}
	case r.Veto != nil:
		c.Veto = rendezvous.Sentence(r.Veto.Error())
	}
	n.missed(r, err)
	if err == nil {
		n.saved.Store(n.inFull(r.Newest))
	}
	if n.record.State == rendezvous.NodeRunning && sameCheckpoints(n.record.Checkpoints, c) {
		return // nobody waits for it
	}
	n.record.Checkpoints, n.writer.dirty = c, true
}

// nothingAfter is how long workers may work and save nothing before somebody is told.
const nothingAfter = 10 * time.Minute

// missed tells, once in a round, that nothing has been saved after steps, or after a long time of work: the directory may
// be another than the training's, and all of it would be lost with the next failure.
func (n *node) missed(r checkpoint.Report, err error) {
	c, at := &n.checkpoints, n.checkpoints.lookedAt
	if n.record.State != rendezvous.NodeRunning || err != nil || !r.Empty {
		c.emptySince, c.warned = 0, c.warned && n.record.State == rendezvous.NodeRunning
		return
	}
	if c.emptySince == 0 {
		c.emptySince = at
	}
	step := n.stepped.Load()
	stepped := step != nil && *step > 0 && at-c.emptySince >= lookEvery
	if c.warned || !stepped && at-c.emptySince < nothingAfter {
		return
	}
	c.warned = true
	attrs := []any{"dir", n.cfg.Checkpoints.Name, "for", (at - c.emptySince).Round(time.Second)}
	if step != nil {
		attrs = append(attrs, "step", *step)
	}
	n.log.Warn("the training has saved no checkpoint here yet: the next failure would lose all of its work", attrs...)
}

// sameCheckpoints reports whether both say the same, whenever they were asked.
func sameCheckpoints(a, b *rendezvous.Checkpoints) bool {
	return a != nil && slices.Equal(a.Steps, b.Steps) && a.Unit == b.Unit && slices.Equal(a.Identities, b.Identities) &&
		a.Problem == b.Problem && a.Veto == b.Veto && sameStep(a.Reached, b.Reached) && sameStep(a.Cut, b.Cut)
}

func sameStep(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

// prepared returns the checkpoint of a round on this node, once it is ready: it was verified once more, and whatever
// the framework goes by leads to it.
func (n *node) prepared(r *rendezvous.Round) (resumed *Resumed, err error, ready bool) {
	c := &n.checkpoints
	switch {
	case n.cfg.Checkpoints == nil:
		return nil, nil, true
	case c.round == r.Number && c.runUID == r.RunUID:
		return c.resumed, c.err, true
	case c.busy:
		return nil, nil, false
	}
	c.busy = true
	dir, run := n.cfg.Checkpoints, checkpoint.Run{Job: n.cfg.Job, UID: r.RunUID}
	n.inBackground(func() func(*node) {
		found, err := dir.Begin(n.ctx, run, checkpoint.From{Step: r.Resume.Step, Identity: r.Resume.Identity, Why: r.Resume.Why})
		if err != nil && dir.Own {
			n.log.Warn("cannot list the checkpoints; the training picks its own", "dir", dir.Name, "err", err)
			found, err = nil, nil
		}
		return func(n *node) {
			c := &n.checkpoints
			*c = checkpoints{results: c.results, lookedAt: c.lookedAt, emptySince: c.emptySince, round: r.Number, runUID: r.RunUID, err: err}
			if found != nil {
				path, root := dir.Handed(found)
				c.resumed = &Resumed{path, root, found.Tag}
			}
		}
	})
	return nil, nil, false
}

// present returns the newest checkpoint that there is now, for workers that come into a round that runs already, and the
// round as they are to see it. Nothing is made ready for them: what the others have saved since is theirs, and the newest.
func (n *node) present(r *rendezvous.Round) (resumed *Resumed, seen *rendezvous.Round, ready bool) {
	c := &n.checkpoints
	switch {
	case n.cfg.Checkpoints == nil:
		return nil, r, true
	case c.joined == r.Number+1:
		seen := *r
		seen.Resume = c.joins
		c.joined = 0 // the next start looks again
		return c.resumed, &seen, true
	case c.busy:
		return nil, nil, false
	}
	c.busy = true
	dir, run := n.cfg.Checkpoints, checkpoint.Run{Job: n.cfg.Job, UID: r.RunUID}
	n.inBackground(func() func(*node) {
		report, err := dir.Look(n.ctx, run)
		return func(n *node) {
			c := &n.checkpoints
			c.busy, c.joined, c.resumed, c.joins = false, r.Number+1, nil, rendezvous.Resume{Decision: rendezvous.ResumeFresh}
			if err != nil {
				n.log.Warn("cannot list the checkpoints; the workers pick their own", "dir", dir.Name, "err", err)
				return
			}
			if newest := report.Newest; newest != nil {
				path, root := dir.Handed(newest)
				c.resumed = &Resumed{path, root, newest.Tag}
				c.joins = rendezvous.Resume{Decision: rendezvous.ResumeNewest, Unit: string(newest.Unit)}
				if c.joins.Step = &newest.Step; newest.Step < 0 {
					c.joins.Step, c.joins.Identity = nil, newest.Identity
				}
			}
		}
	})
	return nil, nil, false
}

// inFull is a checkpoint with its path as a person has to give it.
func (n *node) inFull(c *format.Checkpoint) *format.Checkpoint {
	if c == nil {
		return nil
	}
	full := *c
	full.Path, full.Root = n.cfg.Checkpoints.Handed(c)
	return &full
}

// Newest is the newest complete checkpoint that this node knows of, nil when there is none.
func (a *Agent) Newest() *format.Checkpoint { return a.saved.Load() }
