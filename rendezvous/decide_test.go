package rendezvous

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestPinnedRanks(t *testing.T) {
	s := newStage(t, DefaultSpec(3))
	s.join("a", pin(2))
	s.join("b", pin(0))
	d := s.settle(ActCreate)
	if !reflect.DeepEqual(d.Why.Nodes, []string{"rank 1"}) {
		t.Errorf("missing %v, want rank 1", d.Why.Nodes)
	}
	s.join("d", pin(0))
	if d = s.settle(); !strings.Contains(d.Why.Text, "without a place") {
		t.Errorf("nothing about a rank given twice: %s", d.Why.Text)
	}
	s.join("c", pin(1))
	s.run(ActForm)
	if s.ranks() != "bca" {
		t.Errorf("ranks %s, want bca", s.ranks())
	}
	s.fails("b")
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
	if s.ranks() != "bca" {
		t.Errorf("ranks %s after a restart, want bca", s.ranks())
	}
}

func TestRanksStayAndAReplacementTakesTheHole(t *testing.T) {
	s := runningStage(t, DefaultSpec(4))
	s.join("z") // a spare
	s.settle()
	s.expire("b")
	s.settle()
	s.sleep(DefaultFence)
	s.settle(ActStop)
	s.stopped(StopLoss, "b")
	s.stopsAll()
	s.settle(ActForm)
	if s.ranks() != "azcd" {
		t.Errorf("ranks %s, want azcd: the spare takes the place of b", s.ranks())
	}
	if s.v.Job.Budget.Used != 1 {
		t.Errorf("a loss without a word costs %d restarts, want 1", s.v.Job.Budget.Used)
	}
	s.started()
	s.put("c", leaves)
	s.settle(ActStop)
	s.stopsAll()
	s.put("c", hasLeft)
	s.settle(ActGather)
	s.join("c")
	s.settle(ActForm)
	if s.ranks() != "azcd" {
		t.Errorf("ranks %s, want azcd: the replacement of c takes its place", s.ranks())
	}
	if b := s.v.Job.Budget; b.Used != 1 || b.Preemptions != 1 {
		t.Errorf("budget %+v: a departure has its own", b)
	}
}

func TestAReplacementIsKnownByItsName(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.expire("b")
	s.settle()
	s.join("b") // same boot and PID namespace: proof
	s.settle(ActStop)
	s.stopsAll()
	s.join("x")
	s.settle(ActForm)
	if s.ranks() != "abc" {
		t.Errorf("ranks %s, want abc", s.ranks())
	}
}

func TestFence(t *testing.T) {
	for name, tc := range map[string]struct {
		newcomer func(*Node)
		unique   bool
		proof    bool
	}{
		"same boot and namespace":   {func(*Node) {}, false, true},
		"same boot only":            {func(n *Node) { n.PIDNS = "other" }, false, false},
		"same namespace only":       {func(n *Node) { n.BootID = "other" }, false, false},
		"nothing known":             {func(n *Node) { n.BootID, n.PIDNS = "", "" }, false, false},
		"unique names":              {func(n *Node) { n.BootID, n.PIDNS, n.Unique = "other", "other", true }, true, true},
		"only the newcomer says so": {func(n *Node) { n.BootID, n.PIDNS, n.Unique = "other", "other", true }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, DefaultSpec(2))
			s.join("a")
			s.join("b", func(n *Node) { n.Unique = tc.unique })
			s.run(ActCreate, ActForm)
			s.expire("b")
			s.sleep(time.Second)
			s.settle()
			s.join("b", tc.newcomer)
			s.settle(ActStop)
			s.put("a", stops)
			if tc.proof {
				s.settle(ActForm)
				return
			}
			d := s.settle()
			s.now = d.Next
			d = s.settle(ActJudge)
			if d.Why.For != WaitsForFence || !reflect.DeepEqual(d.Why.Nodes, []string{"b"}) {
				t.Fatalf("waits for %+v, want the fence of b", d.Why)
			}
			s.now = d.Next.Add(-time.Nanosecond)
			s.settle()
			s.now = d.Next
			s.settle(ActForm)
		})
	}
}

func TestSilenceBeginsAnew(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.expire("b")
	s.settle()
	s.sleep(DefaultFence - time.Second)
	// b was back in between, and is gone again when the leader looks.
	s.rev++
	s.puts = append(s.puts, Put{"b", s.v.Round.Members[1].Incarnation, s.rev})
	d := s.settle()
	if want := s.now.Add(DefaultFence); !d.Next.Equal(want) {
		t.Errorf("b counts as gone at %v, want %v", d.Next, want)
	}
	s.sleep(DefaultFence - time.Second)
	s.v.Observations = Observations{} // a new leader, or a lost watch
	d = s.settle()
	if want := s.now.Add(DefaultFence); !d.Next.Equal(want) {
		t.Errorf("b counts as gone at %v, want %v", d.Next, want)
	}
}

