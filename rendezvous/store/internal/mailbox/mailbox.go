// Package mailbox lets a sender never wait for its receiver.
package mailbox

import (
	"context"
	"sync"
)

// Mailbox is a queue without a bound, which ends in a channel.
type Mailbox[T any] struct {
	out  chan T
	wake chan struct{}

	mu    sync.Mutex
	items []T
}

// New returns an empty mailbox. Nothing comes out of it before Run.
func New[T any]() *Mailbox[T] {
	return &Mailbox[T]{out: make(chan T), wake: make(chan struct{}, 1)}
}

// Out is where the items come out. It is closed when Run ends.
func (m *Mailbox[T]) Out() <-chan T { return m.out }

// Put adds items.
func (m *Mailbox[T]) Put(items ...T) {
	m.mu.Lock()
	m.items = append(m.items, items...)
	m.mu.Unlock()
	m.poke()
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
