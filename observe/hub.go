// Package observe is what others see of a run: one account of what happens on this node, kept from the steps of its
// node, and given to everything that shows it.
package observe

import (
	"sync"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/record"
	"github.com/gangrun/gangrun/supervisor/node"
)

// Receiver is given events as they come, in order. It must not wait, nor change them.
type Receiver func([]event.Event)

// Hub makes events of the node's steps, adds them up, and hands them on.
type Hub struct {
	receivers []Receiver

	mu       sync.Mutex
	recorder *record.Recorder
	tally    account.Tally
}

// New is the hub of a run that starts; its first event goes out at once.
func New(cfg record.Config, receivers ...Receiver) *Hub {
	h := &Hub{receivers: receivers}
	recorder, first := record.New(cfg)
	h.recorder = recorder
	h.hand(first)
	return h
}

// Observe takes a step of the node: it is supervisor.Config.Observe.
func (h *Hub) Observe(at time.Time, ev node.Event, effects []node.Effect) {
	h.mu.Lock()
	events := h.recorder.Step(at, ev, effects)
	h.mu.Unlock()
	h.hand(events)
}

func (h *Hub) hand(events []event.Event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	for _, e := range events {
		h.tally.Add(e)
	}
	h.mu.Unlock()
	for _, receive := range h.receivers {
		receive(events)
	}
}

// Look calls look with the account, which must not be kept.
func (h *Hub) Look(look func(*account.Tally)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	look(&h.tally)
}

// At is the account at that time, with what is known of the moment besides.
func (h *Hub) At(now time.Time) account.Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.tally.At(now)
	if p := h.recorder.Now(); p.Behind > 0 {
		s.Behind = &account.Behind{Steps: p.Behind}
		if p.Rank >= 0 {
			s.Behind.Rank = &p.Rank
		}
	}
	return s
}

// Now is where the workers are right now, and the account at that time.
func (h *Hub) Now(now time.Time) (record.Place, account.Summary) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recorder.Now(), h.tally.At(now)
}
