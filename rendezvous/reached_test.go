package rendezvous

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// reachedStage runs a round of three nodes that have told these steps, of a round that is as much later.
func reachedStage(t *testing.T, steps map[string]int64, later int) *stage {
	s := runningStage(t, DefaultSpec(3))
	s.v.Reached = map[string]*Reached{}
	for node, step := range steps {
		s.v.Reached[node] = &Reached{V: 1, Round: s.v.Round.Number + later, Step: &step}
	}
	return s
}

// TestBehind: where all nodes hang and none knows why, the one that has come least far is the cause.
func TestBehind(t *testing.T) {
	hang := func(o *Outcome) {
		o.Reason, o.Code, o.Role, o.Message = exitcodes.ReasonHang, 212, "suspect", "made no progress"
	}
	for name, test := range map[string]struct {
		steps map[string]int64
		round int
		node  string
		says  string
	}{
		"one":            {map[string]int64{"a": 30, "b": 30, "c": 29}, 0, "c", "made no progress; behind: c, at step 29 of 30"},
		"two":            {map[string]int64{"a": 30, "b": 29, "c": 29}, 0, "a", "made no progress; behind: b, c, at step 29 of 30"},
		"none":           {map[string]int64{"a": 30, "b": 30, "c": 30}, 0, "a", "made no progress; all nodes that report are at step 30"},
		"only one tells": {map[string]int64{"c": 30}, 0, "a", "made no progress"},
		"two tell":       {map[string]int64{"b": 31, "c": 30}, 0, "c", "made no progress; behind: c, at step 30 of 31"},
		"before":         {map[string]int64{"a": 30, "b": 30, "c": 29}, 1, "a", "made no progress"},
	} {
		t.Run(name, func(t *testing.T) {
			s := reachedStage(t, test.steps, test.round)
			for _, node := range []string{"a", "b", "c"} {
				s.fails(node, hang)
			}
			if stop := s.halts(); stop.Kind != StopFailure || stop.Node != test.node || stop.Message != test.says {
				t.Errorf("%+v", stop)
			}
		})
	}

	// A role that restarts alone counts steps of its own.
	spec := DefaultSpec(3)
	spec.Roles = map[string]RolePolicy{"evaluator": {Restart: RestartSelf}}
	evaluated := runningStage(t, spec)
	most, few := int64(30), int64(2)
	evaluated.v.Reached = map[string]*Reached{"a": {V: 1, Step: &most}, "b": {V: 1, Step: &most}, "c": {V: 1, Step: &few}}
	evaluated.v.Round.Members[2].Role = "evaluator"
	evaluated.fails("a", hang)
	evaluated.fails("b", hang)
	if stop := evaluated.halts(); stop.Node == "c" || strings.Contains(stop.Message, "behind") {
		t.Errorf("%+v", stop)
	}

	// Who knows why is right, whatever the steps say.
	s := runningStage(t, DefaultSpec(2))
	step, less := int64(30), int64(29)
	s.v.Reached = map[string]*Reached{"a": {V: 1, Step: &step}, "b": {V: 1, Step: &less}}
	s.fails("b", hang)
	s.fails("a", hang, as("root"))
	s.halts()
	s.stopped(StopFailure, "a")
}

