package rendezvous

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// checkpoints says what a node has, whenever it is asked.
func checkpoints(steps ...int64) func(*Node) {
	return func(n *Node) {
		c := &Checkpoints{Asked: whenever, Steps: steps}
		if before := n.Checkpoints; before != nil {
			c.Reached = before.Reached
		}
		if len(steps) > 0 && (c.Reached == nil || *c.Reached < steps[0]) {
			c.Reached = &steps[0]
		}
		n.Checkpoints = c
	}
}

// looking is a spec whose nodes look for checkpoints.
func looking(n int) Spec {
	spec := DefaultSpec(n)
	spec.Resume.Look = true
	return spec
}

func TestResumePoint(t *testing.T) {
	s := runningStage(t, looking(2))
	s.put("a", checkpoints(30, 20, 10))
	s.put("b", checkpoints(20, 10))
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	s.run(ActGather, ActForm)
	if r := s.v.Round.Resume; r.Decision != ResumeNewest || *r.Step != 20 {
		t.Errorf("resumes from %+v, want 20: the newest that both have", r)
	}
	s.put("a", checkpoints(30, 10))
	s.put("b", checkpoints(10))
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	s.now = s.settle(ActGather, ActJudge).Next // the backoff
	s.settle(ActFail)
	s.ended(exitcodes.Fatal, exitcodes.ReasonCheckpointUnusable, 65)
}

func TestTheSameFailureAtTheSameStepFallsBackAndThenEnds(t *testing.T) {
	step := int64(25)
	s := runningStage(t, looking(2))
	s.all(checkpoints(20, 10), func(n *Node) { n.Step = &step })
	again := func() {
		s.fails("a")
		s.settle(ActStop)
		s.stopsAll()
		for i := 0; i < 5 && s.v.Job.Phase != Running && s.v.Job.Phase != Failed; i++ {
			if d := s.decide(); d.Action == ActWait {
				s.now = d.Next
			}
		}
		if s.v.Job.Phase == Running {
			s.started()
		}
	}
	for i, want := range []string{ResumeNewest, ResumeFallback, ResumeNewest} {
		again()
		if got := s.v.Round.Resume.Decision; got != want {
			t.Fatalf("restart %d: %s, want %s", i, got, want)
		}
	}
	again()
	s.ended(exitcodes.Fatal, exitcodes.ReasonNoProgress, 90)
}

func TestAllLeaveAndTheNextThatJoinsResumes(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.put("a", leaves)
	s.settle(ActStop)
	s.put("b", leaves)
	s.stopsAll()
	s.put("a", hasLeft)
	s.put("b", hasLeft)
	s.settle(ActSuspend)
	s.phase(Suspended)
	s.sleep(1000 * time.Hour)
	s.settle()
	s.join("a", uid(s.v.Job.RunUID))
	s.settle(ActResume)
	s.join("b", uid(s.v.Job.RunUID))
	s.settle(ActForm)
	if b := s.v.Job.Budget; b.Used != 0 || s.ranks() != "ab" {
		t.Errorf("budget %+v, ranks %s", b, s.ranks())
	}
}

func TestNoLeadSawThemAllLeave(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.put("a", stops, hasLeft)
	s.put("b", stops, hasLeft)
	s.sleep(time.Hour)
	s.v.Observations = Observations{}
	s.join("a")
	s.join("b")
	s.settle(ActStop, ActForm)
	if b := s.v.Job.Budget; b.Used != 0 || b.Preemptions != 1 {
		t.Errorf("budget %+v: they had said so", b)
	}
}
