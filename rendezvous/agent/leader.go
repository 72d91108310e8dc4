package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// startLead stands for election on the current lease, in a goroutine of its own, until the lease is lost.
func (l *link) startLead(n *node) {
	l.endLead()
	ctx, stop := context.WithCancel(n.ctx)
	l.stopLead, l.leadDone = stop, make(chan struct{})
	lease, done, st := l.lease, l.leadDone, l.store
	crash.Go(func() {
		defer close(done)
		for pause := retryFirst; ; pause = min(2*pause, retryMost) {
			err := n.lead(ctx, st, lease)
			if ctx.Err() != nil {
				return
			}
			n.log.Debug("not the leader", "err", err)
			if n.tookWrite(err); errors.Is(err, store.ErrFull) {
				n.poke()
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			case <-lease.Lost():
				return
			}
		}
	})
}

// leader is the leader's half: it holds the whole state and decides.
type leader struct {
	*Agent
	store store.Store
	ctx   context.Context
	held  store.Leadership
	watch store.Watcher

	view      rendezvous.View
	still     bool                   // it was said that all nodes stand still
	slow      rendezvous.Slow        // the nodes for which the others wait
	rows      map[string]store.KV    // as they are in the store
	puts      []rendezvous.Put       // of nodes, since the last look
	bad       map[string]string      // keys that cannot be read, and why
	seen      bool                   // the whole state is there
	job       jobRow                 // the job's record as it was decoded last
	list      *rendezvous.MemberList // as it was decoded last
	listName  string
	refused   refusal
	wrote     *rendezvous.Job // the last record that this leader has written
	looks     bool            // nothing is decided: this only shows what there is
	unwritten string          // what was wrong with the last decision that could not be written
	why       string          // the last reason not to go on
	whySince  time.Time
	saidAt    time.Time
	rest      time.Time // when to decide next at the earliest
	headless  time.Time // since when there are rounds and no job; zero: there are none
	asked     time.Time // when the store was asked how far it is; zero: the view has got there, and that was decided on
	news      bool      // there is something that may change a decision: not only how far the nodes have come
}

// lead returns when the leader is lost or the context ends.
func (a *Agent) lead(ctx context.Context, st store.Store, lease store.Lease) error {
	held, err := store.Campaign(ctx, st, lease, []byte(rendezvous.CandidateName(a.cfg.Name, a.cfg.Node.Incarnation)))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l := &leader{Agent: a, store: st, ctx: ctx, held: held, rows: map[string]store.KV{}, bad: map[string]string{}}
	l.watch = st.Watch(ctx, "")
	defer l.comparesNoMore()
	a.log.Debug("this node leads")
	a.leading.Store(true)
	defer a.leading.Store(false)
	a.undecided.Store(true)
	defer a.undecided.Store(false)
	timer := a.cfg.Timer(0)
	defer timer.Close()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-lease.Lost():
			return store.ErrLeaseLost
		case u, ok := <-l.watch.Updates():
			if !ok {
				return errors.New("the watch has ended")
			}
			if err := errors.Join(l.update(u), l.drain()); err != nil {
				return err
			}
			if !l.news {
				continue
			}
			if left := time.Until(l.rest); left > 0 {
				timer.Reset(left)
				continue
			}
		case <-timer.C:
		}
		l.news = false
		next, err := l.decide()
		if err != nil {
			return err
		}
		timer.Reset(next)
	}
}

