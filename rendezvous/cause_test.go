package rendezvous

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

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
