package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// commit writes a decision in one transaction. What nobody could read is not written: it is decided again a moment later,
// on what the nodes say then.
func (l *leader) commit(d rendezvous.Decision) error {
	if err := d.Check(); err != nil {
		l.sayUnwritten("a decision is not written, for nobody could read it; the job waits as it is. This is a defect of gangrun: "+
			"please report it", d.Action, err)
		return nil
	}
	txn := store.Txn{Token: l.view.Token, If: []store.Cond{l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)}}
	header, err := l.round(&txn, d.Round)
	if err != nil {
		return err
	}
	if d.Job != nil {
		l.sign(d.Job)
		value, err := rendezvous.EncodeBeginning(d.Job, header)
		if err != nil {
			return err
		}
		if err := l.lasting(&txn, d, value); err != nil {
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
		txn.Then = append(txn.Then, store.Delete(jobKey), store.Delete(roundsKey), store.Delete(lists), store.Delete(controls),
			store.Delete(hostsKey))
	}
	if err := txn.Check(); err != nil {
		l.sayUnwritten("what the job has to write is more than a store takes; it waits as it is. Fewer nodes, or shorter names "+
			"of them, are needed", d.Action, err)
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, writeTime)
	defer cancel()
	if d.Job != nil {
		l.wrote = d.Job
	}
	res, err := l.store.Commit(ctx, txn)
	if err != nil {
		if errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrChanged) {
			l.ending = nil
		}
		return fmt.Errorf("%s: %w", d.Action, err)
	}
	if res.OK {
		l.tookWrite(nil)
	}
	l.view.Read = res.Rev // nothing is decided before the watch has brought what was written
	l.watch.Sync(res.Rev)
	if !res.OK {
		l.refused = refusal{jobRev: l.view.JobRev, rev: res.Rev}
		return l.leads(ctx)
	}
	if d.Job != nil {
		l.sayBans(l.view.Job, d.Job)
	}
	l.log.Debug("decided", "action", d.Action, "revision", res.Rev)
	if k := l.keeper.Load(); k != nil && d.Job != nil {
		k.keep(d.Job)
	}
	l.remove(d.Remove)
	return nil
}

// sayUnwritten says once why a decision is not written.
func (l *leader) sayUnwritten(what string, action rendezvous.Action, err error) {
	if says := err.Error(); says != l.unwritten {
		l.unwritten = says
		l.log.Error(what, "action", action, "err", err)
	}
}

// round adds a round's record to a transaction, if there is one, and its list of members unless that is there; older lists
// go. It returns the record as it is stored.
func (l *leader) round(txn *store.Txn, r *rendezvous.Round) (header *rendezvous.Round, err error) {
	if r == nil {
		return nil, nil
	}
	header, list, err := r.Split()
	if err != nil {
		return nil, err
	}
	value, err := rendezvous.Encode(header)
	if err != nil {
		return nil, err
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
		return header, nil
	}
	if value, err = rendezvous.Encode(list); err != nil {
		return nil, err
	}
	txn.Then = append(txn.Then, store.Put(named, value))
	return header, nil
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
		if err := l.hosts(txn, d, nil, l.rows[jobKey].Leased); err != nil || !l.rows[jobKey].Leased {
			return err
		}
		txn.Lasts = true
		for key, kv := range l.rows {
			if keeps(key, l.view.Round) && kv.Leased && d.Round == nil {
				txn.Then = append(txn.Then, store.Put(key, kv.Value))
			}
		}
		return nil
	}
	if l.ending == nil || l.ending.TTL() < d.Keep || l.clock()-l.ending.Renewed() > l.ending.TTL()/10 {
		lease, err := l.store.Grant(l.ctx, d.Keep)
		if err != nil {
			return err
		}
		l.ending = lease
	}
	round := l.view.Round
	if r := l.newest.Load(); round == nil && r != nil && r.Store == l.view.Token && r.RunUID == d.Job.RunUID &&
		r.Number == d.Job.Round {
		round = r // the job's record is put back
	}
	txn.Ends = l.ending
	txn.Then = append(txn.Then, store.PutLeased(jobKey, value, l.ending))
	for key, kv := range l.rows {
		switch {
		case !ofRounds(key):
		case keeps(key, round):
			txn.Then = append(txn.Then, store.PutLeased(key, kv.Value, l.ending))
		default:
			txn.Then = append(txn.Then, store.Delete(key))
		}
	}
	return l.hosts(txn, d, l.ending, true)
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
