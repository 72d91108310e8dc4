package store

import (
	"context"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/rendezvous/store/internal/mailbox"
)

// memoryWatch is one watch.
type memoryWatch struct {
	conn     *Connection
	selector string
	box      *mailbox.Mailbox[Update]

	// Guarded by the memory's lock.
	held   []Update // waits for the connection to be healed
	missed bool     // has missed changes that cannot be had any more
}

// Watch implements Store.
func (c *Connection) Watch(ctx context.Context, selector string) Watcher {
	w := &memoryWatch{conn: c, selector: selector, box: mailbox.New(Update.With)}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if c.ctx.Err() == nil {
		c.memory.watches[w] = struct{}{}
		w.reset()
	}
	c.ending.Go(crash.Guard(func() {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(c.ctx, stop)()
		w.box.Run(ctx)
		c.memory.mu.Lock()
		defer c.memory.mu.Unlock()
		delete(c.memory.watches, w)
	}))
	return w
}

func (w *memoryWatch) Updates() <-chan Update { return w.box.Out() }

func (w *memoryWatch) Sync(rev int64) {
	m := w.conn.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if rev <= m.rev { // a later one will be told of when it happens
		w.send(Update{Rev: m.rev, Token: m.token})
	}
}

// tell sends what concerns this watch. Call with the lock held.
func (w *memoryWatch) tell(change Update) {
	mine := Update{Rev: change.Rev, Token: change.Token}
	for _, kv := range change.Changed {
		if Selects(w.selector, kv.Key) {
			mine.Changed = append(mine.Changed, kv)
		}
	}
	for _, d := range change.Deleted {
		if Selects(w.selector, d.Key) {
			mine.Deleted = append(mine.Deleted, d)
		}
	}
	if len(mine.Changed)+len(mine.Deleted) > 0 {
		w.send(mine)
	}
}

// reset starts again with the whole state. Call with the lock held.
func (w *memoryWatch) reset() {
	m := w.conn.memory
	w.missed, w.held = false, nil
	w.send(Update{Reset: true, Changed: m.selected(w.selector), Rev: m.rev, Token: m.token})
}

// send hands an update to the reader, unless the connection is cut. Call with the lock held.
func (w *memoryWatch) send(u Update) {
	switch {
	case w.conn.cut:
		w.held = append(w.held, u)
	case u.Reset:
		w.box.Replace(u)
	default:
		w.box.Put(u)
	}
}

// heal sends what was held back. Call with the lock held, and the connection no longer cut.
func (w *memoryWatch) heal() {
	if w.missed {
		w.reset()
		return
	}
	held := w.held
	w.held = nil
	for _, u := range held {
		w.send(u)
	}
}
