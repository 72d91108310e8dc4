package agent

import (
	"context"
	"maps"
	"strings"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

func (n *node) readRound(kv store.KV) {
	round, err := rendezvous.ParseRound(kv.Key, kv.Value)
	if err != nil {
		n.cannotUse(err)
		return
	}
	n.heardOf(round)
}

// heardOf takes a round as it is stored: its list of members may have to be read first.
func (n *node) heardOf(round *rendezvous.Round) {
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

// matchRound puts the round's record beside the job's when they belong together.
func (n *node) matchRound() {
	if j, r := n.reading.Job, n.round; j != nil && r != nil && r.Number == j.Round && r.RunUID == j.RunUID {
		n.reading.Round = r
	}
}