func TestNothingIsDecidedOnAnOldView(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.expire("b")
	s.settle()
	s.sleep(2 * DefaultFence)
	v := s.v
	v.Read = v.Rev + 1
	if d := Decide(v, s.now); d.Action != ActWait || d.Why.For != WaitsForWatch {
		t.Errorf("decided %s on an old view", d.Action)
	}
}

func TestASilentNodeMayComeBack(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	e := s.v.Nodes["b"]
	s.expire("b")
	s.settle()
	s.sleep(DefaultFence / 2)
	s.rev++
	e.CreateRev, e.ModRev = s.rev, s.rev
	s.set("b", e)
	s.settle()
	s.sleep(DefaultFence)
	s.settle()
	s.phase(Running)
}

func TestANodeThatStopsByItselfCostsNothing(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.put("b", stops, func(n *Node) {
		o := CutOff(s.v.Token, s.v.Job.RunUID, 0, s.now)
		n.Outcome = &o
	})
	s.settle(ActStop)
	s.fails("a", as("cascade"))
	s.put("a", stops)
	s.settle(ActForm)
	if s.v.Job.Budget.Used != 0 {
		t.Errorf("budget %+v, want nothing used", s.v.Job.Budget)
	}
}

func TestWhoIsSilentMayBeOutOfReachAsWell(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	cutOff := func(n *Node) {
		o := CutOff(s.v.Token, s.v.Job.RunUID, 0, s.now)
		n.Outcome = &o
	}
	c := s.v.Nodes["c"]
	s.expire("c")
	s.put("b", stops, cutOff)
	s.settle(ActStop)
	s.put("a", stops, cutOff)
	s.settle()
	s.sleep(2 * returnTime)
	if d := s.settle(); d.Why.For != WaitsForFence {
		t.Errorf("waits for %+v, want c", d.Why)
	}
	s.set("c", c)
	s.put("c", stops, cutOff)
	s.settle(ActForm)
	s.stopped(StopStore, "a")
	if b := s.v.Job.Budget; b.Total != 0 {
		t.Errorf("budget %+v, want nothing used", b)
	}
}

func TestRootCause(t *testing.T) {
	type told struct {
		node string
		edit []func(*Outcome)
	}
	for name, tc := range map[string]struct {
		reports []told
		before  func(*stage)
		kind    string
		node    string
		verdict exitcodes.Verdict // of the end; empty: restarted
	}{
		"the first root":       {[]told{{"c", nil}, {"b", nil}}, nil, StopFailure, "c", ""},
		"root before cascade":  {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", nil}}, nil, StopFailure, "c", ""},
		"root before suspect":  {[]told{{"b", []func(*Outcome){as("suspect")}}, {"c", nil}}, nil, StopFailure, "c", ""},
		"suspect over cascade": {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){as("suspect")}}}, nil, StopFailure, "c", ""},
		"a fatal echo alone":   {[]told{{"b", []func(*Outcome){as("cascade"), fatal}}}, nil, StopFailure, "b", ""},
		"a fatal suspect":      {[]told{{"b", []func(*Outcome){as("suspect"), fatal}}}, nil, StopFailure, "b", exitcodes.Fatal},
		"a fatal root late":    {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){fatal}}}, nil, StopFailure, "c", exitcodes.Fatal},
		"a silent node, echoes": {[]told{{"b", []func(*Outcome){as("cascade"), fatal}}},
			func(s *stage) { s.expire("a") }, StopLoss, "a", ""},
		"a silent node, suspects": {[]told{{"b", []func(*Outcome){as("suspect"), fatal}}},
			func(s *stage) { s.expire("a") }, StopLoss, "a", ""},
		"a silent node, a root": {[]told{{"b", []func(*Outcome){fatal}}},
			func(s *stage) { s.expire("a") }, StopFailure, "b", exitcodes.Fatal},
		"a leaving node, echoes": {[]told{{"b", []func(*Outcome){as("cascade"), fatal}}},
			func(s *stage) { s.put("a", leaves) }, StopDeparture, "a", ""},
		"an echo, and what was said before": {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){hadSaid}}},
			nil, StopFailure, "c", exitcodes.Fatal},
		"said before, and a silent node": {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){hadSaid}}},
			func(s *stage) { s.expire("a") }, StopFailure, "c", exitcodes.Fatal},
		"said before, and a root": {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){hadSaid}}, {"a", nil}},
			nil, StopFailure, "a", ""},
		"of another round": {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){fatal, func(o *Outcome) { o.Round = 7 }}}},
			nil, StopFailure, "b", ""},
		"of another store": {[]told{{"b", []func(*Outcome){as("cascade")}}, {"c", []func(*Outcome){fatal, func(o *Outcome) { o.Store = "x" }}}},
			nil, StopFailure, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := runningStage(t, DefaultSpec(3))
			for _, r := range tc.reports {
				s.fails(r.node, r.edit...)
			}
			if d := s.decide(); d.Action == ActWait { // for whoever may yet tell more
				s.now = d.Next
				s.decide()
			}
			s.phase(Stopping)
			if tc.before != nil {
				tc.before(s)
			}
			s.stopsAll()
			for i := 0; i < 5 && !s.v.Job.Stop.Judged; i++ {
				if d := s.decide(); d.Action == ActWait {
					s.now = d.Next
				}
			}
			s.stopped(tc.kind, tc.node)
			if got := s.v.Job.End; (got == nil) != (tc.verdict == "") || got != nil && got.Verdict != tc.verdict {
				t.Errorf("ended with %+v, want verdict %q", got, tc.verdict)
			}
		})
	}
}

