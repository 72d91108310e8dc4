package rendezvous

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// asked says what a node had when it was asked at a phase's begin; reached is the highest that it remembers, 0 for none.
func asked(at int64, reached int64, steps ...int64) func(*Node) {
	return func(n *Node) {
		n.Checkpoints = &Checkpoints{Asked: at, Steps: steps}
		if reached > 0 {
			n.Checkpoints.Reached = &reached
		}
	}
}

// TestNoRoundIsFormedOnAnOldLook has a node whose list is from before the last worker had ended: what was saved since is
// not in it.
func TestNoRoundIsFormedOnAnOldLook(t *testing.T) {
	s := runningStage(t, looking(2))
	s.all(asked(s.v.Job.Seq, 0, 10))
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	d := s.settle(ActGather)
	if d.Why.For != WaitsForCheckpoints || len(d.Why.Nodes) != 2 {
		t.Fatalf("waits for %+v, want for both nodes' checkpoints", d.Why)
	}
	since := s.v.Job.SinceSeq
	s.put("a", asked(since, 20, 20, 10))
	if d := s.settle(); strings.Join(d.Why.Nodes, "") != "b" {
		t.Fatalf("waits for %+v, want for b", d.Why)
	}
	s.put("b", asked(since, 20, 20, 10))
	s.settle(ActForm)
	if r := s.v.Round.Resume; r.Step == nil || *r.Step != 20 {
		t.Errorf("resumes from %+v, want 20", r)
	}
}

func TestNotToKnowIsNotToHaveNone(t *testing.T) {
	s := newStage(t, looking(1))
	s.join("a", func(n *Node) {
		n.Checkpoints = &Checkpoints{Asked: whenever, Problem: "permission: input/output error"}
	})
	d := s.settle(ActCreate)
	if !strings.Contains(d.Why.Text, "a: permission: input/output error") {
		t.Fatalf("%+v, want a wait that says why", d.Why)
	}
	s.sleep(DefaultJoinTimeout)
	s.settle(ActFail)
	s.ended(exitcodes.Retry, exitcodes.ReasonRendezvousTimeout, 211)
	if !strings.Contains(s.v.Job.End.Message, "input/output error") {
		t.Error(s.v.Job.End.Message)
	}
}