// TestEachKnowsWhy: where several nodes have found among their own ranks whom the others wait for, the one that has come
// least far is the cause, whoever was first to say so; one that knows of nothing does not count.
func TestEachKnowsWhy(t *testing.T) {
	for name, test := range map[string]struct {
		steps map[string]int64
		round int
		node  string
		says  string
	}{
		"the second is behind":      {map[string]int64{"a": 30, "b": 29, "c": 30}, 0, "b", "rank b; behind: b, at step 29 of 30"},
		"the first is":              {map[string]int64{"a": 28, "b": 29, "c": 28}, 0, "a", "rank a; behind: a, at step 28 of 29"},
		"two are, the first is not": {map[string]int64{"a": 30, "b": 29, "c": 29}, 0, "b", "rank b; behind: b, c, at step 29 of 30"},
		"who knows of nothing is":   {map[string]int64{"a": 30, "b": 30, "c": 29}, 0, "a", "rank a"},
		"none is":                   {map[string]int64{"a": 30, "b": 30}, 0, "a", "rank a"},
		"one has not told":          {map[string]int64{"b": 29, "c": 30}, 0, "a", "rank a"},
		"that was the round before": {map[string]int64{"a": 30, "b": 29}, -1, "a", "rank a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := reachedStage(t, test.steps, test.round)
			for _, node := range []string{"a", "b", "c"} {
				s.fails(node, func(o *Outcome) {
					o.Reason, o.Code, o.Role, o.Message = exitcodes.ReasonHang, 212, "root", "rank "+node
					if node == "c" && !strings.Contains(test.says, node) {
						o.Role, o.Message = "suspect", "made no progress"
					}
				})
			}
			if stop := s.halts(); stop.Node != test.node || stop.Message != test.says || stop.Outcome.Message != test.says {
				t.Errorf("%+v, %+v", stop, stop.Outcome)
			}
		})
	}
}

// TestHangsTogether: the round stops once all members have found that they hang, since all write their stacks then. Who
// does not find it is waited for a little longer than it could take, and not where it is alone in what it does.
func TestHangsTogether(t *testing.T) {
	hang := func(o *Outcome) { o.Reason, o.Code, o.Role = exitcodes.ReasonHang, 212, "suspect" }
	s := reachedStage(t, nil, 0)
	s.fails("b", hang)
	s.settle()
	s.sleep(800 * time.Millisecond)
	s.fails("a", hang)
	s.settle()
	s.fails("c", hang)
	s.settle(ActStop)

	if foundTime >= time.Second { // which the confirmation before it takes: together two
		t.Errorf("one that finds it alone acts %v later", foundTime)
	}
	s = reachedStage(t, nil, 0)
	s.fails("b", hang)
	s.settle()
	s.sleep(foundTime - time.Millisecond)
	if d := s.settle(); !d.Next.Equal(s.now.Add(time.Millisecond)) {
		t.Errorf("the next look is in %v", d.Next.Sub(s.now))
	}
	s.sleep(time.Millisecond)
	s.settle(ActStop)

	// An echo is no hang, and another one may tell what it echoes.
	s = reachedStage(t, nil, 0)
	s.fails("a", hang)
	s.fails("b", as("cascade"))
	s.fails("c", hang)
	s.settle()
	s.sleep(evidenceTime)
	s.settle(ActStop)

	spec := DefaultSpec(3)
	spec.Roles = map[string]RolePolicy{"evaluator": {Restart: RestartSelf}}
	s = runningStage(t, spec)
	s.v.Round.Members[2].Role = "evaluator"
	s.fails("a", hang)
	s.fails("b", hang)
	s.settle(ActStop)
}

// TestStacksTakeTime: who of several nodes is behind is known once all have written their stacks, however long a busy machine
// takes for that. Who never does is not waited for.
func TestStacksTakeTime(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		node  string
	}{"late": {stacksTime - time.Second, "b"}, "never": {0, "a"}} {
		t.Run(name, func(t *testing.T) {
			hang := func(role string) func(*Outcome) {
				return func(o *Outcome) { o.Reason, o.Code, o.Role = exitcodes.ReasonHang, 212, role }
			}
			s := reachedStage(t, map[string]int64{"a": 30, "b": 29, "c": 30}, 0)
			for _, node := range []string{"a", "b", "c"} {
				s.fails(node, hang("suspect"))
			}
			s.settle(ActStop)
			s.fails("a", hang("root"))
			s.put("a", stops)
			if s.settle(); test.after == 0 {
				s.sleep(stacksTime)
				s.settle(ActJudge)
			} else {
				s.sleep(test.after)
				s.settle()
				s.fails("b", hang("root"))
				s.stopsAll()
				s.settle(ActForm)
			}
			s.stopped(StopFailure, test.node)
		})
	}
}

