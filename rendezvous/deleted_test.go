package rendezvous

import (
	"testing"
	"time"
)

// TestADeletedKeyIsNoDeath: somebody deletes a member's key by hand. As long as its lease lives, which its key in the
// election shows, it is not silent, and nobody begins a round beside its workers.
func TestADeletedKeyIsNoDeath(t *testing.T) {
	s := newStage(t, DefaultSpec(2))
	s.spec.MinNodes = 1
	s.join("a")
	s.join("b")
	s.run(ActCreate, ActForm)
	incarnation := s.v.Nodes["b"].Incarnation
	s.v.Candidates = map[string]bool{CandidateName("b", incarnation): true}
	s.expire("b")
	s.settle()
	s.sleep(2 * DefaultFence)
	s.settle()
	s.join("b", func(n *Node) { n.PIDNS = "another" }) // the name is free, and somebody takes it: no proof of anything
	s.settle(ActStop)
	s.put("a", stops)
	s.settle()
	s.sleep(2 * DefaultFence)
	if d := s.settle(); d.Why.For != WaitsForLeaving {
		t.Errorf("waits for %+v, want it to wait for who may still run", d.Why)
	}
	s.v.Candidates = nil // it has seen that it was replaced, and gone
	s.settle()
	s.sleep(2*DefaultFence + time.Second)
	s.settle(ActForm)
}

// TestWhatIsDoneStaysDone: a member's key goes after it has said that its workers have succeeded. The others are not
// stopped for that, and the round succeeds with them.
func TestWhatIsDoneStaysDone(t *testing.T) {
	s := newStage(t, DefaultSpec(2))
	s.join("a")
	s.join("b")
	s.run(ActCreate, ActForm)
	s.put("b", func(n *Node) { n.State, n.Round = NodeDone, 0 })
	s.settle()
	s.expire("b")
	s.sleep(2 * DefaultFence)
	s.settle()
	s.put("a", func(n *Node) { n.State, n.Round = NodeDone, 0 })
	s.settle(ActSucceed)
}