func TestChooseResume(t *testing.T) {
	ptr := func(n int64) *int64 { return &n }
	node := func(name string, c Checkpoints) named {
		return named{name, NodeEntry{Node: &Node{Checkpoints: &c}}}
	}
	with := func(n named, step int64) named { n.Step = &step; return n }
	tests := []struct {
		name     string
		policy   ResumePolicy
		nodes    []named
		reached  *int64
		fallback bool
		decision string
		step     int64 // 0: none
		why      string
		err      string
	}{
		{name: "nothing yet", nodes: []named{node("a", Checkpoints{}), node("b", Checkpoints{})}, decision: ResumeFresh},
		{name: "the newest common", nodes: []named{
			node("a", Checkpoints{Steps: []int64{200, 100}}), node("b", Checkpoints{Steps: []int64{100}}),
		}, decision: ResumeNewest, step: 100},
		{name: "the one before it", fallback: true, nodes: []named{node("a", Checkpoints{Steps: []int64{200, 100}})},
			decision: ResumeFallback, step: 100},
		{name: "only one to fall back to", fallback: true, nodes: []named{node("a", Checkpoints{Steps: []int64{200}})},
			decision: ResumeNewest, step: 200},
		{name: "none common", nodes: []named{
			node("a", Checkpoints{Steps: []int64{200}}), node("b", Checkpoints{Steps: []int64{100}}),
		}, err: "a has 200; b has 100"},
		{name: "the first save was cut on one", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100}, Reached: ptr(100)}), node("b", Checkpoints{Cut: ptr(100)}),
		}, decision: ResumeFresh, why: "the first save, of step 100, was cut on b"},
		{name: "the first save was cut on one, and one has nothing", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100}}), node("b", Checkpoints{Cut: ptr(100)}), node("c", Checkpoints{}),
		}, err: "c has none"},
		{name: "not the first save", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100, 50}}), node("b", Checkpoints{Cut: ptr(100)}),
		}, err: "b has none"},
		{name: "saves of different steps", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100}}), node("b", Checkpoints{Cut: ptr(50)}),
		}, err: "b has none"},
		{name: "the first save was cut, and one is required", policy: ResumePolicy{Require: RequireAlways}, nodes: []named{
			node("a", Checkpoints{Steps: []int64{100}}), node("b", Checkpoints{Cut: ptr(100)}),
		}, err: "b has none"},
		{name: "cut, and one had been reached", reached: ptr(50), nodes: []named{
			node("a", Checkpoints{Steps: []int64{100}}), node("b", Checkpoints{Cut: ptr(100)}),
		}, err: "step 50 had been reached"},
		{name: "lost", reached: ptr(100), nodes: []named{node("a", Checkpoints{})}, err: "step 100 had been reached"},
		{name: "a node remembers", nodes: []named{node("a", Checkpoints{Reached: ptr(100)})}, err: "step 100 had been reached"},
		{name: "a newcomer does not", nodes: []named{
			node("a", Checkpoints{Steps: []int64{200}, Reached: ptr(200)}), node("b", Checkpoints{}),
		}, err: "step 200 had been reached"},
		{name: "the other node was behind", nodes: []named{
			node("a", Checkpoints{Steps: []int64{200, 100}, Reached: ptr(200)}),
			node("b", Checkpoints{Steps: []int64{100}, Reached: ptr(100)}),
		}, decision: ResumeNewest, step: 100},
		{name: "one could not save, and then another", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100, 80}, Reached: ptr(100)}),
			node("b", Checkpoints{Steps: []int64{120, 80}, Reached: ptr(120)}),
		}, decision: ResumeNewest, step: 80},
		{name: "one has lost its newest", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100, 80}, Reached: ptr(100)}),
			node("b", Checkpoints{Steps: []int64{80}, Reached: ptr(120)}),
		}, err: "step 100 had been reached"},
		{name: "regressed", reached: ptr(200), nodes: []named{node("a", Checkpoints{Steps: []int64{100}})},
			err: "step 200 had been reached, and the newest complete checkpoint common to all nodes is of step 100"},
		{name: "regressed, and nobody minds", reached: ptr(200), policy: ResumePolicy{Require: RequireNever},
			nodes: []named{node("a", Checkpoints{Steps: []int64{100}})}, decision: ResumeNewest, step: 100},
		{name: "lost, and nobody minds", reached: ptr(200), policy: ResumePolicy{Require: RequireNever},
			nodes: []named{node("a", Checkpoints{})}, decision: ResumeFresh},
		{name: "one is required", policy: ResumePolicy{Require: RequireAlways}, nodes: []named{node("a", Checkpoints{})},
			err: "one is required"},
		{name: "vetoed", nodes: []named{node("a", Checkpoints{Veto: "too_old: 9 days"})}, err: "a: too_old: 9 days"},
		{name: "step 0 is a step", nodes: []named{node("a", Checkpoints{Steps: []int64{0}})}, decision: ResumeNewest, step: 0},
		{name: "too much lost", policy: ResumePolicy{MaxLostSteps: 50},
			nodes: []named{with(node("a", Checkpoints{Steps: []int64{100}}), 151)}, err: "more than 50 steps would be lost"},
		{name: "just not too much", policy: ResumePolicy{MaxLostSteps: 50},
			nodes: []named{with(node("a", Checkpoints{Steps: []int64{100}}), 150)}, decision: ResumeNewest, step: 100},
		{name: "the same step twice on one node", nodes: []named{
			node("a", Checkpoints{Steps: []int64{100, 100}}), node("b", Checkpoints{}),
		}, err: "b has none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := looking(len(tt.nodes))
			spec.Resume.Require, spec.Resume.MaxLostSteps = tt.policy.Require, tt.policy.MaxLostSteps
			turn := &turn{job: &Job{Spec: spec, Reached: reached(tt.reached, tt.nodes), Fallback: tt.fallback}}
			r, err := turn.chooseResume(tt.nodes)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%+v, error %v, want %q", r, err, tt.err)
				}
			case err != nil:
				t.Error(err)
			case r.Decision != tt.decision || !strings.HasPrefix(r.Why, tt.why) || (tt.why == "") != (r.Why == "") || r.Step != nil && *r.Step != tt.step || r.Step == nil && tt.decision != ResumeFresh:
				t.Errorf("%+v, want %s %d", r, tt.decision, tt.step)
			}
		})
	}
}

