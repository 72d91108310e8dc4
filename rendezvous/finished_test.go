package rendezvous

import (
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestSuccessNeedsAllThatAreRequired(t *testing.T) {
	spec := DefaultSpec(3)
	spec.Roles = map[string]RolePolicy{"ps": {Optional: true, Restart: RestartSelf}}
	s := newStage(t, spec)
	s.join("a")
	s.join("b")
	s.join("p", func(n *Node) { n.Role = "ps" })
	s.run(ActCreate, ActForm)
	s.put("a", succeeds(s))
	s.settle()
	s.fails("p") // restarts alone
	s.settle()
	s.put("b", succeeds(s))
	s.settle(ActSucceed)
	s.ended(exitcodes.Success, exitcodes.ReasonSucceeded, 0)
}

func TestAFinishedRecord(t *testing.T) {
	finished := func(t *testing.T, v exitcodes.Verdict) *stage {
		s := newStage(t, DefaultSpec(2))
		s.spec.Restarts.Max = 0
		s.join("a", uid("u1"))
		s.join("b", uid("u1"))
		s.run(ActCreate, ActForm)
		switch v {
		case exitcodes.Success:
			s.all(succeeds(s))
			s.settle(ActSucceed)
		case exitcodes.Retry:
			s.fails("a")
			s.stopsAll()
			s.settle(ActStop, ActFail)
		}
		return s
	}
	returns := func(s *stage) func(*Node) { return func(n *Node) { n.ReopenSeq = s.v.Job.Seq } }
	t.Run("kept for a while", func(t *testing.T) {
		s := finished(t, exitcodes.Success)
		s.all(hasLeft)
		if d := s.settle(); !d.Next.Equal(s.now.Add(DefaultTTL)) {
			t.Errorf("next %v", d.Next)
		}
		s.sleep(DefaultTTL)
		if d := s.decide(); !d.Forget || len(d.Remove) != 2 {
			t.Errorf("decision %+v", d)
		}
		s.settle()
	})
	t.Run("retry is opened again with its budget", func(t *testing.T) {
		s := finished(t, exitcodes.Retry)
		s.all(hasLeft)
		s.join("a", uid("u1"), returns(s))
		s.settle(ActReopen)
		s.join("b", uid("u1"))
		s.run(ActForm)
		s.fails("a")
		s.settle(ActStop)
		s.stopsAll()
		s.settle(ActFail)
	})
	t.Run("not before the old workers are gone", func(t *testing.T) {
		s := newStage(t, DefaultSpec(2))
		s.spec.MinNodes, s.spec.LastCall, s.spec.LastCallRestart, s.spec.Restarts.Max = 1, 0, 0, 0
		s.join("a", uid("u1"))
		s.join("b", uid("u1"))
		s.run(ActCreate, ActForm)
		s.fails("a")
		s.now = s.settle(ActStop).Next
		s.settle(ActFail) // b is still at it
		s.put("a", hasLeft)
		s.join("a", uid("u1"), returns(s))
		if d := s.settle(ActReopen); d.Why.For != WaitsForLeaving {
			t.Errorf("waits for %+v, want b", d.Why)
		}
		s.put("b", stops)
		s.settle(ActForm)
	})
	t.Run("success is not", func(t *testing.T) {
		s := finished(t, exitcodes.Success)
		s.all(hasLeft)
		s.join("a", uid("u1"), returns(s))
		s.settle()
		s.phase(Succeeded)
	})
	for name, u := range map[string]string{"another run": "u2", "a run without a name": ""} {
		t.Run(name, func(t *testing.T) {
			s := finished(t, exitcodes.Success)
			s.put("a", hasLeft)
			s.join("c", uid(u), returns(s))
			s.settle() // b is still there
			s.put("b", hasLeft)
			s.join("d", uid(u))
			s.settle(ActRerun, ActForm)
			if s.v.Round.Number != 1 || s.v.Job.RunUID == "u1" || s.v.Job.Budget.Used != 0 {
				t.Errorf("job %+v", s.v.Job)
			}
		})
	}
	t.Run("another run while the old one lives", func(t *testing.T) {
		s := runningStage(t, DefaultSpec(2))
		s.join("c", uid("u2"))
		s.settle()
		s.phase(Running)
		s.put("a", leaves)
		s.settle(ActStop)
		s.stopsAll()
		s.settle(ActGather)
		s.put("a", hasLeft)
		s.put("b", hasLeft)
		s.settle(ActRerun)
	})
}
