package rendezvous

import (
	"reflect"
	"testing"
	"time"
)

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