// TestProgressRefundsTheBudget fails twenty times, each after a newer checkpoint, with a budget of three.
func TestProgressRefundsTheBudget(t *testing.T) {
	s := runningStage(t, looking(2))
	for i := range int64(20) {
		s.all(checkpoints(50 * (i + 1)))
		s.fails("a")
		s.settle(ActStop)
		s.stopsAll()
		s.run(ActGather, ActForm)
		if got := s.v.Job.Budget; got.Used != 1 || got.Total != int(i+1) {
			t.Fatalf("failure %d: %+v", i, got)
		}
	}
}

// TestAnOldCheckpointIsNoProgress begins on a directory that holds one already.
func TestAnOldCheckpointIsNoProgress(t *testing.T) {
	spec := looking(1)
	spec.Restarts.Max, spec.Restarts.MaxSameFailure = 2, 0
	s := newStage(t, spec)
	s.join("a", checkpoints(100))
	s.run(ActCreate, ActForm)
	for range 2 {
		s.fails("a")
		s.settle(ActStop)
		for s.stopsAll(); s.v.Job.Phase != Running; s.sleep(time.Minute) {
			s.decide()
		}
		s.started()
	}
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	for s.v.Job.Phase != Failed && s.v.Job.Phase != Running {
		s.decide()
	}
	s.ended(exitcodes.Retry, exitcodes.ReasonRestartBudgetExhausted, s.v.Job.End.Code)
}

func TestMinProgress(t *testing.T) {
	at := func(n int64) Progress { return Progress{Checkpoint: &n, looked: true, atLeast: 10} }
	for _, tt := range []struct {
		now, mark Progress
		want      bool
	}{
		{at(9), Progress{}, true},
		{at(19), at(10), false},
		{at(20), at(10), true},
		{Progress{looked: true, Step: new(int64(99))}, Progress{}, false},
		{Progress{Step: new(int64(99))}, Progress{}, true},
	} {
		if got := tt.now.since(tt.mark); got != tt.want {
			t.Errorf("%+v since %+v: %v", tt.now, tt.mark, got)
		}
	}
}

// TestACheckpointThatIsNotReadIsFallenBackFrom has workers that start over although they were given a checkpoint. One
// that is gone by then needs no going back from.
func TestACheckpointThatIsNotReadIsFallenBackFrom(t *testing.T) {
	for _, tt := range []struct {
		left     []int64
		decision string
	}{{[]int64{20, 10}, ResumeFallback}, {[]int64{10, 5}, ResumeNewest}} {
		spec := looking(2)
		spec.Resume.Require = RequireNever
		s := runningStage(t, spec)
		s.all(checkpoints(20, 10))
		s.fails("a")
		s.settle(ActStop)
		s.stopsAll()
		s.run(ActGather, ActForm)
		s.all(checkpoints(tt.left...))
		s.fails("a", func(o *Outcome) { o.Reason = exitcodes.ReasonCheckpointUnusable })
		s.settle(ActStop)
		s.stopsAll()
		for s.v.Job.Phase != Running {
			s.decide()
			s.sleep(time.Second)
		}
		if r := s.v.Round.Resume; r.Decision != tt.decision || *r.Step != 10 {
			t.Errorf("%v left: %s from %d", tt.left, r.Decision, *r.Step)
		}
	}
}

