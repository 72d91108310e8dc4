package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// simNode is one incarnation of one node: its agent, its way to the store, and its workers.
type simNode struct {
	s           *sim
	name        string
	incarnation string
	place       int // its index among the names; -1: the operator does not replace it
	host        int
	agent       *agent.Agent
	wire        *wire
	died        chan struct{}
	dead        bool
	why         string // what its log last said that it waits for
	workers

	// Until when:
	cutUntil    time.Duration // nothing passes between it and the store
	slowUntil   time.Duration // its requests may come late
	lateUntil   time.Duration // its watches deliver late
	lostUntil   time.Duration // updates of the job do not reach it at all
	pausedUntil time.Duration // it stands still
}

// sideRole is that of a node whose workers no promise is about but that of their place.
const sideRole = "side"

func (n *simNode) alone() bool { return n.s.side && strings.HasPrefix(n.name, "n000") }

// birth starts a node, as an operator starts a pod.
func (s *sim) birth(place, host int) {
	s.born++
	n := &simNode{
		s: s, name: fmt.Sprintf("n%03d", place), place: place, host: host, died: make(chan struct{}),
	}
	n.incarnation = fmt.Sprintf("%s#%d", n.name, s.born)
	record := rendezvous.Node{
		RunUID: "run", Incarnation: n.incarnation, BootID: fmt.Sprint("boot", host%100_000), PIDNS: fmt.Sprint("ns", host),
		Unique: s.unique, Address: n.name, Port: 1000, Slots: 1,
	}
	if s.pinned {
		record.Pin = &place
	}
	if n.alone() {
		record.Role = sideRole
	}
	if s.nameless {
		if s.job != nil && s.job.End != nil {
			return // it would begin another run
		}
		record.RunUID = ""
	}
	n.wire = newWire(n)
	s.nodes = append(s.nodes, n)
	s.say("%s: started on host %d", n.incarnation, host)
	skew := s.random(2*s.skew) - s.skew
	cfg := agent.Config{
		Connect: func(context.Context) (store.Store, error) { return n.wire, nil },
		Name:    n.name, Volatile: s.volatile, Node: record, Spec: s.spec, StopTime: simStop, Lease: simLease,
		Clock: s.now, Log: slog.New(nodeLog{n}),
		Now: func() time.Time { return time.Now().Add(skew + time.Duration(s.jumped.Load())) },
	}
	if s.saves {
		cfg.Checkpoints = s.checkpoints()
	}
	n.agent = agent.Join(s.ctx, cfg)
	s.spawn(n.follow)
}

// follow takes orders until the node ends.
func (n *simNode) follow() {
	for {
		select {
		case o := <-n.agent.Orders():
			if !n.awake() {
				return
			}
			n.s.mu.Lock()
			if !n.dead {
				n.ordered(o)
			}
			n.s.mu.Unlock()
		case <-n.died:
			n.agent.Close()
			return
		case <-n.s.ctx.Done():
			return
		}
	}
}

// awake waits until the node does not stand still; false when the simulation is over.
func (n *simNode) awake() bool {
	for {
		n.s.mu.Lock()
		left := n.pausedUntil - n.s.now()
		n.s.mu.Unlock()
		if left <= 0 {
			return n.s.ctx.Err() == nil
		}
		if !n.s.sleep(left) {
			return false
		}
	}
}

// later does something on this node's own time: not when it is dead, and after a pause.
func (n *simNode) later(d time.Duration, do func()) {
	n.s.spawn(func() {
		if !n.s.sleep(d) || !n.awake() {
			return
		}
		n.s.mu.Lock()
		defer n.s.mu.Unlock()
		if !n.dead {
			do()
		}
	})
}

// ends is the node's end as its agent has ordered it.
func (n *simNode) ends(e rendezvous.End) {
	if n.s.endedNode(n, e) {
		n.place = -1
	}
	n.wire.farewell = true
	n.die(true)
}

// die ends the node; the operator replaces it.
func (n *simNode) die(replaced bool) {
	s := n.s
	if n.dead {
		return
	}
	n.dead = true
	n.gone()
	close(n.died)
	s.nodes = slices.DeleteFunc(s.nodes, func(o *simNode) bool { return o == n })
	if n.place < 0 || !replaced || slices.ContainsFunc(s.nodes, func(o *simNode) bool { return o.place == n.place }) {
		return
	}
	place, host := n.place, n.host
	if s.chance(2) && s.sick == nil {
		host = s.born + 1000
	}
	s.after(s.random(8*time.Second), func() { s.birth(place, host) })
}

// nodeLog keeps what a node says for the trace.
type nodeLog struct{ n *simNode }

func (nodeLog) Enabled(context.Context, slog.Level) bool { return true }
func (l nodeLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l nodeLog) WithGroup(string) slog.Handler          { return l }
func (l nodeLog) Handle(_ context.Context, r slog.Record) error {
	l.n.s.mu.Lock()
	defer l.n.s.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	l.n.why = text
	if strings.HasPrefix(text, "waiting") && strings.Contains(text, "is banned until") {
		l.n.s.waited = text
	}
	if strings.HasPrefix(text, "waiting") && strings.Contains(text, "the next size is") {
		l.n.s.spared = text
	}
	l.n.s.say("%s: log: %s", l.n.incarnation, text)
	return nil
}
