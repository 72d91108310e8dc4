package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
			n.log.Debug("not the lead", "err", err)
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

	view     rendezvous.View
	rows     map[string]store.KV    // as they are in the store
	puts     []rendezvous.Put       // of nodes, since the last look
	bad      map[string]string      // keys that cannot be read, and why
	seen     bool                   // the whole state is there
	job      jobRow                 // the job's record as it was decoded last
	list     *rendezvous.MemberList // as it was decoded last
	listName string
	refused  refusal
	ending   store.Lease     // of a job that has ended; it is made once, however often that has to be written
	wrote    *rendezvous.Job // the last record that this leader has written
	looks    bool            // nothing is decided: this only shows what there is
	why      string          // the last reason not to go on
	whySince time.Time
	saidAt   time.Time
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
	a.log.Debug("this node leads")
	timer := time.NewTimer(0)
	defer timer.Stop()
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
		case <-timer.C:
		}
		next, err := l.decide()
		if err != nil {
			return err
		}
		timer.Reset(next)
	}
}

// drain takes in what else has come: one decision on all of it instead of one for each of a thousand nodes.
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

// update folds news into the view. News that are older than the view show that it is wrong.
func (l *leader) update(u store.Update) error {
	if !u.Reset && u.Token == l.view.Token && u.Rev <= l.view.Rev && len(u.Changed)+len(u.Deleted) > 0 {
		l.log.Warn("news of the job have come late: reading everything anew", "revision", u.Rev, "known", l.view.Rev)
		return fmt.Errorf("%w: revision %d came after %d", errWrong, u.Rev, l.view.Rev)
	}
	if u.Reset {
		clear(l.rows)
		clear(l.bad)
		// What was remembered may have been interrupted unseen.
		l.view = rendezvous.View{NewSince: l.view.NewSince, Token: l.view.Token}
		l.puts, l.seen = nil, true
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

// decide decides once, if the state is known, and returns when to look again; a change of the state comes sooner.
func (l *leader) decide() (time.Duration, error) {
	if !l.seen {
		return lookAgain, nil
	}
	if r := l.refused; r.rev > 0 && l.view.Rev >= r.rev {
		if l.refused = (refusal{}); l.view.JobRev == r.jobRev {
			l.log.Warn("the job's record is not what was read last: reading everything anew", "revision", r.jobRev)
			return 0, fmt.Errorf("%w: the job's record is not that of revision %d", errWrong, r.jobRev)
		}
	}
	now := l.now()
	l.view.Observations = rendezvous.Observe(l.view.Observations, l.view, l.puts, now)
	l.puts = nil
	if why := l.bad[jobKey]; why != "" { // nothing is decided on what cannot be read, and nothing overwritten
		l.say(rendezvous.WhyNot{For: rendezvous.WaitsForRecord, Text: why})
		return lookAgain, nil
	}
	if l.somebodySilent() && l.view.Rev >= l.view.Read {
		if err := l.catchUp(); err != nil {
			return 0, err
		}
	}
	if r := l.deletedRound(); r != nil {
		l.log.Warn("somebody has deleted the round's record: putting it back", "round", r.Number)
		return lookAgain, l.commit(rendezvous.Decision{Action: actRestore, Round: r, DropRound: -1})
	}
	d := rendezvous.Decide(l.view, now)
	if d.Action != rendezvous.ActWait {
		return lookAgain, l.commit(d) // the watch tells of it
	}
	l.say(d.Why)
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

// commit writes a decision in one transaction.
func (l *leader) commit(d rendezvous.Decision) error {
	txn := store.Txn{Token: l.view.Token, If: []store.Cond{l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)}}
	if d.Job != nil {
		l.sign(d.Job)
		value, err := rendezvous.Encode(d.Job)
		if err != nil {
			return err
		}
		if err := l.lasting(&txn, d, value); err != nil {
			return err
		}
	}
	if d.Round != nil {
		if err := l.round(&txn, d.Round); err != nil {
			return err
		}
	}
	if d.Keep == 0 && d.DropRound >= 0 && (d.Round == nil || d.DropRound != d.Round.Number) {
		txn.Then = append(txn.Then, store.Delete(roundKey(d.DropRound)))
	}
	for _, id := range d.Controls {
		txn.Then = append(txn.Then, store.Delete(controls+store.Escape(id)))
	}
	if d.Forget {
		txn.Then = append(txn.Then, store.Delete(jobKey), store.Delete(roundsKey), store.Delete(lists), store.Delete(controls))
	}
	ctx, cancel := context.WithTimeout(l.ctx, writeTime)
	defer cancel()
	if d.Job != nil {
		l.wrote = d.Job
	}
	res, err := l.store.Commit(ctx, txn)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Action, err)
	}
	l.view.Read = res.Rev // nothing is decided before the watch has brought what was written
	l.watch.Sync(res.Rev)
	if !res.OK {
		l.refused = refusal{jobRev: l.view.JobRev, rev: res.Rev}
		return l.leads(ctx)
	}
	l.log.Debug("decided", "action", d.Action, "revision", res.Rev)
	if k := l.keeper.Load(); k != nil && d.Job != nil {
		k.keep(d.Job)
	}
	l.remove(d.Remove)
	return nil
}

