package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

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
		if strings.HasPrefix(d.Key, hostsKey) {
			l.hostGone(d.Key)
		}
		if name, found := strings.CutPrefix(d.Key, progress); found {
			if name, err := store.Unescape(name); err == nil {
				delete(l.view.Reached, name)
			}
		}
	}
	for _, kv := range u.Passed {
		if name, found := strings.CutPrefix(kv.Key, nodesKey); found {
			l.passed(name, kv)
		}
	}
	other, reached := false, false
	for _, kv := range u.Changed {
		if name, found := strings.CutPrefix(kv.Key, progress); found {
			l.decodeProgress(name, kv)
			reached = true
			continue
		}
		l.news = true
		switch name, found := strings.CutPrefix(kv.Key, nodesKey); {
		case found:
			l.decodeNode(name, kv)
		case strings.HasPrefix(kv.Key, hostsKey):
			l.decodeHost(kv)
		case !strings.HasPrefix(kv.Key, store.Candidates):
			other = true
		}
	}
	l.decodeCandidates(u)
	if other || len(u.Deleted) > 0 || u.Reset {
		l.decodeJob()
	}
	if reached {
		l.warnOfStandstill()
		l.compareNodes()
	}
}

// warnOfStandstill says once which nodes are behind when all stand still: each of them knows only its own ranks.
func (l *leader) warnOfStandstill() {
	why := rendezvous.StandsStill(l.view)
	if why != "" && !l.still {
		l.log.Warn("the job may be hanging: half of the limit has passed on all nodes", "nodes", why)
	}
	l.still = why != ""
}

// decodeProgress notes how far a node has come. One that cannot be read tells nothing.
func (l *leader) decodeProgress(escaped string, kv store.KV) {
	name, err := store.Unescape(escaped)
	if err != nil {
		return
	}
	p, err := rendezvous.ParseReached(kv.Key, kv.Value)
	if err != nil {
		delete(l.view.Reached, name)
		return
	}
	if l.view.Reached == nil {
		l.view.Reached = map[string]*rendezvous.Reached{}
	}
	l.view.Reached[name] = p
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

// passed notes that a node's key was there that is there no more.
func (l *leader) passed(escaped string, kv store.KV) {
	name, err := store.Unescape(escaped)
	if err != nil {
		return
	}
	if n, err := rendezvous.ParseNode(kv.Key, kv.Value); err == nil {
		l.puts = append(l.puts, rendezvous.Put{Name: name, Incarnation: n.Incarnation, ModRev: kv.ModRev})
	}
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

// decodeJob reads the job, its round and the commands again: there are few.
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
		if kv, found := l.rows[roundKey(job.Round)]; found && job.Round >= 0 {
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
