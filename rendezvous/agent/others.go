package agent

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// askOthersEvery is how often the store is asked at most how far the nodes have come.
const askOthersEvery = 2 * time.Second

// others is how far the nodes of the job have come, as the store had it when somebody asked.
type others struct {
	mu      sync.Mutex
	busy    bool
	at      time.Time // of the question
	reached map[string]*rendezvous.Reached
}

// Reached is how far the nodes of the job have come, this one among them, by name. The store is read only while somebody
// asks, and nothing is waited for: the answer is the one to the question before. It is nil where there is none, and not
// to be changed.
func (a *Agent) Reached() map[string]*rendezvous.Reached {
	o := &a.others
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := a.now(); !o.busy && now.Sub(o.at) >= askOthersEvery {
		o.busy, o.at = true, now
		crash.Go(func() { a.report((*node).askOthers) })
	}
	return o.reached
}

func (o *others) answered(reached map[string]*rendezvous.Reached) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy, o.reached = false, reached
}

// askOthers reads what the nodes have written.
func (n *node) askOthers() {
	st := n.link.store
	if st == nil {
		n.others.answered(nil)
		return
	}
	crash.Go(func() {
		ctx, cancel := context.WithTimeout(n.ctx, writeTime)
		defer cancel()
		res, err := st.Commit(ctx, store.Txn{Read: []string{progress}})
		if err != nil { // the node itself says what is wrong with the store
			n.others.answered(nil)
			return
		}
		n.others.answered(reachedIn(res.Read))
	})
}

// reachedIn is what the keys say. One that cannot be read tells nothing.
func reachedIn(rows []store.KV) map[string]*rendezvous.Reached {
	reached := map[string]*rendezvous.Reached{}
	for _, kv := range rows {
		name, err := store.Unescape(strings.TrimPrefix(kv.Key, progress))
		if err != nil {
			continue
		}
		if p, err := rendezvous.ParseReached(kv.Key, kv.Value); err == nil {
			reached[name] = p
		}
	}
	return reached
}
