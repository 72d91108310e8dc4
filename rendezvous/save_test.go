package rendezvous

import (
	"math"
	"strings"
	"testing"
	"time"
)

// looks is a member whose ranks look at the stop file, and says is its answer.
func looks(s *stage) func(*Node) {
	return func(n *Node) { n.Service = &Service{Round: s.v.Job.Round, Looks: true} }
}

func says(s *stage, step int64, each, within time.Duration) func(*Node) {
	return func(n *Node) {
		n.Service = &Service{Round: s.v.Job.Round, Looks: true, Answered: true, Step: &step,
			Each: Duration(each), Within: Duration(within)}
	}
}

func asks(n *Node) { n.Leaving, n.Asks = true, true }

func served(n *Node) {
	s := *n.Service
	s.Served = true
	n.State, n.Service = NodeStopped, &s
}

func missedIt(n *Node) {
	s := *n.Service
	s.Who = "rank 1 (at step 7)"
	n.State, n.Service = NodeStopped, &s
}

func savingStage(t *testing.T) *stage {
	spec := DefaultSpec(3)
	s := runningStage(t, spec)
	s.all(looks(s))
	return s
}

// TestAgreedStep is two steps ahead of what was reported, and two seconds.
func TestAgreedStep(t *testing.T) {
	for _, tt := range []struct {
		most int64
		each time.Duration
		want int64
	}{
		{100, 0, 102}, {100, time.Minute, 102}, {100, time.Second, 102}, {100, 999 * time.Millisecond, 103},
		{100, 50 * time.Millisecond, 140}, {0, time.Millisecond, 2000}, {7, 3 * time.Second, 9},
		{math.MaxInt64, 0, math.MaxInt64}, {math.MaxInt64 - 3, time.Second, math.MaxInt64 - 1}, {math.MaxInt64 - 3, 1, math.MaxInt64},
	} {
		if got := AgreedStep(tt.most, tt.each); got != tt.want {
			t.Errorf("%d, %v a step: %d, want %d", tt.most, tt.each, got, tt.want)
		}
	}
}

// TestSaveOnDeparture: all are asked, the step is ahead of the furthest, and the round stops when the last has left.
func TestSaveOnDeparture(t *testing.T) {
	s := savingStage(t)
	s.put("b", asks)
	s.settle(ActAsk)
	s.put("b", says(s, 40, 100*time.Millisecond, 20*time.Second))
	s.put("a", says(s, 41, 100*time.Millisecond, time.Hour))
	if d := s.settle(); len(d.Why.Nodes) != 1 || d.Why.Nodes[0] != "c" {
		t.Errorf("waits for %+v, want c", d.Why)
	}
	s.put("c", says(s, 39, 80*time.Millisecond, time.Hour))
	s.settle(ActSave)
	save := s.v.Job.Save
	if !save.Agreed || save.Step == nil || *save.Step != 41+25 || save.By.Sub(s.now) != 20*time.Second {
		t.Fatalf("agreed on %+v", save)
	}
	s.phase(Running)
	s.put("a", served)
	s.put("b", served)
	if d := s.settle(); len(d.Why.Nodes) != 1 || d.Why.Nodes[0] != "c" {
		t.Errorf("waits for %+v, want c", d.Why)
	}
	s.put("b", hasLeft)
	s.put("c", served)
	s.settle(ActStop, ActGather)
	s.stopped(StopDeparture, "b")
	if want := "b is leaving; all have saved at step 66"; s.v.Job.Stop.Message != want {
		t.Errorf("message %q, want %q", s.v.Job.Stop.Message, want)
	}
	if s.v.Job.Budget.Preemptions != 1 || s.v.Job.Budget.Used != 0 {
		t.Errorf("charged %+v", s.v.Job.Budget)
	}
	s.join("b")
	s.settle(ActForm)
	if s.v.Job.Save != nil {
		t.Errorf("the next round begins with %+v", s.v.Job.Save)
	}
}

