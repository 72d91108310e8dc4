package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
	"github.com/gangrun/gangrun/supervisor/node"
)

// strike lets a fault happen.
func (s *sim) strike(f fault) {
	if strings.HasPrefix(f.kind, "leader ") {
		s.armed = append(s.armed, f)
		return
	}
	s.say("fault: %s", f)
	if len(s.nodes) == 0 {
		return
	}
	n, until := s.nodes[f.node%len(s.nodes)], s.now()+f.long
	switch f.kind {
	case "crash":
		s.failures++
		n.die(true)
	case "fail":
		if n.runs == "" || n.halting || s.now() < n.pausedUntil {
			return
		}
		s.failures++
		verdict := exitcodes.Retry
		if s.fatal {
			s.fatals++
			verdict = exitcodes.Fatal
		}
		n.fail(verdict, "Injected", exitcodes.RoleRoot)
	case "cut":
		s.failures++
		n.cutUntil = max(n.cutUntil, until)
	case "flap": // away, back for a moment, away again
		s.failures += 2
		n.cutUntil = max(n.cutUntil, s.now()+simLease+2*time.Second)
		s.after(simLease+2500*time.Millisecond+s.random(time.Second), func() { n.cutUntil = max(n.cutUntil, s.now()+f.long) })
	case "move": // the operator gives the name to another pod while the old one lives, cut off
		s.failures++
		n.cutUntil = max(n.cutUntil, until)
		place, host := n.place, s.born+1000
		if s.chance(2) {
			host = n.host + 100_000 // another container on the same machine
		}
		s.after(s.random(8*time.Second), func() { s.birth(place, host) })
	case "pause":
		s.failures++
		n.pausedUntil = max(n.pausedUntil, until)
	case "leave":
		s.leave(n)
	case "drain":
		for _, n := range slices.Clone(s.nodes) {
			s.leave(n)
		}
	case "slow":
		s.failures += f.echoes()
		n.slowUntil = until
	case "late":
		s.failures += f.echoes()
		n.lateUntil = until
	case "outage":
		for _, n := range s.nodes {
			n.cutUntil = max(n.cutUntil, until)
			s.failures++
		}
	case "store lost":
		if s.job != nil && s.job.End != nil {
			return // its host waits until all have read the end
		}
		s.failures += len(s.nodes)
		s.memory.Replace()
	case "restart", "suspend":
		s.command(f)
	case "delete: " + meddled(f), "garbage: " + meddled(f):
		s.meddle(n, f)
	case "key deleted":
		s.byHand(store.Delete("nodes/" + n.name))
	case "key overwritten":
		s.byHand(store.Put("nodes/"+n.name, []byte(byHandGarbage)))
	case "candidate deleted":
		s.byHand(store.Delete(store.Candidates))
	case "job deleted":
		s.byHand(store.Delete("job"))
	case "round deleted":
		s.byHand(store.Delete("rounds/"))
	case "members deleted":
		s.byHand(store.Delete("members/"))
	case "node deleted": // and its word in the election with it
		s.byHand(store.Delete("nodes/" + n.name))
		if l := n.wire.lease; l != nil {
			s.byHand(store.Delete(store.Candidates + l.ID()))
		}
	case "all deleted":
		s.byHand(store.Delete(""))
	case "candidate overwritten":
		if l := n.wire.lease; l != nil {
			s.byHand(store.Put(store.Candidates+l.ID(), []byte(byHandGarbage)))
		}
	case "round overwritten": // an old one, and one that is to come
		if s.job != nil {
			s.byHand(store.Put(fmt.Sprint("rounds/", s.job.Round-1), []byte(byHandGarbage)))
			s.byHand(store.Put(fmt.Sprint("rounds/", s.job.NextRound), []byte(byHandGarbage)))
		}
	case "garbage between":
		for _, key := range []string{"nodes/nobody", "nodes/%%", "control/x", "members/x", "rounds/x", "other", "lead/x"} {
			s.byHand(store.Put(key, []byte(byHandGarbage)))
		}
	case "lease revoked":
		if l := n.wire.lease; l != nil {
			s.spawn(func() { _ = l.inner.Close(s.ctx) })
		}
	case "news lost":
		s.failures += f.echoes()
		n.lostUntil = until
	}
}

// byHandGarbage is what somebody writes who should not.
const byHandGarbage = "garbage{"

// meddled is which keys a fault is about, if it is one of that kind.
func meddled(f fault) string {
	_, name, _ := strings.Cut(f.kind, ": ")
	return name
}

// meddle deletes the keys that a name stands for, or overwrites them with garbage.
func (s *sim) meddle(n *simNode, f fault) {
	what, name, _ := strings.Cut(f.kind, ": ")
	var keys []string
	switch {
	case name == "node" || name == "progress":
		keys = []string{map[string]string{"node": "nodes/", "progress": "progress/"}[name] + n.name}
	case name == "candidate" && n.wire.lease != nil:
		keys = []string{store.Candidates + n.wire.lease.ID()}
	case name == "round" && s.job != nil:
		keys = []string{fmt.Sprint("rounds/", s.job.Round)}
	case name == "list":
		for list := range s.lists {
			keys = append(keys, "members/"+list)
		}
	case name == "job":
		keys = []string{"job"}
	case name == "host":
		keys = []string{"hosts/h"}
	case name == "command":
		keys = []string{"control/c"}
	}
	for _, key := range keys {
		op := store.Delete(key)
		if what == "garbage" {
			op = store.Put(key, []byte(byHandGarbage))
		}
		s.byHand(op)
		// Garbage in what the leader alone writes is never overwritten. Whoever reads the warning deletes it.
		if what == "garbage" && (name == "job" || name == "round" || name == "list") {
			s.after(f.long, func() { s.byHand(store.Delete(key)) })
		}
	}
}

// byHand changes the store as a person does who should not.
func (s *sim) byHand(op store.Op) {
	if _, err := s.server.Commit(s.ctx, store.Txn{Then: []store.Op{op}}); err != nil {
		s.violate("by hand: %v", err)
	}
}

func (s *sim) leave(n *simNode) {
	s.leaves++
	if s.looks {
		n.later(0, func() { n.step(node.Signaled{Signal: node.SIGTERM}) })
		return
	}
	n.later(0, n.agent.Leave)
}

// echoes bounds how often a node that starts late, since it does not hear, can make the others fail.
func (f fault) echoes() int { return 1 + int(f.long/(3*time.Second)) }

// command sends one, and again, as one does that was not answered; a suspended job is resumed some time later.
func (s *sim) command(f fault) {
	id := fmt.Sprint(f.kind, f.at.Milliseconds())
	s.send(id, f.kind)
	s.after(s.random(5*time.Second), func() { s.send(id, f.kind) })
	if f.kind == "suspend" {
		s.after(10*time.Second+f.long, func() { s.send(id+"resume", rendezvous.VerbResume) })
		// A command can be lost with the store; whoever sent it looks again.
		s.after(simCalm+20*time.Second-s.now(), func() { s.send(id+"again", rendezvous.VerbResume) })
	}
}

func (s *sim) send(id, verb string) {
	value, err := rendezvous.Encode(&rendezvous.Control{V: 1, ID: id, Verb: verb})
	if err == nil {
		_, err = s.server.Commit(s.ctx, store.Txn{Then: []store.Op{store.Put("control/"+store.Escape(id), value)}})
	}
	if err != nil {
		s.violate("command: %v", err)
	}
}
