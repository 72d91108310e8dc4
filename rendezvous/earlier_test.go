package rendezvous

import (
	"testing"
	"time"
)

// TestTheStoreWentBack puts the record of an earlier round in the place of the newest, where no leader remembers that.
// One of its members has been replaced since. What stops then is charged to nobody, and no number is given twice.
func TestTheStoreWentBack(t *testing.T) {
	for name, stopsFirst := range map[string]string{"a member that is still there": "a", "one that came since": "b"} {
		t.Run(name, func(t *testing.T) {
			s := runningStage(t, DefaultSpec(2))
			job, round := s.v.Job, s.v.Round
			s.fails("b")
			s.settle(ActStop)
			s.stopsAll()
			s.settle(ActForm)
			s.expire("b")
			s.join("b", func(n *Node) { n.BootID, n.PIDNS = "boot-b", "ns-b" })
			s.started()
			s.put("b", runs(1), func(n *Node) { n.RunUID = s.v.Job.RunUID })

			s.v.Job, s.v.Round, s.v.Observations = job, round, Observations{}
			s.put(stopsFirst, stops)
			s.settle(ActStop)
			s.stopsAll()
			s.settle(ActForm) // the newcomer proves that the other one is gone
			s.started()
			if j := s.v.Job; j.Round != 2 || j.Budget.Total != 0 || j.Budget.Preemptions != 0 {
				t.Errorf("round %d, budget %+v", j.Round, j.Budget)
			}
			s.settle()
		})
	}
}

// TestRoundsThatNobodyTells: the records are gone, and nodes that are there know of rounds in them.
func TestRoundsThatNobodyTells(t *testing.T) {
	for name, knows := range map[string]func(*Node){
		"was in them":        func(n *Node) { n.State, n.Round = NodeStopped, 4 },
		"has heard of them":  func(n *Node) { n.Next = 5 },
		"has heard of later": func(n *Node) { n.State, n.Round, n.Next = NodeStopped, 2, 5 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, DefaultSpec(2))
			s.join("a")
			s.join("b", knows)
			s.sleep(time.Minute)
			s.settle(ActCreate, ActForm)
			if s.v.Round.Number != 5 {
				t.Errorf("round %d", s.v.Round.Number)
			}
		})
	}
}