// TestSaveOnSuspend is by command: any node's time counts.
func TestSaveOnSuspend(t *testing.T) {
	s := savingStage(t)
	s.command("c1", VerbSuspend)
	s.settle(ActCommand)
	s.all(says(s, 5, 0, 25*time.Second))
	s.settle(ActSave)
	if save := s.v.Job.Save; *save.Step != 7 || save.By.Sub(s.now) != 25*time.Second {
		t.Fatalf("agreed on %+v", save)
	}
	s.command("c2", VerbSuspend) // once more changes nothing
	s.settle(ActCommand)
	s.all(served)
	s.settle(ActStop, ActSuspend)
	s.phase(Suspended)
	if want := "suspended by command; all have saved at step 7"; s.v.Job.Stop.Message != want {
		t.Errorf("message %q, want %q", s.v.Job.Stop.Message, want)
	}
}

// TestSaveIsNotToBeHad ends as every departure does, and says who was in the way.
func TestSaveIsNotToBeHad(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(s *stage)
		want string
	}{
		"one does not look": {func(s *stage) {
			s.put("a", says(s, 4, 0, time.Second))
			s.put("b", says(s, 4, 0, time.Second))
			s.put("c", func(n *Node) { n.Service = &Service{Round: 0, Answered: true, Who: "rank 4 does not look"} })
			s.settle(ActStop)
		}, "each saves for itself, if it does: on c: rank 4 does not look"},
		"nobody answers": {func(s *stage) {
			s.settle()
			s.sleep(answerTime)
			s.settle(ActStop)
		}, "no node has said how far it is"},
		"one is late": {func(s *stage) {
			s.all(says(s, 4, 0, 10*time.Second))
			s.settle(ActSave)
			s.put("a", served)
			s.put("b", served)
			s.sleep(10 * time.Second)
			s.settle(ActStop)
		}, "asked to save at step 6, and not done in time: c"},
		"one has died": {func(s *stage) {
			s.all(says(s, 4, 0, 10*time.Second))
			s.settle(ActSave)
			s.put("c", missedIt)
			s.settle(ActStop)
		}, "asked to save at step 6, and not done: c: rank 1 (at step 7)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := savingStage(t)
			s.put("b", asks)
			s.settle(ActAsk)
			tt.do(s)
			s.phase(Stopping)
			s.stopped(StopDeparture, "b")
			if got := s.v.Job.Stop.Message; !strings.HasSuffix(got, tt.want) {
				t.Errorf("message %q, want %q", got, tt.want)
			}
		})
	}
}

// TestSaveWithoutSteps tells each to save as soon as it can; one that does not answer within a second is not waited for.
func TestSaveWithoutSteps(t *testing.T) {
	s := savingStage(t)
	s.put("b", asks)
	s.settle(ActAsk)
	for _, name := range []string{"a", "b"} {
		s.put(name, func(n *Node) { n.Service = &Service{Round: 0, Looks: true, Answered: true} })
	}
	s.settle()
	s.sleep(answerTime)
	s.settle(ActSave)
	if save := s.v.Job.Save; !save.Agreed || save.Step != nil || StopText(save.Step) != "now" || save.By.Sub(s.now) != withinUnknown {
		t.Errorf("agreed on %+v", save)
	}
}

// TestFailureInASave outranks it: the round stops at once, and the failure is charged.
func TestFailureInASave(t *testing.T) {
	s := savingStage(t)
	s.put("b", asks)
	s.settle(ActAsk)
	s.all(says(s, 4, 0, 10*time.Second))
	s.settle(ActSave)
	s.fails("c")
	s.settle(ActStop)
	s.stopped(StopFailure, "c")
}

// TestNobodyLooks: without anybody who looks, nothing is asked.
func TestNobodyLooks(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.put("b", leaves)
	s.settle(ActStop)
	s = runningStage(t, DefaultSpec(3))
	s.command("c1", VerbSuspend)
	s.settle(ActCommand)
	s.phase(Stopping)
}