// TestNamedMayBeLate: an echo names a rank, and what another stopped worker had said is known first: the one that is named is
// waited for.
func TestNamedMayBeLate(t *testing.T) {
	s := reachedStage(t, map[string]int64{"a": 30, "b": 29, "c": 30}, 0)
	s.fails("a", func(o *Outcome) { o.Role, o.Names = "cascade", []int{1} })
	s.settle()
	s.sleep(evidenceTime)
	s.settle(ActStop)
	said := func(node string, rank int, line string) {
		s.fails(node, func(o *Outcome) {
			o.Role, o.Verdict = "", exitcodes.Success
			o.Said = &Said{Verdict: exitcodes.Retry, Code: 210, Reason: "PeerLost", Rank: rank, Evidence: line}
		})
	}
	s.put("a", stops)
	said("c", 2, "of the other")
	s.put("c", stops)
	s.settle()
	s.sleep(2 * evidenceTime)
	s.settle()
	said("b", 1, "of the named one")
	s.stopsAll()
	s.settle(ActForm)
	s.stopped(StopFailure, "b")
}

// TestReachedIsSmall: the largest there can be fits into what is allowed.
func TestReachedIsSmall(t *testing.T) {
	most := int64(1<<63 - 1)
	r := Reached{V: 1, Round: maxNumber, Step: &most, Phase: strings.Repeat("x", maxPhase), Still: true, Checkpoint: &most, Own: &OwnTime{
		Minute: maxOwnSteps, Usec: maxOwnUsec, Step: maxOwnUsec, Steps: maxOwnSteps, Rank: maxOwnRank, RankUsec: maxOwnUsec,
	}}
	value, err := Encode(&r)
	if err != nil || len(value) > maxReachedBytes {
		t.Fatalf("%d bytes, %v", len(value), err)
	}
	if _, err := ParseReached("progress/a", value); err != nil {
		t.Error(err)
	}
	r.Phase += "x"
	if value, _ = Encode(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseReached("progress/a", value); err == nil {
		t.Error("a long phase is read")
	}
}

// TestStandsStill: the nodes are compared when all that tell stand still, those of another round and of roles that restart
// alone aside.
func TestStandsStill(t *testing.T) {
	at := func(round int, step int64, phase string, still bool) *Reached {
		return &Reached{V: 1, Round: round, Step: &step, Phase: phase, Still: still}
	}
	for name, test := range map[string]struct {
		reached map[string]*Reached
		want    string
	}{
		"one is behind":    {map[string]*Reached{"a": at(3, 30, "", true), "b": at(3, 29, "eval", true), "c": at(3, 30, "", true)}, "behind: b (eval), at step 29 of 30"},
		"two are":          {map[string]*Reached{"a": at(3, 30, "", true), "b": at(3, 29, "", true), "c": at(3, 29, "train", true)}, "behind: b, c, at step 29 of 30"},
		"none is":          {map[string]*Reached{"a": at(3, 30, "", true), "b": at(3, 30, "", true)}, "all nodes that report are at step 30"},
		"one gets on":      {map[string]*Reached{"a": at(3, 30, "", true), "b": at(3, 29, "", false), "c": at(3, 30, "", true)}, ""},
		"one tells":        {map[string]*Reached{"a": at(3, 30, "", true)}, ""},
		"of another round": {map[string]*Reached{"a": at(3, 30, "", true), "b": at(2, 29, "", true)}, ""},
		"of a role that restarts alone": {map[string]*Reached{"a": at(3, 30, "", true), "b": at(3, 30, "", true), "e": at(3, 1, "", false)},
			"all nodes that report are at step 30"},
		"nobody": {nil, ""},
	} {
		v := View{
			Job:   &Job{Phase: Running, Round: 3, Spec: Spec{Roles: map[string]RolePolicy{"evaluator": {Restart: RestartSelf}}}},
			Round: &Round{Number: 3, Members: []Member{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "e", Role: "evaluator"}}}, Reached: test.reached,
		}
		if got := StandsStill(v); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		v.Job.Phase = Stopping
		if got := StandsStill(v); got != "" {
			t.Errorf("%s, while it stops: %q", name, got)
		}
	}
}
