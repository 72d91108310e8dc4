package rendezvous

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestAGangStartsWhenAllAreThere(t *testing.T) {
	s := newStage(t, DefaultSpec(3))
	s.settle()
	s.join("b")
	s.settle(ActCreate)
	s.join("c")
	d := s.settle()
	if d.Why.For != WaitsForNodes || !strings.Contains(d.Why.Text, "2 of 3 nodes") {
		t.Fatalf("waits for %+v", d.Why)
	}
	s.join("a")
	s.settle(ActForm)
	if s.ranks() != "bca" || s.v.Round.MasterAddr != "b.svc" || s.v.Round.MasterPort == 0 {
		t.Errorf("round %+v", s.v.Round)
	}
	if world, first := s.v.Round.World(2); world != 6 || first != 4 {
		t.Errorf("world %d, first rank of node 2 is %d", world, first)
	}
}

func TestADoneNodeWaitsAndRejoins(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.put("a", succeeds(s))
	s.settle()
	s.fails("b")
	s.settle(ActStop)
	s.put("b", stops)
	s.settle(ActForm)
	if s.ranks() != "ab" || s.v.Round.Number != 1 {
		t.Errorf("round %+v", s.v.Round)
	}
}

func TestJoinTimeoutNamesTheMissing(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.put("b", leaves)
	s.settle(ActStop)
	s.stopsAll()
	s.put("b", hasLeft)
	s.settle(ActGather)
	s.sleep(DefaultJoinTimeout)
	s.settle(ActFail)
	s.ended(exitcodes.Retry, exitcodes.ReasonRendezvousTimeout, 211)
	if m := s.v.Job.End.Message; !strings.Contains(m, "missing: b") {
		t.Errorf("message %q does not name b", m)
	}
}

func TestElastic(t *testing.T) {
	spec := DefaultSpec(4)
	spec.MinNodes = 2
	s := newStage(t, spec)
	s.join("a")
	s.settle(ActCreate)
	s.join("b")
	d := s.settle(ActCall)
	if want := s.now.Add(DefaultLastCall); !d.Next.Equal(want) {
		t.Errorf("starts at %v, want %v", d.Next, want)
	}
	s.sleep(DefaultLastCall / 2)
	s.expire("b") // the last call starts again when somebody goes
	s.settle(ActGather)
	s.join("b")
	d = s.settle(ActCall)
	s.now = d.Next
	s.run(ActForm)
	s.join("c")
	s.settle() // at the next restart
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	d = s.settle(ActCall)
	if want := s.now.Add(DefaultLastCallRestart); !d.Next.Equal(want) {
		t.Errorf("starts at %v, want %v", d.Next, want)
	}
	s.join("d")
	s.run(ActForm) // the maximum is there
	if s.ranks() != "abcd" {
		t.Errorf("ranks %s", s.ranks())
	}
	s.expire("a")
	s.settle()
	s.sleep(DefaultFence)
	s.settle(ActStop)
	s.stopsAll()
	for s.v.Job.Phase != Running {
		d = s.decide()
		if d.Action == ActWait {
			s.now = d.Next
		}
	}
	if s.ranks() != "dbc" {
		t.Errorf("ranks %s after shrinking, want dbc: the last fills the hole", s.ranks())
	}
}

func TestGrowAtTheNextCheckpoint(t *testing.T) {
	spec := looking(3)
	spec.MinNodes, spec.Grow, spec.LastCall = 2, GrowCheckpoint, 0
	s := newStage(t, spec)
	s.join("a", checkpoints())
	s.settle(ActCreate)
	s.join("b", checkpoints())
	s.run(ActForm)
	s.join("c", checkpoints(10))
	s.settle()
	s.put("a", checkpoints(10))
	s.settle()
	s.put("b", checkpoints(10))
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActGather, ActForm)
	if b := s.v.Job.Budget; s.ranks() != "abc" || b.Used != 0 {
		t.Errorf("ranks %s, budget %+v", s.ranks(), b)
	}
	if r := s.v.Round.Resume; r.Decision != ResumeNewest || *r.Step != 10 {
		t.Errorf("resumes from %+v", r)
	}
}

func TestADifferentSpecIsNotCounted(t *testing.T) {
	s := newStage(t, DefaultSpec(2))
	s.join("a")
	s.settle(ActCreate)
	s.spec.MaxNodes = 3
	s.join("b")
	d := s.settle()
	if !strings.Contains(d.Why.Text, "not counted, for their spec or run differs: b") {
		t.Errorf("waits: %s", d.Why.Text)
	}
}

func TestNothingBeginsWhileAStrayRuns(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.v.Job, s.v.Round = nil, nil // deleted by hand
	s.join("c")
	s.join("d")
	d := s.settle(ActCreate)
	if d.Why.For != WaitsForLeaving || !reflect.DeepEqual(d.Why.Nodes, []string{"a", "b"}) {
		t.Errorf("waits for %+v", d.Why)
	}
	s.stopsAll()
	s.settle(ActForm)
}