// round adds a round's record to a transaction, and its list of members unless that is there; older lists go.
func (l *leader) round(txn *store.Txn, r *rendezvous.Round) error {
	header, list, err := r.Split()
	if err != nil {
		return err
	}
	value, err := rendezvous.Encode(header)
	if err != nil {
		return err
	}
	txn.Then = append(txn.Then, store.Put(roundKey(r.Number), value))
	named, there := lists+header.MemberList, false
	for key := range l.rows {
		switch {
		case !strings.HasPrefix(key, lists):
		case list != nil && key == named:
			there = true
		default:
			txn.Then = append(txn.Then, store.Delete(key))
		}
	}
	if list == nil || there {
		return nil
	}
	if value, err = rendezvous.Encode(list); err != nil {
		return err
	}
	txn.Then = append(txn.Then, store.Put(named, value))
	return nil
}

// keeps reports whether a key belongs to the round.
func keeps(key string, r *rendezvous.Round) bool {
	return r != nil && (key == roundKey(r.Number) || r.MemberList != "" && key == lists+r.MemberList)
}

func ofRounds(key string) bool {
	return strings.HasPrefix(key, roundsKey) || strings.HasPrefix(key, lists)
}

// lasting adds the job's record to a transaction, and what goes with it when the job has ended: the last round's record,
// and whatever the store itself keeps, leave together with the job's own. A job that begins again takes them back.
func (l *leader) lasting(txn *store.Txn, d rendezvous.Decision, value []byte) error {
	if d.Keep == 0 {
		txn.Then = append(txn.Then, store.Put(jobKey, value))
		if !l.rows[jobKey].Leased {
			return nil
		}
		txn.Lasts = true
		for key, kv := range l.rows {
			if keeps(key, l.view.Round) && kv.Leased && d.Round == nil {
				txn.Then = append(txn.Then, store.Put(key, kv.Value))
			}
		}
		return nil
	}
	if l.ending == nil || l.ending.TTL() < d.Keep {
		var err error
		if l.ending, err = l.store.Grant(l.ctx, d.Keep); err != nil {
			return err
		}
	}
	txn.Ends = l.ending
	txn.Then = append(txn.Then, store.PutLeased(jobKey, value, l.ending))
	for key, kv := range l.rows {
		switch {
		case !ofRounds(key):
		case keeps(key, l.view.Round):
			txn.Then = append(txn.Then, store.PutLeased(key, kv.Value, l.ending))
		default:
			txn.Then = append(txn.Then, store.Delete(key))
		}
	}
	return nil
}

// removeAtOnce is how many keys one transaction removes: each takes a condition and an operation.
const removeAtOnce = store.MaxOps