// TestASpentBudgetDoesNotWaitForALostNode: nobody has to come for a job that will not go on.
func TestASpentBudgetDoesNotWaitForALostNode(t *testing.T) {
	spec := looking(2)
	spec.Restarts.Max, spec.Restarts.Exhausted = 1, ExhaustedFatal
	s := runningStage(t, spec)
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	s.run(ActGather, ActForm)
	s.fails("a")
	s.settle(ActStop)
	s.expire("b")
	s.put("a", stops)
	s.settle()
	s.sleep(DefaultFence)
	s.settle(ActGather, ActFail)
	s.ended(exitcodes.Fatal, exitcodes.ReasonRestartBudgetExhausted, exitcodes.CodeNoProgress)
}

// TestANewcomerTakesNoProgressAway has a spare that knows of no checkpoints.
func TestANewcomerTakesNoProgressAway(t *testing.T) {
	spec := looking(3)
	spec.MinNodes, spec.LastCall = 2, 0
	s := newStage(t, spec)
	s.join("a", checkpoints())
	s.join("b", checkpoints())
	s.run(ActCreate, ActForm)
	s.all(checkpoints(10))
	s.join("c", checkpoints())
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	for s.v.Job.Phase == Stopping || s.v.Job.Phase == Forming {
		s.decide()
	}
	if m := s.v.Job.Budget.Mark.Checkpoint; m == nil || *m != 10 {
		t.Errorf("the budget knows of %v, want 10", m)
	}
}

// TestIdentity wants a checkpoint that says no step to be resumed from only when all nodes have the same content.
func TestIdentity(t *testing.T) {
	node := func(c Checkpoints) named { return named{"n", NodeEntry{Node: &Node{Checkpoints: &c}}} }
	policy := Job{Spec: Spec{Resume: ResumePolicy{Look: true}}}
	own := policy
	own.Spec.Resume.Own = true
	reached := policy
	zero := int64(0)
	reached.Reached = &zero
	for _, tt := range []struct {
		name  string
		job   Job
		nodes []named
		want  Resume
		fails string
	}{
		{"the same content", policy, []named{node(Checkpoints{Identities: []string{"b", "a"}}), node(Checkpoints{Identities: []string{"a"}})},
			Resume{Decision: ResumeNewest, Identity: "a"}, ""},
		{"different contents", policy, []named{node(Checkpoints{Identities: []string{"a"}}), node(Checkpoints{Identities: []string{"b"}})},
			Resume{}, "content a"},
		{"a step and a content", policy, []named{node(Checkpoints{Identities: []string{"a"}}), node(Checkpoints{Steps: []int64{1}})}, Resume{}, "has 1"},
		{"steps and epochs", policy, []named{node(Checkpoints{Steps: []int64{1}}), node(Checkpoints{Steps: []int64{1}, Unit: "epoch"})}, Resume{}, "has 1"},
		{"epochs", policy, []named{node(Checkpoints{Steps: []int64{2}, Unit: "epoch"})}, Resume{Decision: ResumeNewest, Step: new(int64(2)), Unit: "epoch"}, ""},
		{"what was reached is gone", reached, []named{node(Checkpoints{})}, Resume{}, "a checkpoint had been reached"},
		{"the script finds its own", own, []named{node(Checkpoints{Veto: "state that cannot be resumed from"})}, Resume{Decision: ResumeFresh}, ""},
		{"whole, and not to be resumed from", policy, []named{node(Checkpoints{Veto: "state that cannot be resumed from"})}, Resume{}, "state that cannot"},
	} {
		job := tt.job
		got, err := (&turn{job: &job}).chooseResume(tt.nodes)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.fails)
		}
		same := (got.Step == nil) == (tt.want.Step == nil) && (got.Step == nil || *got.Step == *tt.want.Step)
		if got.Decision != tt.want.Decision || got.Identity != tt.want.Identity || got.Unit != tt.want.Unit || !same {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