// drain reads what else has come: one decision on all of it instead of one for each of a thousand nodes.
func (l *leader) drain() error {
	for {
		select {
		case u, ok := <-l.watch.Updates():
			if !ok {
				return nil // the next look sees it, too
			}
			if err := l.update(u); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// errWrong says that something the view needs was missed. Another one is begun.
var errWrong = errors.New("what is known of the store is wrong")

// refusal is a write whose compare has failed: the job's revision that it expected, and that of the store then.
type refusal struct{ jobRev, rev int64 }

// update folds an update into the view. One that is older than the view shows that it is wrong.
func (l *leader) update(u store.Update) error {
	if !u.Reset && u.Token == l.view.Token && u.Rev <= l.view.Rev && len(u.Changed)+len(u.Deleted) > 0 {
		l.log.Warn("an update of the job came late: rereading everything", "revision", u.Rev, "known", l.view.Rev)
		return fmt.Errorf("%w: revision %d came after %d", errWrong, u.Rev, l.view.Rev)
	}
	// A view that was behind may be decided on now, whatever has brought it up to date.
	l.news = l.news || u.Reset || len(u.Deleted) > 0 || len(u.Changed) == 0 || l.view.Rev < l.view.Read
	if u.Reset {
		clear(l.rows)
		clear(l.bad)
		// What was remembered may have been interrupted unseen.
		l.view = rendezvous.View{NewSince: l.view.NewSince, Token: l.view.Token}
		l.puts, l.seen, l.asked = nil, true, time.Time{}
	}
	if l.cfg.Volatile && u.Token != l.view.Token {
		l.view.NewSince = l.now()
	}
	l.view.Rev, l.view.Token = u.Rev, u.Token
	for _, d := range u.Deleted {
		delete(l.rows, d.Key)
		delete(l.bad, d.Key)
	}
	for _, kv := range u.Changed {
		l.rows[kv.Key] = kv
	}
	l.decode(u)
	if r := l.view.Round; r != nil && r.Store == l.view.Token { // whoever formed it has waited long enough
		l.view.NewSince = time.Time{}
	}
	return nil
}

// lookAgain bounds how long the leader goes without a look at the clock, for the same reason as a node's tick.
const lookAgain = time.Second

// How much longer the leader of so many nodes waits than a look has taken that has shown nothing to decide. A thousand
// nodes say one after the other that they have stopped, and to look at all of them after each takes longer than they do.
const (
	restFrom  = 64 // nodes
	restTimes = 4
	restMost  = 20 * time.Millisecond
)

// decide decides once, if the state is known, and returns when to look again; a change of the state comes sooner.
func (l *leader) decide() (time.Duration, error) {
	if !l.seen {
		return lookAgain, nil
	}
	if r := l.refused; r.rev > 0 && l.view.Rev >= r.rev {
		if l.refused = (refusal{}); l.view.JobRev == r.jobRev {
			l.log.Warn("the job's record has changed since it was read: rereading everything", "revision", r.jobRev)
			return 0, fmt.Errorf("%w: the job's record is not that of revision %d", errWrong, r.jobRev)
		}
	}
	began := time.Now()
	now := l.now()
	l.view.Observations = rendezvous.Observe(l.view.Observations, l.view, l.puts, now)
	l.puts = nil
	if why := l.bad[jobKey]; why != "" { // nothing is decided on what cannot be read, and nothing overwritten
		l.say(rendezvous.WhyNot{For: rendezvous.WaitsForRecord, Text: why})
		return lookAgain, nil
	}
	switch {
	case !l.somebodySilent():
		l.asked = time.Time{}
	case l.view.Rev >= l.view.Read:
		if l.asked.IsZero() {
			if err := l.catchUp(); err != nil {
				return 0, err
			}
			l.asked = now
		}
		if l.view.Rev >= l.view.Read {
			// So far the view is complete, and no further: what other jobs write moves the store on and on.
			now, l.asked = l.asked, time.Time{}
		}
	}
	if j := l.deletedJob(); j != nil {
		d := rendezvous.Decision{Action: actRestore, Job: j, DropRound: -1}
		if j.End != nil {
			d.Keep = keepFor(j, now)
		}
		if l.view.Job != nil {
			if err := l.sure(); err != nil {
				return 0, err
			}
			l.log.Warn("an earlier record of the job reappeared: restoring the newest", "round", j.Round)
		} else {
			l.log.Warn("the job's record was deleted: restoring it", "round", j.Round)
		}
		return lookAgain, l.commit(d)
	}
	if r := l.deletedRound(); r != nil {
		l.log.Warn("the round's record was deleted: restoring it", "round", r.Number)
		return lookAgain, l.commit(rendezvous.Decision{Action: actRestore, Round: r, DropRound: -1})
	}
	d := rendezvous.Decide(l.view, now)
	if d.Action == rendezvous.ActCreate {
		if until := l.beginsAnew(now, time.Duration(d.Job.Spec.Fence)); now.Before(until) {
			return min(lookAgain, until.Sub(now)), nil
		}
	}
	if d.Action != rendezvous.ActWait {
		l.undecided.Store(true)
		return lookAgain, l.commit(d) // the watch tells of it
	}
	if l.view.Rev >= l.view.Read && l.undecided.Swap(false) {
		crash.Go(func() { l.report(func(*node) {}) }) // it may wait for that to go
	}
	l.say(d.Why)
	if len(l.view.Nodes) >= restFrom {
		l.rest = time.Now().Add(min(restTimes*time.Since(began), restMost))
	}
	if d.Next.IsZero() {
		return lookAgain, nil
	}
	return min(lookAgain, max(d.Next.Sub(l.now()), 0)), nil
}

// catchUp asks the store how far it is. Whether somebody is silent may be decided only on a view that is at least as
// new as that.
func (l *leader) catchUp() error {
	ctx, cancel := context.WithTimeout(l.ctx, writeTime)
	defer cancel()
	res, err := l.store.Commit(ctx, store.Txn{Token: l.view.Token, If: []store.Cond{l.held.Held()}})
	switch {
	case err != nil:
		return err
	case !res.OK:
		return errDeposed
	}
	l.view.Read = res.Rev
	if l.view.Rev < res.Rev {
		l.watch.Sync(res.Rev)
	}
	return nil
}

// sure makes sure that the job's record is the one that was read last: it may be the view that is older.
func (l *leader) sure() error {
	ctx, cancel := context.WithTimeout(l.ctx, writeTime)
	defer cancel()
	res, err := l.store.Commit(ctx, store.Txn{
		Token: l.view.Token, If: []store.Cond{l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)},
	})
	if err == nil && !res.OK {
		return fmt.Errorf("%w: the job's record is not that of revision %d", errWrong, l.view.JobRev)
	}
	return err
}

var errDeposed = errors.New("another node leads now")

// leads asks whether this node still leads.
func (l *leader) leads(ctx context.Context) error {
	res, err := l.store.Commit(ctx, store.Txn{If: []store.Cond{l.held.Held()}})
	if err == nil && !res.OK {
		return errDeposed
	}
	return err
}

func (l *leader) somebodySilent() bool {
	return slices.ContainsFunc(l.view.Observations.Member, func(s rendezvous.Observation) bool { return !s.Silent.IsZero() })
}

// sign says in a new end of the job who has written it.
func (l *leader) sign(j *rendezvous.Job) {
	if j.End == nil || j.End.By != (rendezvous.Author{}) {
		return
	}
	end := *j.End
	end.By = l.author()
	j.End = &end
}

func (a *Agent) author() rendezvous.Author {
	return rendezvous.Author{Name: a.cfg.Name, Incarnation: a.cfg.Node.Incarnation}
}

// EndedJob reports whether it was this node that has written the end of the whole job. That is so on at most one node
// of a job, and on none while the job is suspended or continues without this node.
func (a *Agent) EndedJob(e *rendezvous.End) bool { return e != nil && e.By == a.author() }

func roundKey(number int) string { return fmt.Sprintf("%s%d", roundsKey, number) }

// say logs why the job does not go on, once that has lasted for a while, and now and then.
func (l *leader) say(why rendezvous.WhyNot) {
	now := time.Now()
	if why.Text != l.why {
		l.why, l.whySince, l.saidAt = why.Text, now, time.Time{}
	}
	switch {
	case why.For == rendezvous.WaitsForEnd, why.For == rendezvous.WaitsForOthers, why.For == rendezvous.WaitsForLeaving && l.cfg.Spec.MaxNodes == 1:
		return // nobody waits
	}
	if now.Sub(l.whySince) >= sayAfter && now.Sub(l.saidAt) >= sayAgain {
		l.saidAt = now
		l.log.Info("the job waits", "why", why.Text)
	}
}