// remove takes keys away that have served their purpose, beside the leader's loop. One that has changed meanwhile keeps
// those that go with it, until the next round.
func (l *leader) remove(list []rendezvous.Removal) {
	if len(list) == 0 {
		return
	}
	st, token := l.store, l.view.Token
	crash.Go(func() {
		for some := range slices.Chunk(list, removeAtOnce) {
			txn := store.Txn{Token: token}
			for _, r := range some {
				key := nodesKey + store.Escape(r.Name)
				txn.If, txn.Then = append(txn.If, store.Unchanged(key, r.ModRev)), append(txn.Then, store.Delete(key))
			}
			ctx, cancel := context.WithTimeout(context.Background(), writeTime)
			if _, err := st.Commit(ctx, txn); err != nil {
				l.log.Debug("keys of nodes that have left were not removed", "err", err)
			}
			cancel()
		}
	})
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
// of a job, and on none while the job is suspended or goes on without this node.
func (a *Agent) EndedJob(e *rendezvous.End) bool { return e != nil && e.By == a.author() }

func roundKey(number int) string { return fmt.Sprintf("%s%d", roundsKey, number) }

// decode brings the view up to date with the rows.
func (l *leader) decode(u store.Update) {
	if l.view.Nodes == nil {
		l.view.Nodes = map[string]rendezvous.NodeEntry{}
	}
	for _, d := range u.Deleted {
		if name, found := strings.CutPrefix(d.Key, nodesKey); found {
			if name, err := store.Unescape(name); err == nil {
				delete(l.view.Nodes, name)
			}
		}
	}
	other := false
	for _, kv := range u.Changed {
		switch name, found := strings.CutPrefix(kv.Key, nodesKey); {
		case found:
			l.decodeNode(name, kv)
		case !strings.HasPrefix(kv.Key, store.Candidates):
			other = true
		}
	}
	l.decodeCandidates(u)
	if other || len(u.Deleted) > 0 || u.Reset {
		l.decodeJob()
	}
}

// decodeCandidates notes who stands for election.
func (l *leader) decodeCandidates(u store.Update) {
	changed := u.Reset
	for _, kv := range u.Changed {
		changed = changed || strings.HasPrefix(kv.Key, store.Candidates)
	}
	for _, d := range u.Deleted {
		changed = changed || strings.HasPrefix(d.Key, store.Candidates)
	}
	if !changed {
		return
	}
	l.view.Candidates = map[string]bool{}
	for key, kv := range l.rows {
		if strings.HasPrefix(key, store.Candidates) && kv.Leased {
			l.view.Candidates[string(kv.Value)] = true
		}
	}
}

func (l *leader) decodeNode(escaped string, kv store.KV) {
	name, err := store.Unescape(escaped)
	if err == nil {
		var n *rendezvous.Node
		if n, err = rendezvous.ParseNode(kv.Key, kv.Value); err == nil {
			delete(l.bad, kv.Key)
			l.sayOverlap(name, n)
			l.view.Nodes[name] = rendezvous.NodeEntry{
				Node: n, CreateRev: kv.CreateRev, ModRev: kv.ModRev, Leased: kv.Leased,
			}
			l.puts = append(l.puts, rendezvous.Put{Name: name, Incarnation: n.Incarnation, ModRev: kv.ModRev})
			return
		}
	}
	delete(l.view.Nodes, name)
	if l.bad[kv.Key] == "" {
		l.log.Warn("a node's record cannot be used", "err", err)
	}
	l.bad[kv.Key] = err.Error()
}

// sayOverlap says that a node has come back with the workers of a round after which another one has begun.
func (l *leader) sayOverlap(name string, n *rendezvous.Node) {
	j, before := l.view.Job, l.view.Nodes[name].Node
	if j == nil || l.looks || n.Store != l.view.Token || n.RunUID != j.RunUID || n.State != rendezvous.NodeRunning ||
		n.Round < 0 || n.Round >= j.Round || before != nil && before.Incarnation == n.Incarnation && before.Round >= n.Round {
		return
	}
	l.log.Error("a node that had counted as gone is back, and its workers have run beside another round", "from", name,
		"its_round", n.Round, "round", j.Round)
}

// decodeJob reads the job, its round and the commands anew: there are few.
func (l *leader) decodeJob() {
	l.view.Job, l.view.JobRev, l.view.Round, l.view.Controls = nil, 0, nil, nil
	delete(l.bad, jobKey)
	if kv, found := l.rows[jobKey]; found {
		l.view.JobRev = kv.ModRev
		job, err := l.readJob(kv)
		if err != nil {
			l.bad[jobKey] = err.Error()
			return
		}
		l.view.Job = job
		if kv, found := l.rows[roundKey(job.Round)]; found {
			round, err := rendezvous.ParseRound(kv.Key, kv.Value)
			if err != nil {
				l.bad[jobKey] = err.Error()
				return
			}
			if round, err = l.whole(round); err != nil {
				l.bad[jobKey] = err.Error()
				return
			}
			l.view.Round = round
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.rows)) {
		if !strings.HasPrefix(key, controls) {
			continue
		}
		kv := l.rows[key]
		c, err := rendezvous.ParseControl(kv.Key, kv.Value)
		if err != nil {
			if l.bad[key] == "" {
				l.log.Warn("a command cannot be used", "err", err)
			}
			l.bad[key] = err.Error()
			continue
		}
		l.view.Controls = append(l.view.Controls, rendezvous.ControlEntry{Control: *c, CreateRev: kv.CreateRev})
	}
	slices.SortFunc(l.view.Controls, func(a, b rendezvous.ControlEntry) int { return int(a.CreateRev - b.CreateRev) })
}

// jobRow is a job's record, decoded, and the key's revision and store.
type jobRow struct {
	token string
	rev   int64
	job   *rendezvous.Job
}

// readJob decodes the job's record, once, with its times by this machine's clock. This leader's own record has them so
// already; of another one's the node's half knows when it came.
func (l *leader) readJob(kv store.KV) (*rendezvous.Job, error) {
	if l.job.job != nil && l.job.rev == kv.ModRev && l.job.token == l.view.Token {
		return l.job.job, nil
	}
	job, err := rendezvous.ParseJob(kv.Key, kv.Value)
	if err != nil {
		return nil, err
	}
	switch heard := l.heard.Load(); {
	case l.looks, job.At.IsZero(), job.Same(l.wrote):
	case heard != nil && job.Same(heard):
		job = job.Moved(heard.At.Sub(job.At))
	default:
		job = job.Moved(l.now().UTC().Sub(job.At))
	}
	l.job = jobRow{token: l.view.Token, rev: kv.ModRev, job: job}
	return job, nil
}

// whole is a round with its members, nil where their list is not there. A list is decoded once.
func (l *leader) whole(r *rendezvous.Round) (*rendezvous.Round, error) {
	if r.Whole() {
		return r, nil
	}
	kv, found := l.rows[lists+r.MemberList]
	if !found {
		return nil, nil
	}
	if l.list == nil || l.listName != r.MemberList {
		list, err := rendezvous.ParseMemberList(kv.Key, kv.Value)
		if err != nil {
			return nil, err
		}
		l.list, l.listName = list, r.MemberList
	}
	return r.With(l.list), nil
}

// say logs why the job does not go on, once that has lasted for a while, and now and then.
func (l *leader) say(why rendezvous.WhyNot) {
	now := time.Now()
	if why.Text != l.why {
		l.why, l.whySince, l.saidAt = why.Text, now, time.Time{}
	}
	if why.For == rendezvous.WaitsForEnd || why.For == rendezvous.WaitsForOthers {
		return // nobody waits
	}
	if now.Sub(l.whySince) >= sayAfter && now.Sub(l.saidAt) >= sayAgain {
		l.saidAt = now
		l.log.Info("the job waits", "why", why.Text)
	}
}