// TestKilledOnItsWay is a node that was leaving as announced, and whose grace ran out: that is no failure.
func TestKilledOnItsWay(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.put("b", leaves)
	s.settle(ActStop)
	s.expire("b")
	s.stopsAll()
	s.settle()
	s.sleep(DefaultFence)
	s.settle(ActGather)
	if b := s.v.Job.Budget; b.Used != 0 || b.Preemptions != 1 || s.v.Job.Stop.Kind != StopDeparture {
		t.Errorf("%+v, stopped by %+v", b, s.v.Job.Stop)
	}
}

// TestAnEchoComesFirst is a process that dies of an error of its own, and closes its connections before it is gone: its
// peers fail sooner than it does. Nobody is stopped before it could say so.
func TestAnEchoComesFirst(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.fails("a", as("cascade"))
	s.put("a", stops)
	s.settle()
	s.sleep(evidenceTime / 2)
	s.fails("b", fatal)
	s.settle(ActStop)
	s.stopped(StopFailure, "b")
	s.stopsAll()
	s.settle(ActFail)
	s.ended(exitcodes.Fatal, "Error", 1)

	// When nobody is left who could tell, nobody waits.
	s = runningStage(t, DefaultSpec(2))
	s.fails("a", as("cascade"))
	s.put("a", stops)
	s.settle()
	s.fails("b", as("suspect")) // of its workers another one may still run
	s.settle()
	s.put("b", stops)
	s.settle(ActStop, ActForm)

	// Nor for somebody who has come to an end.
	s = runningStage(t, DefaultSpec(2))
	s.put("b", succeeds(s))
	s.fails("a", as("cascade"))
	s.put("a", stops)
	s.settle(ActStop, ActForm)
}

func TestOutcomeRevisionOutlivesLaterPuts(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.fails("b", func(o *Outcome) { o.Reason = "First" })
	first := s.v.Nodes["b"].ModRev
	s.fails("a", func(o *Outcome) { o.Reason = "Second" })
	s.put("b", stops, func(n *Node) { n.OutcomeRev = first })
	s.put("a", stops)
	s.decide()
	s.decide()
	s.stopped(StopFailure, "b")
}

func TestAnEchoWaitsForAllAndARootForASecond(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.fails("a", as("cascade"), fatal)
	if d := s.settle(); !d.Next.Equal(s.now.Add(evidenceTime)) {
		t.Errorf("looks again at %v, want %v", d.Next, s.now.Add(evidenceTime))
	}
	s.sleep(evidenceTime)
	s.settle(ActStop)
	s.sleep(time.Minute)
	s.settle()
	s.fails("b", fatal)
	d := s.decide() // a minute is long enough
	if d.Action != ActFail {
		t.Fatalf("did %s, want Fail", d.Action)
	}
	s.ended(exitcodes.Fatal, "Error", 1)

	s = runningStage(t, DefaultSpec(3))
	s.fails("a", fatal)
	d = s.settle(ActStop)
	if want := s.now.Add(evidenceTime); !d.Next.Equal(want) {
		t.Errorf("looks again at %v, want %v", d.Next, want)
	}
	s.now = d.Next
	s.settle(ActFail)
}

