// Package mailbox lets a sender never wait for its receiver.
package mailbox

import (
	"context"
	"sync"
)

// most is how many items wait at most, as far as they can be made fewer.
const most = 256

// Mailbox is a queue which ends in a channel. When more wait in it than a reader needs who has fallen behind, the
// newest two are made one.
type Mailbox[T any] struct {
	out   chan T
	wake  chan struct{}
	merge func(earlier, later T) (both T, ok bool)

	mu    sync.Mutex
	items []T
}

// New returns an empty mailbox, of items that can be merged, as a rule. Nothing comes out of it before Run.
func New[T any](merge func(earlier, later T) (both T, ok bool)) *Mailbox[T] {
	return &Mailbox[T]{out: make(chan T), wake: make(chan struct{}, 1), merge: merge}
}

// Out is where the items come out. It is closed when Run ends.
func (m *Mailbox[T]) Out() <-chan T { return m.out }

// Put adds an item.
func (m *Mailbox[T]) Put(item T) {
	m.mu.Lock()
	m.add(item)
	m.mu.Unlock()
	m.poke()
}

func (m *Mailbox[T]) add(item T) {
	if n := len(m.items); n >= most {
		if both, ok := m.merge(m.items[n-1], item); ok {
			m.items[n-1] = both
			return
		}
	}
	m.items = append(m.items, item)
}

// Replace adds an item and drops those that still wait.
func (m *Mailbox[T]) Replace(item T) {
	m.mu.Lock()
	m.items = []T{item}
	m.mu.Unlock()
	m.poke()
}

func (m *Mailbox[T]) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Run hands the items out until the context ends. What waits then is dropped.
func (m *Mailbox[T]) Run(ctx context.Context) {
	defer close(m.out)
	for {
		item, ok := m.take()
		if !ok {
			select {
			case <-m.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case m.out <- item:
		case <-ctx.Done():
			return
		}
	}
}

func (m *Mailbox[T]) take() (item T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.items) == 0 {
		m.items = nil
		return item, false
	}
	item = m.items[0]
	m.items = m.items[1:]
	return item, true
}
