package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Connection is one node's way to a InMemory. It can be cut.
type Connection struct {
	memory *InMemory
	clock  Clock
	ctx    context.Context
	stop   context.CancelFunc
	ending sync.WaitGroup

	// Guarded by the memory's lock.
	cut    bool
	since  time.Duration // when it was cut
	leases map[string]*memoryLease
}

var _ Store = (*Connection)(nil)

// Connect returns a new connection. The clock is Boottime if nil.
func (m *InMemory) Connect(clock Clock) *Connection {
	if clock == nil {
		clock = Boottime
	}
	c := &Connection{memory: m, clock: clock, leases: make(map[string]*memoryLease)}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Cut cuts the connection: nothing passes until Heal, and when their time is over, the leases expire.
func (c *Connection) Cut() {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if c.cut {
		return
	}
	c.cut, c.since = true, c.clock()
	for _, l := range c.leases {
		l.expiry = time.AfterFunc(l.ttl, func() {
			c.memory.mu.Lock()
			defer c.memory.mu.Unlock()
			if c.cut { // not healed while this was waiting
				c.memory.expire(l)
			}
		})
	}
}

// Heal undoes Cut. The watches continue where they were, and lost leases are told of.
func (c *Connection) Heal() {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.cut = false
	for _, l := range c.leases {
		if l.expiry != nil {
			l.expiry.Stop()
		}
		if l.over {
			l.end()
		}
	}
	for w := range c.memory.watches {
		if w.conn == c {
			w.heal()
		}
	}
}

// usable says why not. Call with the lock held.
func (c *Connection) usable(ctx context.Context) error {
	switch {
	case c.ctx.Err() != nil:
		return ErrClosed
	case c.cut:
		return fmt.Errorf("memory: %w: the connection is cut", ErrUnreachable)
	}
	return ctx.Err()
}

// Commit implements Store.
func (c *Connection) Commit(ctx context.Context, txn Txn) (Result, error) {
	if err := txn.Check(); err != nil {
		return Result{}, err
	}
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := c.usable(ctx); err != nil {
		return Result{}, err
	}
	if txn.Token != "" && txn.Token != m.token {
		return Result{}, fmt.Errorf("memory: commit: %w", ErrChanged)
	}
	res := Result{OK: true, Token: m.token}
	for _, cond := range txn.If {
		res.OK = res.OK && m.holds(cond)
	}
	if res.OK {
		for _, op := range txn.Then {
			if op.Lease == nil {
				continue
			}
			if l, ok := op.Lease.(*memoryLease); !ok || l.over {
				return Result{}, fmt.Errorf("put %q: %w", op.Key, ErrLeaseLost)
			}
		}
		m.apply(txn.Then)
	}
	res.Rev = m.rev
	read := txn.Read
	if !res.OK {
		read = slices.Concat(txn.Read, txn.Else)
	}
	for _, selector := range read {
		res.Read = append(res.Read, m.selected(selector)...)
	}
	return res, nil
}

// Before implements Store.
func (c *Connection) Before(ctx context.Context, selector string, createRev int64) (KV, bool, error) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if err := c.usable(ctx); err != nil {
		return KV{}, false, err
	}
	var youngest KV
	for _, kv := range c.memory.selected(selector) {
		if kv.CreateRev < createRev && kv.CreateRev > youngest.CreateRev {
			youngest = kv
		}
	}
	return youngest, youngest.CreateRev > 0, nil
}

// Close implements Store. The leases expire in their time.
func (c *Connection) Close() error {
	c.stop()
	c.ending.Wait()
	c.Cut()
	return nil
}

// Join implements Store. While the connection is not cut, the lease is renewed all the time, without any timer.
func (c *Connection) Join(ctx context.Context, ttl time.Duration) (Lease, error) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	c.memory.leases++
	l := &memoryLease{conn: c, id: fmt.Sprintf("%x", c.memory.leases), ttl: ttl, lost: make(chan struct{})}
	c.leases[l.id] = l
	return l, nil
}

// Revoke implements Store.
func (c *Connection) Revoke(ctx context.Context, id string) error {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := c.usable(ctx); err != nil {
		return err
	}
	for _, k := range m.keys {
		if k.lease != nil && k.lease.id == id {
			l := k.lease
			m.expire(l)
			l.end()
			break
		}
	}
	return nil
}

// Grant implements Store.
func (c *Connection) Grant(ctx context.Context, ttl time.Duration) (Lease, error) {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	m.leases++
	l := &memoryLease{conn: c, id: fmt.Sprintf("%x", m.leases), ttl: ttl, lost: make(chan struct{})}
	time.AfterFunc(ttl, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.expire(l)
	})
	return l, nil
}

type memoryLease struct {
	conn *Connection
	id   string
	ttl  time.Duration
	lost chan struct{}

	// Guarded by the memory's lock.
	over   bool          // its keys are gone
	told   bool          // and its holder knows
	last   time.Duration // the last renewal, once it is over
	expiry *time.Timer
}

func (l *memoryLease) ID() string            { return l.id }
func (l *memoryLease) TTL() time.Duration    { return l.ttl }
func (l *memoryLease) Lost() <-chan struct{} { return l.lost }

func (l *memoryLease) Renewed() time.Duration {
	l.conn.memory.mu.Lock()
	defer l.conn.memory.mu.Unlock()
	return l.renewed()
}

// renewed is when the lease was renewed last: a lease that is over is not renewed, whatever its connection does then. Call
// with the lock held.
func (l *memoryLease) renewed() time.Duration {
	switch {
	case l.over:
		return l.last
	case l.conn.cut:
		return l.conn.since
	}
	return l.conn.clock()
}

func (l *memoryLease) Close(ctx context.Context) error {
	l.conn.memory.mu.Lock()
	defer l.conn.memory.mu.Unlock()
	if err := l.conn.usable(ctx); err != nil {
		return err
	}
	l.conn.memory.expire(l)
	l.end()
	return nil
}

// end tells the holder, if the connection lets it through. Call with the lock held.
func (l *memoryLease) end() {
	if l.conn.cut || l.told {
		return
	}
	l.told = true
	close(l.lost)
	delete(l.conn.leases, l.id)
}
