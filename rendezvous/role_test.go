package rendezvous

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// roleStage is a running round of a and b, which are of the gang, and of x with a role of that policy.
func roleStage(t *testing.T, p RolePolicy) *stage {
	spec := DefaultSpec(3)
	spec.Roles = map[string]RolePolicy{"x": p}
	s := newStage(t, spec)
	s.join("a")
	s.join("b")
	s.join("x", func(n *Node) { n.Role = "x" })
	s.run(ActCreate, ActForm)
	return s
}

func again(o *Outcome) { o.RestartsAlone = true }

// TestAFailureOfARole is what the failure of one node does to the others, by its role.
func TestAFailureOfARole(t *testing.T) {
	for name, tc := range map[string]struct {
		policy  RolePolicy
		outcome []func(*Outcome)
		stops   bool
		ends    bool
	}{
		"gang":                           {RolePolicy{}, nil, true, false},
		"gang, not required":             {RolePolicy{Optional: true}, nil, true, false},
		"gang, not required, fatal":      {RolePolicy{Optional: true}, []func(*Outcome){fatal}, true, true},
		"self, and it restarts":          {RolePolicy{Restart: RestartSelf}, []func(*Outcome){again}, false, false},
		"self, restarts no more":         {RolePolicy{Restart: RestartSelf}, nil, true, false},
		"self, fatal":                    {RolePolicy{Restart: RestartSelf}, []func(*Outcome){fatal}, true, true},
		"self, not required":             {RolePolicy{Restart: RestartSelf, Optional: true}, nil, false, false},
		"self, not required, fatal":      {RolePolicy{Restart: RestartSelf, Optional: true}, []func(*Outcome){fatal}, false, false},
		"never":                          {RolePolicy{Restart: RestartNever}, nil, true, true},
		"never, fatal":                   {RolePolicy{Restart: RestartNever}, []func(*Outcome){fatal}, true, true},
		"never, not required":            {RolePolicy{Restart: RestartNever, Optional: true}, nil, false, false},
		"never, not required, and fatal": {RolePolicy{Restart: RestartNever, Optional: true}, []func(*Outcome){fatal}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := roleStage(t, tc.policy)
			s.fails("x", tc.outcome...)
			s.put("x", stops)
			if !tc.stops {
				s.settle()
				s.phase(Running)
				s.put("a", succeeds(s))
				s.settle()
				s.put("b", succeeds(s))
				if !tc.policy.Optional {
					s.settle() // it has yet to succeed itself
					s.put("x", runs(0))
					s.settle()
					s.put("x", succeeds(s))
				}
				s.settle(ActSucceed)
				return
			}
			s.settle(ActStop)
			s.stopped(StopFailure, "x")
			s.stopsAll()
			if tc.ends {
				s.settle(ActFail)
				if c := s.v.Job.End.Cause; c == nil || c.Node != "x" {
					t.Errorf("the cause is %+v", c)
				}
				return
			}
			s.settle(ActForm)
		})
	}
}

// TestANodeOfARoleGoes is what becomes of the others when a node leaves or is lost.
func TestANodeOfARoleGoes(t *testing.T) {
	for name, tc := range map[string]struct {
		policy RolePolicy
		stops  bool
	}{
		"gang":                {RolePolicy{}, true},
		"self":                {RolePolicy{Restart: RestartSelf}, true},
		"self, not required":  {RolePolicy{Restart: RestartSelf, Optional: true}, false},
		"never":               {RolePolicy{Restart: RestartNever}, true},
		"never, not required": {RolePolicy{Restart: RestartNever, Optional: true}, false},
	} {
		t.Run(name+" leaves", func(t *testing.T) {
			s := roleStage(t, tc.policy)
			s.put("x", leaves)
			if tc.stops {
				s.settle(ActStop)
				s.stopped(StopDeparture, "x")
				return
			}
			s.settle()
			s.put("x", hasLeft)
			s.settle()
			s.phase(Running)
		})
		t.Run(name+" is lost", func(t *testing.T) {
			s := roleStage(t, tc.policy)
			s.expire("x")
			s.settle()
			s.sleep(2 * DefaultFence)
			if tc.stops {
				s.settle(ActStop)
				s.stopped(StopLoss, "x")
				s.stopsAll()
				if tc.policy.Restart == RestartNever {
					s.settle(ActFail)
				}
				return
			}
			s.settle()
			s.phase(Running)
		})
	}
}

