package store

import (
	"cmp"
	"crypto/rand"
	"slices"
	"sync"
)

// InMemory is a store within one process. A job of one node needs no other; tests connect several nodes to it and cut
// them off.
type InMemory struct {
	mu      sync.Mutex
	token   string
	rev     int64
	keys    map[string]memoryKey
	watches map[*memoryWatch]struct{}
	leases  int64 // made so far
}

type memoryKey struct {
	value             []byte
	createRev, modRev int64
	lease             *memoryLease
}

// NewInMemory returns an empty store.
func NewInMemory() *InMemory {
	return &InMemory{
		token: rand.Text(), rev: 1, keys: make(map[string]memoryKey), watches: make(map[*memoryWatch]struct{}),
	}
}

// Compact forgets what has happened so far: whoever is cut off now will have to start again with the whole state.
func (m *InMemory) Compact() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.watches {
		if w.conn.cut {
			w.missed = true
		}
	}
}

// Replace puts a new, empty store in the place of this one, as when the machine of a store without a disk dies.
func (m *InMemory) Replace() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.token, m.rev, m.keys = rand.Text(), 1, make(map[string]memoryKey)
	for w := range m.watches {
		w.reset()
		for _, l := range w.conn.leases {
			l.end()
		}
	}
}

// holds says whether a condition does. Call with the lock held.
func (m *InMemory) holds(c Cond) bool {
	k := m.keys[c.Key] // of a missing key both revisions are 0
	if c.Create {
		return k.createRev == c.Rev
	}
	return k.modRev == c.Rev
}

// selected returns the keys that a selector stands for, sorted. Call with the lock held.
func (m *InMemory) selected(selector string) []KV {
	if !IsPrefix(selector) {
		if k, ok := m.keys[selector]; ok {
			return []KV{k.kv(selector)}
		}
		return nil
	}
	var kvs []KV
	for name, k := range m.keys {
		if Selects(selector, name) {
			kvs = append(kvs, k.kv(name))
		}
	}
	slices.SortFunc(kvs, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
	return kvs
}

func (k memoryKey) kv(name string) KV {
	kv := KV{Key: name, Value: slices.Clone(k.value), CreateRev: k.createRev, ModRev: k.modRev}
	if k.lease != nil {
		kv.Leased, kv.Lease = true, k.lease.id
	}
	return kv
}

// apply does the changes, at one new revision, and tells the watches. Call with the lock held.
func (m *InMemory) apply(ops []Op) {
	change := Update{Rev: m.rev + 1, Token: m.token}
	for _, op := range ops {
		if op.Delete {
			for _, kv := range m.selected(op.Key) {
				delete(m.keys, kv.Key)
				change.Deleted = append(change.Deleted, Deletion{Key: kv.Key, Rev: change.Rev})
			}
			continue
		}
		k := memoryKey{value: slices.Clone(op.Value), createRev: m.keys[op.Key].createRev, modRev: change.Rev}
		if k.createRev == 0 {
			k.createRev = change.Rev
		}
		k.lease, _ = op.Lease.(*memoryLease)
		m.keys[op.Key] = k
		change.Changed = append(change.Changed, k.kv(op.Key))
	}
	if len(change.Changed)+len(change.Deleted) == 0 {
		return // as in etcd, deleting nothing makes no revision
	}
	m.rev = change.Rev
	for w := range m.watches {
		w.tell(change)
	}
}

// expire ends a lease and its keys. Call with the lock held.
func (m *InMemory) expire(l *memoryLease) {
	if l.over {
		return
	}
	l.last, l.over = l.renewed(), true
	var ops []Op
	for name, k := range m.keys {
		if k.lease == l {
			ops = append(ops, Delete(name))
		}
	}
	m.apply(ops)
}
