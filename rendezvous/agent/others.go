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
func (n *node) askOthers() { n.readOthers(writeTime, n.others.answered) }

// readOthers reads it beside the node's goroutine: nil where the store does not tell. The node itself says what is wrong with
// that.
func (n *node) readOthers(limit time.Duration, answered func(map[string]*rendezvous.Reached)) {
	st := n.link.store
	if st == nil {
		answered(nil)
		return
	}
	crash.Go(func() {
		ctx, cancel := context.WithTimeout(n.ctx, limit)
		defer cancel()
		res, err := st.Commit(ctx, store.Txn{Read: []string{progress}})
		if err != nil {
			answered(nil)
			return
		}
		answered(reachedIn(res.Read))
	})
}

// Busy says which other node of the running round is busy with what takes longer than a step, by what it has told, so that the
// workers here may wait for it; empty where none is, or the store does not tell within limit.
func (a *Agent) Busy(limit time.Duration) string {
	answer := make(chan string, 1)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	crash.Go(func() {
		a.report(func(n *node) {
			j, r := n.reading.Job, n.reading.Round
			n.readOthers(limit, func(reached map[string]*rendezvous.Reached) { answer <- rendezvous.Busy(j, r, reached, n.cfg.Name) })
		})
	})
	select {
	case busy := <-answer:
		return busy
	case <-timer.C:
		return ""
	case <-a.done:
		return ""
	}
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