// TestANewcomerTakesItsNamesPlace is a node whose role restarts alone, and that is replaced while the round runs.
func TestANewcomerTakesItsNamesPlace(t *testing.T) {
	s := roleStage(t, RolePolicy{Restart: RestartSelf})
	s.expire("x")
	s.settle()
	s.join("x", func(n *Node) { n.Role = "x" })
	newcomer := s.v.Nodes["x"]
	self := Self{
		Name: "x", Incarnation: newcomer.Incarnation, Role: "x", Spec: s.spec, State: NodeWaiting, Round: -1, Store: s.v.Token,
		Guard: Guard{Sent: time.Second, Fence: time.Minute, Lease: 5 * time.Second},
	}
	reading := Reading{Store: s.v.Token, Job: s.v.Job, Round: s.v.Round}
	if step := React(self, reading, 2*time.Second); step.Do != ActStart || step.Rank != 2 {
		t.Errorf("the newcomer does %+v, want the start of rank 2", step)
	}
	self.Role = "y"
	if step := React(self, reading, 2*time.Second); step.Do != ActWait {
		t.Errorf("a newcomer of another role does %+v", step)
	}
	s.settle()
	s.put("x", runs(0))
	// A gang's failure stops it as well, and the next round waits for it.
	s.fails("a")
	s.settle(ActStop)
	s.put("a", stops)
	s.put("b", stops)
	s.settle()
	s.put("x", stops)
	s.settle(ActForm)
}

// TestAnotherStartInTheSameRound is the node's half of a restart alone.
func TestAnotherStartInTheSameRound(t *testing.T) {
	s := roleStage(t, RolePolicy{Restart: RestartSelf})
	x := s.v.Round.Members[2]
	self := Self{
		Name: "x", Incarnation: x.Incarnation, Role: "x", RunUID: s.v.Job.RunUID, Spec: s.spec, State: NodeStopped, Round: 0,
		Store: s.v.Token, Guard: Guard{Sent: time.Second, Fence: time.Minute, Lease: 5 * time.Second},
	}
	reading := Reading{Store: s.v.Token, Job: s.v.Job, Round: s.v.Round}
	if step := React(self, reading, 2*time.Second); step.Do != ActWait {
		t.Errorf("it does %+v before it is time", step)
	}
	self.Again = true
	if step := React(self, reading, 2*time.Second); step.Do != ActStart {
		t.Errorf("it does %+v, want the start", step)
	}
	if step := React(self, reading, time.Hour); step.Do != ActWait {
		t.Errorf("it does %+v without having heard of the store", step)
	}
	s.fails("a")
	s.settle(ActStop)
	reading.Job = s.v.Job
	if step := React(self, reading, 2*time.Second); step.Do != ActWait {
		t.Errorf("it does %+v while the round stops", step)
	}
}

func TestRestartAlone(t *testing.T) {
	spec := DefaultSpec(2)
	spec.Restarts.Max = 2
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	retry := Outcome{Verdict: exitcodes.Retry, Reason: "Error", Code: 137, Role: "root"}
	var b Budget
	var ruling Ruling
	for i, want := range []bool{true, true, false} {
		b, ruling = spec.RestartAlone(b, retry, nil, now, "x")
		if ruling.Restart != want {
			t.Errorf("failure %d: %+v", i, ruling)
		}
	}
	if _, ruling = spec.RestartAlone(Budget{Used: 2}, CutOff("s", "r", 0, now), nil, now, "x"); !ruling.Restart {
		t.Error("a store out of reach is charged")
	}
	for name, o := range map[string]Outcome{
		"fatal":   {Verdict: exitcodes.Fatal, Code: 1, Role: "root"},
		"success": {Verdict: exitcodes.Success},
		"go away": {Verdict: exitcodes.Retry, Code: 214, Role: "root", NodeFault: true},
	} {
		if _, ruling := spec.RestartAlone(Budget{}, o, nil, now, "x"); ruling.Restart {
			t.Errorf("%s: restarted", name)
		}
	}
	spec.Restarts.Any = true
	if _, ruling := spec.RestartAlone(Budget{}, Outcome{Verdict: exitcodes.Fatal, Code: 1, Role: "root"}, nil, now, "x"); !ruling.Restart {
		t.Error("a bare exit code is not restarted although any is to be")
	}
}
