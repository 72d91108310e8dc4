package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// mostByHand is how many nodes somebody may have numbered by hand. In a large job each node would read what all
// have written.
const mostByHand = 64

// sayWaits says why the node has no order, when that is due. Where the leader is here, it knows better. A node whose rank
// another one has is told so: the leader's log is on another machine.
func (n *node) sayWaits(why string) {
	pin, st := n.cfg.Node.Pin, n.link.store
	switch {
	case why == rendezvous.WhyUnformed && n.leading.Load():
	case pin == nil || st == nil || n.record.State != rendezvous.NodeWaiting || n.cfg.Spec.MaxNodes > mostByHand:
		n.say(why)
	case n.due(why):
		own, log := n.cfg.Name, n.log
		crash.Go(func() {
			ctx, cancel := context.WithTimeout(n.ctx, writeTime)
			defer cancel()
			if res, err := st.Commit(ctx, store.Txn{Read: []string{nodesKey}}); err == nil {
				if name := rivalIn(res.Read, own, *pin); name != "" {
					why = fmt.Sprintf("rank %d is held by %s; if that is gone, its lease ends by itself, else give each node a rank of its own", *pin, name)
				}
			}
			if n.ctx.Err() == nil {
				log.Info("waiting", "why", why)
			}
		})
	}
}

// rivalIn names the node that has come before this one with its rank, "" where none has.
func rivalIn(rows []store.KV, own string, pin int) (rival string) {
	var mine int64
	for _, kv := range rows {
		if kv.Key == nodesKey+store.Escape(own) {
			mine = kv.CreateRev
		}
	}
	for _, kv := range rows {
		if !kv.Leased || kv.CreateRev >= mine {
			continue
		}
		name, err := store.Unescape(strings.TrimPrefix(kv.Key, nodesKey))
		if err != nil {
			continue
		}
		if other, err := rendezvous.ParseNode(kv.Key, kv.Value); err == nil && other.Pin != nil && *other.Pin == pin && other.State != rendezvous.NodeLeft {
			rival = name
		}
	}
	return rival
}
