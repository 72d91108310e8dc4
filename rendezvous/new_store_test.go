package rendezvous

import (
	"slices"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestANewStore(t *testing.T) {
	old := runningStage(t, DefaultSpec(2))
	brings := func(n *Node) { n.Carried = old.v.Job }
	setup := func(t *testing.T) *stage {
		s := newStage(t, DefaultSpec(2))
		s.v.Token, s.v.NewSince = "store-b", s.now
		return s
	}
	t.Run("a whole fresh gang starts at once", func(t *testing.T) {
		s := setup(t)
		s.join("a")
		s.join("b")
		s.settle(ActCreate, ActForm)
	})
	t.Run("an elastic one that is not whole waits", func(t *testing.T) {
		s := setup(t)
		s.spec.MinNodes, s.spec.LastCall = 1, 0
		s.join("a")
		if d := s.settle(ActCreate); d.Why.For != WaitsForStore || !d.Next.Equal(s.now.Add(DefaultFence)) {
			t.Errorf("waits for %+v until %v", d.Why, d.Next)
		}
		s.sleep(DefaultFence)
		s.settle(ActForm)
	})
	t.Run("a record from before is taken over", func(t *testing.T) {
		s := setup(t)
		s.join("a", brings)
		s.settle(ActAdopt)
		if b := s.v.Job.Budget; b.Used != 1 {
			t.Errorf("%d restarts are charged, want that of the node with which the store went", b.Used)
		}
		s.join("b", brings)
		if d := s.settle(); d.Why.For != WaitsForStore {
			t.Errorf("waits for %+v", d.Why)
		}
		s.sleep(DefaultFence)
		s.settle(ActForm)
		if s.v.Round.Number != 1 || s.v.Job.RunUID != old.v.Job.RunUID {
			t.Errorf("round %d of run %s", s.v.Round.Number, s.v.Job.RunUID)
		}
	})
	for name, tc := range map[string]struct {
		edit  func(*Node)
		waits bool
	}{
		"all that there ever were":                {func(n *Node) { n.Unique = true }, false},
		"names that may be given twice":           {func(*Node) {}, true},
		"there may have been spares":              {func(n *Node) { n.Unique, n.Pin = true, nil }, true},
		"there were more of them before":          {func(n *Node) { n.Unique = true; more := n.Carried.clone(); more.Spec.MaxNodes = 3; n.Carried = more }, true},
		"it was not they who have told of before": {func(n *Node) { n.Unique = true; n.Carried = nil }, true},
	} {
		t.Run("everybody is there: "+name, func(t *testing.T) {
			for _, phase := range []Phase{Running, Suspended} {
				record := old.v.Job.clone()
				record.Phase = phase
				s := setup(t)
				s.join("c", func(n *Node) { n.Carried = record })
				s.settle(ActAdopt)
				s.expire("c")
				for i, node := range []string{"a", "b"} {
					s.join(node, uid(record.RunUID), pin(i), func(n *Node) { n.Carried = record }, tc.edit)
				}
				switch {
				case tc.waits:
					if d := s.settle(); d.Why.For != WaitsForStore {
						t.Errorf("%s: waits for %+v", phase, d.Why)
					}
				case phase == Suspended:
					s.settle(ActResume, ActForm)
				default:
					s.settle(ActForm)
				}
			}
		})
	}
	t.Run("who is missing is said at once", func(t *testing.T) {
		s := setup(t)
		s.join("a", brings, pin(0))
		d := s.settle(ActAdopt)
		if d.Why.For != WaitsForNodes || !slices.Equal(d.Why.Nodes, []string{"rank 1"}) {
			t.Errorf("waits for %+v, want rank 1", d.Why)
		}
		if want := s.now.Add(DefaultJoinTimeout); !d.Next.Equal(want) {
			t.Errorf("looks again at %v, want %v: the time to join runs", d.Next, want)
		}
		s.sleep(DefaultFence / 2)
		s.join("b", brings, pin(1))
		if d = s.settle(); d.Why.For != WaitsForStore || !d.Next.Equal(s.v.NewSince.Add(DefaultFence)) {
			t.Errorf("waits for %+v until %v, want one fence from the beginning of the store", d.Why, d.Next)
		}
		s.now = d.Next
		s.settle(ActForm)
	})
	t.Run("who is missing never comes", func(t *testing.T) {
		s := setup(t)
		s.spec.JoinTimeout = Duration(DefaultFence / 2)
		old := old.v.Job.clone()
		old.Spec = s.spec
		s.join("a", func(n *Node) { n.Carried = old })
		if d := s.settle(ActAdopt); d.Why.Text != "1 of 2 nodes are there: a" {
			t.Errorf("waits: %s", d.Why.Text)
		}
		s.sleep(DefaultFence / 2)
		s.settle(ActFail)
		s.ended(exitcodes.Retry, exitcodes.ReasonRendezvousTimeout, 211)
	})
	for name, tc := range map[string]struct {
		phase  Phase
		stop   *Stop
		budget int
	}{
		"was being suspended": {Stopping, &Stop{Kind: StopSuspend}, 0},
		"had failed and was then to be suspended": {Stopping, &Stop{
			Kind: StopFailure, Reason: "Error", Node: "b",
		}, 1},
		"was suspended": {Suspended, nil, 0},
	} {
		t.Run("a job that "+name+" stays so", func(t *testing.T) {
			suspended := old.v.Job.clone()
			suspended.Phase, suspended.Stop, suspended.Suspend = tc.phase, tc.stop, true
			s := setup(t)
			s.join("a", func(n *Node) { n.Carried = suspended })
			s.join("b")
			if d := s.settle(ActAdopt); d.Why.For != WaitsForUser {
				t.Errorf("waits for %+v", d.Why)
			}
			s.phase(Suspended)
			if s.v.Job.SinceSeq != 0 {
				t.Error("who is there would leave")
			}
			if got := s.v.Job.Budget.Used; got != tc.budget {
				t.Errorf("%d restarts are charged, want %d", got, tc.budget)
			}
			s.sleep(DefaultFence)
			s.command("1", VerbResume)
			s.settle(ActCommand, ActForm)
		})
	}
	t.Run("a job that all had left continues with the spec of who comes", func(t *testing.T) {
		deserted := old.v.Job.clone()
		deserted.Phase = Suspended
		s := setup(t)
		s.spec.Restarts.Max = 9
		s.join("a", uid(deserted.RunUID), func(n *Node) { n.Carried = deserted })
		s.settle(ActAdopt) // somebody of the job may still be there, and knows its spec
		s.sleep(DefaultFence)
		s.settle(ActResume)
		if s.v.Job.Spec.Restarts.Max != 9 {
			t.Error("the changed spec was not taken over")
		}
	})
	for name, suspended := range map[string]bool{"by command": true, "for all had left": false} {
		t.Run("suspended "+name+", while a round runs here", func(t *testing.T) {
			record := old.v.Job.clone()
			record.Phase, record.Suspend, record.NextRound, record.Seq = Suspended, suspended, 7, 70
			s := setup(t)
			s.join("a")
			s.join("b")
			s.run(ActCreate, ActForm)
			s.join("c", func(n *Node) { n.Carried = record })
			s.settle(ActAdopt)
			s.phase(Stopping)
			s.all(uid(record.RunUID), stops)
			s.sleep(DefaultFence)
			if suspended {
				s.settle(ActSuspend)
				return
			}
			s.settle(ActForm) // the next node that joins resumes it, and they are there
		})
	}
	t.Run("what is suspended here stays so", func(t *testing.T) {
		s := setup(t)
		s.join("x")
		s.settle(ActCreate)
		s.command("1", VerbSuspend)
		s.settle(ActCommand)
		s.join("a", brings)
		s.settle(ActAdopt)
		s.phase(Suspended)
	})
	t.Run("its host had said that it was leaving", func(t *testing.T) {
		leaving := old.v.Job.clone()
		leaving.Phase, leaving.Stop = Stopping, &Stop{Kind: StopDeparture, Node: "b", Reason: exitcodes.ReasonPreempted}
		s := setup(t)
		s.join("a", func(n *Node) { n.Carried = leaving })
		s.settle(ActAdopt)
		if b := s.v.Job.Budget; b.Used != 0 || b.Preemptions != 1 {
			t.Errorf("budget %+v", b)
		}
	})
	t.Run("its host cannot be lost for ever", func(t *testing.T) {
		spent := old.v.Job.clone()
		spent.Budget.Used = spent.Spec.Restarts.Max
		s := setup(t)
		s.join("a", func(n *Node) { n.Carried = spent })
		s.settle(ActAdopt)
		s.phase(Failed)
	})
	t.Run("however late it arrives", func(t *testing.T) {
		old.fails("a")
		old.settle(ActStop)
		old.stopsAll()
		old.settle(ActForm)
		s := setup(t)
		s.join("a")
		s.join("b")
		s.run(ActCreate, ActForm)
		s.join("c", brings)
		s.settle(ActAdopt)
		s.phase(Stopping)
		s.stopsAll()
		s.sleep(DefaultFence)
		s.settle(ActForm)
		if s.v.Round.Number != 2 || s.v.Job.RunUID != old.v.Job.RunUID {
			t.Errorf("round %d of run %s", s.v.Round.Number, s.v.Job.RunUID)
		}
	})
}
