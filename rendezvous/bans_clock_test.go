package rendezvous

import (
	"testing"
	"time"
)

// TestFaultsLast: a fault is written although nothing else happens; who has told of it may be gone the next moment.
func TestFaultsLast(t *testing.T) {
	s := runningStage(t, sickSpec(3, 3))
	s.expire("c")
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	s.settle() // it waits for c
	s.put("b", leaves, func(n *Node) { n.Sick = "GPU 3 is lost" })
	s.settle(ActBlame)
	s.expire("b")
	s.settle()
	if h := s.v.Hosts["boot-b"]; h == nil || h.Points != 1 || h.Faults[0].Message != "GPU 3 is lost" {
		t.Errorf("remembered: %+v", h)
	}
}

// TestBansOfClocks: a ban is as long as it is whatever the clocks of those who lead, one after the other, and who is told
// of it knows by his own clock until when.
func TestBansOfClocks(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 20 * 365 * 24 * time.Hour, -20 * 365 * 24 * time.Hour} {
		s := sickStage(t, 2, 3)
		for range 3 {
			s.sickens("b")
		}
		s.sleep(halfLife - 2*time.Minute)
		another := func(by time.Duration) { // leads, at the same moment, and has known the record from when it was written
			s.now = s.now.Add(by)
			s.v.Job = s.v.Job.Moved(by)
			s.v.Observations = Observations{}
		}
		restart := func() {
			s.fails("a")
			s.decide()
			s.stopsAll()
			s.decide()
			s.started()
		}
		another(ahead)
		restart()
		another(-ahead / 2)
		restart()
		if s.bans() != "boot-b" || len(s.ranks()) != 2 {
			t.Errorf("%v ahead: two minutes before its end: banned %q, ranks %s", ahead, s.bans(), s.ranks())
			continue
		}
		if left := s.v.Job.Bans[0].Until.Sub(s.now); left != 2*time.Minute {
			t.Errorf("%v ahead: it is said to last for %v", ahead, left)
		}
		s.sleep(3 * time.Minute)
		if restart(); s.bans() != "" || len(s.ranks()) != 3 {
			t.Errorf("%v ahead: a minute after its end: banned %q, ranks %s", ahead, s.bans(), s.ranks())
		}
	}
}

// TestBansComeAlong: bans are brought into a store that knows nothing, as the job's record is.
func TestBansComeAlong(t *testing.T) {
	s := sickStage(t, 2, 3)
	for range 3 {
		s.sickens("b")
	}
	s.sleep(time.Hour)
	carried := s.v.Job
	next := newStage(t, s.spec)
	next.v.Token, next.now = "store-b", s.now
	for _, name := range []string{"a", "b", "c"} {
		next.join(name, func(n *Node) { n.Carried, n.RunUID = carried, carried.RunUID })
	}
	next.settle(ActAdopt, ActForm)
	if next.bans() != "boot-b" || len(next.ranks()) != 2 || !next.v.Job.Bans[0].Until.Equal(carried.Bans[0].Until) {
		t.Errorf("banned %+v, ranks %s, want %+v", next.v.Job.Bans, next.ranks(), carried.Bans)
	}
}

// TestAFutureThatNeverComes is a record that a clock wrote which was years ahead: it counts from now on.
func TestAFutureThatNeverComes(t *testing.T) {
	s := newStage(t, sickSpec(2, 3))
	for _, name := range []string{"a", "b", "c"} {
		s.join(name)
	}
	s.v.Hosts = map[string]*Host{"boot-b": {
		V: 1, Points: 3, At: time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC), Round: -1,
		Faults: []Fault{{Node: "b", Reason: "Hang", At: time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC)}},
	}}
	s.run(ActCreate, ActForm)
	if b := s.v.Job.Ban("boot-b", s.now); b == nil || b.Until.Sub(s.now) != halfLife || len(s.ranks()) != 2 {
		t.Errorf("%+v, ranks %s", b, s.ranks())
	}
}

// TestTheJobsClockStandsStill while nobody is there who remembers its record: a ban is not over before the job has seen the
// rest of it.
func TestTheJobsClockStandsStill(t *testing.T) {
	s := runningStage(t, sickSpec(3, 3))
	s.v.Hosts = map[string]*Host{"gpu-7": {V: 1, Points: banAt, At: s.now.Add(-4 * time.Hour)}}
	left := func() time.Duration { return Hosts(s.v, s.now)["gpu-7"].Until.Sub(s.now) }
	if got := left(); got != 2*time.Hour {
		t.Fatalf("the ban lasts for %v", got)
	}
	s.sleep(8 * time.Hour)
	s.v.Job = s.v.Job.Moved(8 * time.Hour) // as a leader does that has never seen it
	if got := left(); got != 2*time.Hour {
		t.Errorf("after 8 hours in which nobody was there it lasts for %v", got)
	}
}
