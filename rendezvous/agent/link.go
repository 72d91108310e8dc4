package agent

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// The keys of a job.
const (
	jobKey    = "job"
	roundsKey = "rounds/"
	lists     = "members/"
	nodesKey  = "nodes/"
	progress  = "progress/"
	controls  = "control/"
)

// link is a node's connection to the store: its lease, and what it watches.
type link struct {
	store   store.Store // nil until it was reached
	leases  chan leased
	lease   store.Lease // nil: none at the moment
	renewed time.Duration
	err     error // the last that kept us from the store
	joining bool
	heard   bool // the watch has begun

	job, rounds <-chan store.Update

	stopLead context.CancelFunc
	leadDone chan struct{}
}

// leased is a lease in a store, or why there is none.
type leased struct {
	store store.Store
	lease store.Lease
	err   error
}

// The pauses between attempts to reach the store.
const (
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second
)

// connect opens the store, unless it is, and asks for a lease, again and again, in a goroutine of its own. Errors that
// will not go away end it.
func (l *link) connect(n *node) {
	if l.joining {
		return
	}
	l.joining = true
	s := l.store
	crash.Go(func() {
		for pause := retryFirst; ; pause = min(2*pause, retryMost) {
			out := leased{store: s}
			if s == nil {
				out.store, out.err = n.cfg.Connect(n.ctx)
				s = out.store
			}
			if s != nil {
				out.lease, out.err = s.Join(n.ctx, n.cfg.Lease)
			}
			select {
			case l.leases <- out:
			case <-n.ctx.Done():
				if s != nil && n.link.store == nil {
					_ = s.Close()
				}
				return
			}
			if out.err == nil || permanent(out.err) {
				return
			}
			select {
			case <-time.After(pause):
			case <-n.ctx.Done():
				return
			}
		}
	})
}

// follow begins to watch the store, once.
func (l *link) follow(n *node, s store.Store) {
	if l.store != nil {
		return
	}
	l.store = s
	l.job = s.Watch(n.ctx, jobKey).Updates()
	l.rounds = s.Watch(n.ctx, roundsKey).Updates()
}

// lost is closed when the lease is; it blocks while there is none.
func (l *link) lost() <-chan struct{} {
	if l.lease == nil {
		return nil
	}
	return l.lease.Lost()
}

// drop forgets a lease that is lost.
func (l *link) drop() {
	l.lease = nil
	l.endLead()
}

func (l *link) endLead() {
	if l.stopLead != nil {
		l.stopLead()
		<-l.leadDone
		l.stopLead = nil
	}
}

// closeTime bounds how long the end of a node waits for the store to take its lease back.
const closeTime = 2 * time.Second

func (l *link) close() {
	l.endLead()
	if l.lease != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		_ = l.lease.Close(ctx) // else it expires
	}
	if l.store != nil {
		_ = l.store.Close() // nobody is left to be told
	}
}

// leased handles a new lease, or why there is none.
func (n *node) leased(l leased) {
	if l.store != nil {
		n.link.follow(n, l.store)
	}
	n.tookWrite(l.err)
	if l.err != nil {
		n.link.err = l.err
		if permanent(l.err) {
			n.refuse(l.err)
		} else if n.full.Load() == nil { // room says that
			n.sayUnreachable()
		}
		return
	}
	n.link.joining = false
	n.link.lease = l.lease
	// The key goes back together with a reading of the job: what was heard by an old watch may be out of date.
	n.writer.rejoin = true
	n.writer.dirty = true
	n.link.startLead(n)
}

// jobUpdate handles an update of the job's record.
func (n *node) jobUpdate(u store.Update, ok bool) {
	if !ok {
		n.link.job = nil
		return
	}
	again := u.Reset && n.link.heard
	n.link.heard = true
	if again { // something may have been missed
		n.writer.rejoin, n.writer.dirty = true, true
		return
	}
	if !n.writer.claimed || u.Rev <= n.readRev && u.Token == n.reading.Store {
		return
	}
	if u.Token != "" && u.Token != n.reading.Store {
		n.writer.rejoin, n.writer.dirty = true, true
		return
	}
	n.readRev = u.Rev
	for _, d := range u.Deleted {
		if d.Key == jobKey {
			n.jobRev = 0
			n.jobGone()
		}
	}
	for _, kv := range u.Changed {
		n.readJob(kv, n.reading.Job)
		if n.older {
			n.jobGone()
		}
	}
}