// TestAnotherLeaderGoesOn with a save from the record alone, whatever its clock says.
func TestAnotherLeaderGoesOn(t *testing.T) {
	s := savingStage(t)
	s.put("b", asks)
	s.settle(ActAsk)
	s.all(says(s, 4, 0, 10*time.Second))
	s.settle(ActSave)
	s.v.Observations = Observations{}
	s.v.Job = s.v.Job.Moved(time.Hour)
	s.now = s.now.Add(time.Hour)
	s.settle()
	s.sleep(10 * time.Second)
	s.settle(ActStop)
}

// TestLeavingReacts: a node that is to save with all others goes on although it leaves, as long as the job does.
func TestLeavingReacts(t *testing.T) {
	s := savingStage(t)
	self := Self{Name: "b", State: NodeRunning, Round: 0, RunUID: s.v.Job.RunUID, Store: s.v.Token, Spec: s.spec, Leaving: true,
		Guard: Guard{Fence: time.Hour, Lease: time.Hour}}
	if step := React(self, Reading{Store: s.v.Token, Job: s.v.Job, Round: s.v.Round}, 0); step.Do != ActHalt {
		t.Errorf("it does %s, want Halt", step.Do)
	}
	self.Asks = true
	if step := React(self, Reading{Store: s.v.Token, Job: s.v.Job, Round: s.v.Round}, 0); step.Do != ActGo {
		t.Errorf("it does %s, want Go", step.Do)
	}
	job := s.v.Job.clone()
	job.Phase, job.Stop = Stopping, &Stop{Kind: StopFailure}
	if step := React(self, Reading{Store: s.v.Token, Job: job, Round: s.v.Round}, 0); step.Do != ActHalt {
		t.Errorf("once the round stops it does %s, want Halt", step.Do)
	}
}

// TestFinishedWithTheSave: who is out by its own word is no loss to a save that the others still make, whoever has its
// name by now, and whether or not its lease lasts.
func TestFinishedWithTheSave(t *testing.T) {
	agreed := func(t *testing.T) *stage {
		s := savingStage(t)
		s.put("b", asks)
		s.settle(ActAsk)
		s.all(says(s, 4, 0, 10*time.Second))
		s.settle(ActSave)
		s.put("b", served)
		s.settle()
		return s
	}
	for name, goes := range map[string]func(s *stage){
		"its replacement is there": func(s *stage) {
			s.put("b", hasLeft)
			s.settle()
			s.join("b")
		},
		"its lease lapses": func(s *stage) { s.expire("b") },
		"its lease lapses, and another incarnation has joined": func(s *stage) {
			s.expire("b")
			s.settle()
			s.join("b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := agreed(t)
			goes(s)
			s.settle()
			s.phase(Running)
			s.put("a", served)
			s.settle()
			s.put("c", served)
			s.decide()
			s.stopped(StopDeparture, "b")
			if want := "it is leaving; all have saved at step 6"; s.v.Job.Stop.Message != want {
				t.Errorf("message %q, want %q", s.v.Job.Stop.Message, want)
			}
			for s.decide().Action != ActWait {
			}
			if b := s.v.Job.Budget; b.Used != 0 || b.Preemptions != 1 {
				t.Errorf("charged %+v", b)
			}
		})
	}
	for name, goes := range map[string]func(s *stage){
		"dead": func(s *stage) { s.expire("c"); s.settle(); s.join("c") },
		"fenced": func(s *stage) {
			s.v.Job.Save.By = s.now.Add(2 * DefaultFence)
			s.expire("c")
			s.settle()
			s.sleep(DefaultFence)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := agreed(t)
			goes(s)
			s.decide()
			s.stopped(StopLoss, "c")
		})
	}
}

// TestEndsBeforeItIsSuspended: training that ends while a suspend is under way has ended, and the next run may begin.
func TestEndsBeforeItIsSuspended(t *testing.T) {
	s := savingStage(t)
	s.command("c1", VerbSuspend)
	s.settle(ActCommand)
	s.all(succeeds(s))
	s.settle(ActSucceed)
	s.all(hasLeft)
	for _, name := range []string{"d", "e", "f"} {
		s.join(name, uid("u2"))
	}
	s.settle(ActRerun, ActForm)
}