func TestRestartBudget(t *testing.T) {
	spec := DefaultSpec(2)
	spec.Restarts.Max = 2
	for _, exhausted := range []string{ExhaustedRetry, ExhaustedFatal} {
		spec.Restarts.Exhausted = exhausted
		s := runningStage(t, spec)
		for i := range 3 {
			s.fails("b", func(o *Outcome) { o.Code = 139 })
			s.settle(ActStop)
			s.stopsAll()
			if i == 2 {
				break
			}
			d := s.decide()
			if d.Action == ActGather { // a pause before the second
				d = s.settle()
				if d.Why.For != WaitsForTime || d.Next.Sub(s.now) > time.Second {
					t.Fatalf("waits for %+v until %v", d.Why, d.Next)
				}
				s.now = d.Next
				s.settle(ActForm)
			}
			s.started()
		}
		s.settle(ActFail)
		if exhausted == ExhaustedFatal {
			s.ended(exitcodes.Fatal, exitcodes.ReasonRestartBudgetExhausted, 90)
		} else {
			s.ended(exitcodes.Retry, exitcodes.ReasonRestartBudgetExhausted, 139)
		}
		if s.v.Job.End.Cause.Node != "b" {
			t.Errorf("root cause %+v", s.v.Job.End.Cause)
		}
	}
}

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

func TestWhatHasStoppedIsNotWaitedForAgain(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.command("1", VerbSuspend)
	s.settle(ActCommand)
	s.stopsAll()
	s.settle(ActSuspend)
	s.expire("a") // they leave without a farewell
	s.expire("b")
	s.v.Observations = Observations{} // and nobody remembers
	other := func(n *Node) { n.BootID = "other" }
	s.join("a", other)
	s.join("b", other)
	s.command("2", VerbResume)
	s.settle(ActCommand, ActForm)
	if s.v.Job.MembersGone {
		t.Error("the members of the new round have not stopped")
	}
}

func TestCommands(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.command("1", VerbRestart, func(c *Control) { c.Round = new(int) })
	s.settle(ActCommand)
	s.stopped(StopRestart, "")
	s.command("1", VerbRestart) // sent twice
	s.settle(ActCommand)
	s.stopsAll()
	s.run(ActForm)
	s.command("1", VerbRestart) // and again, late
	s.settle(ActCommand)
	s.command("2", VerbRestart, func(c *Control) { c.Round = new(int) }) // about a round that is over
	s.settle(ActCommand)
	s.command("3", VerbRestart, func(c *Control) { c.RunUID = "another" })
	s.settle(ActCommand)
	s.phase(Running)
	if len(s.v.Controls) != 0 || s.v.Job.Budget.Used != 0 {
		t.Errorf("left %v, budget %+v", s.v.Controls, s.v.Job.Budget)
	}

	s.command("4", VerbSuspend)
	s.settle(ActCommand)
	s.stopsAll()
	s.settle(ActSuspend)
	s.sleep(1000 * time.Hour)
	d := s.settle()
	if d.Why.For != WaitsForUser {
		t.Errorf("waits for %+v", d.Why)
	}
	s.all(hasLeft)
	changed := s.spec
	changed.Restarts.Max = 9
	s.spec = changed
	s.join("a", uid(s.v.Job.RunUID))
	s.join("b", uid(s.v.Job.RunUID))
	s.settle()
	s.command("5", VerbResume)
	s.settle(ActCommand, ActForm)
	if s.v.Job.Spec.Restarts.Max != 9 {
		t.Error("the changed spec was not taken over")
	}

	s.command("6", VerbStop)
	s.settle(ActCommand)
	s.ended(exitcodes.Fatal, ReasonStopped, 91)
}

func TestResumeBeforeSuspended(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.command("1", VerbSuspend)
	s.settle(ActCommand)
	s.command("2", VerbResume)
	s.settle(ActCommand)
	s.stopsAll()
	s.settle(ActForm)
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

func TestDecideIsTotal(t *testing.T) {
	now := time.Unix(1e9, 0)
	broken := &Job{Phase: "?", Round: 3, NextRound: 4}
	for _, v := range []View{
		{}, {Job: &Job{}}, {Job: broken}, {Job: &Job{Phase: Running, Round: -1}}, {Job: &Job{Phase: Forming, Round: -1}},
		{Job: &Job{Phase: Suspended, Round: -1}}, {Job: &Job{Phase: Failed, Round: -1}}, {Nodes: map[string]NodeEntry{"a": {Node: &Node{}}}},
	} {
		Decide(v, now)
	}
}

func TestDecideChangesNothingItIsGiven(t *testing.T) {
	s := runningStage(t, DefaultSpec(2))
	s.fails("a")
	s.command("1", VerbSuspend)
	b, _ := Encode(s.v.Job)
	before := s.v
	before.Nodes = map[string]NodeEntry{}
	for k, e := range s.v.Nodes {
		before.Nodes[k] = e
	}
	first := Decide(s.v, s.now)
	second := Decide(s.v, s.now)
	after, _ := Encode(s.v.Job)
	if !slices.Equal(b, after) || !reflect.DeepEqual(before, s.v) || !reflect.DeepEqual(first, second) {
		t.Error("the view was changed, or a second decision differs")
	}
}