// roundUpdate handles an update of a round. It may come before or after that of the job which makes it the current one.
func (n *node) roundUpdate(u store.Update, ok bool) {
	if !ok {
		n.link.rounds = nil
		return
	}
	for _, kv := range u.Changed {
		n.readRound(kv)
	}
}

// readJob handles the job's record, unless an earlier one has come back instead of the one that is known.
func (n *node) readJob(kv store.KV, known *rendezvous.Job) {
	n.jobRev, n.older = kv.ModRev, false
	job, err := rendezvous.ParseJob(kv.Key, kv.Value)
	if err != nil {
		n.cannotUse(err)
		return
	}
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

func (n *node) readRound(kv store.KV) {
	round, err := rendezvous.ParseRound(kv.Key, kv.Value)
	if err != nil {
		n.cannotUse(err)
		return
	}
	if !round.Whole() {
		list := n.lists[round.MemberList]
		if j := n.reading.Job; list == nil && j != nil && j.RunUID == round.RunUID && round.Number < j.Round {
			return // it is over, and its list may be gone
		}
		if list == nil {
			n.fetchList(round)
			return
		}
		round = round.With(list)
	}
	n.takeRound(round)
}

// readList reads a list of members. Rounds name it by what is in it, so that it never changes.
func (n *node) readList(kv store.KV) {
	list, err := rendezvous.ParseMemberList(kv.Key, kv.Value)
	if err != nil {
		n.cannotUse(err)
		return
	}
	n.lists[strings.TrimPrefix(kv.Key, lists)] = list
}

// fetchList reads the list that a round names, once: with a thousand nodes it is the longest that there is to read.
// Rounds of the same members that come meanwhile wait for it, too. Where that fails, missing reads everything again.
func (n *node) fetchList(round *rendezvous.Round) {
	if u := n.unlisted; u == nil || u.Store != round.Store || u.Number < round.Number {
		n.unlisted = round
	}
	if n.fetching == round.MemberList {
		return
	}
	st := n.link.store
	n.fetching = round.MemberList
	n.inBackground(func() func(*node) {
		ctx, cancel := context.WithTimeout(n.ctx, writeTime)
		defer cancel()
		res, err := st.Commit(ctx, store.Txn{Token: round.Store, Read: []string{lists + round.MemberList}})
		return func(n *node) {
			if n.fetching == round.MemberList {
				n.fetching = ""
			}
			if err != nil || len(res.Read) == 0 {
				n.log.Debug("the members of a round could not be read", "round", round.Number, "err", err)
				return
			}
			n.readList(res.Read[0])
			if u := n.unlisted; u != nil && u.Store == round.Store && u.MemberList == round.MemberList {
				round, n.unlisted = u, nil
			}
			if list := n.lists[round.MemberList]; list != nil {
				n.takeRound(round.With(list))
			}
		}
	})
}

// takeRound reads a round with its members.
func (n *node) takeRound(round *rendezvous.Round) {
	maps.DeleteFunc(n.lists, func(name string, _ *rendezvous.MemberList) bool { return name != round.MemberList })
	if n.round == nil || round.Store != n.round.Store || round.Number >= n.round.Number {
		n.round = round
		n.newest.Store(round)
	}
	n.matchRound()
}

// cannotUse tells of a record that cannot be read, once: nothing is ever decided on it, and nobody overwrites it.
func (n *node) cannotUse(err error) {
	if text := err.Error(); text != n.unusable {
		n.unusable = text
		n.log.Warn("a record in the store cannot be used", "err", err)
	}
}

// matchRound puts the round's record beside the job's when they belong together.
func (n *node) matchRound() {
	if j, r := n.reading.Job, n.round; j != nil && r != nil && r.Number == j.Round && r.RunUID == j.RunUID {
		n.reading.Round = r
	}
}
