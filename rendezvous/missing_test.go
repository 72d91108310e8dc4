package rendezvous

import (
	"testing"
	"time"
)

// TestTheRoundsRecordIsMissing: somebody has deleted it, and no leader remembers it. Nothing begins while a member may
// run unseen; then those that are there are stopped, and the job goes on. No restart is charged.
func TestTheRoundsRecordIsMissing(t *testing.T) {
	t.Run("in a round", func(t *testing.T) {
		s := runningStage(t, DefaultSpec(2))
		s.v.Round = nil
		if d := s.settle(); d.Why.For != WaitsForRecord || !d.Next.Equal(s.now.Add(DefaultFence)) {
			t.Errorf("waits for %+v until %v", d.Why, d.Next)
		}
		s.sleep(DefaultFence - time.Second)
		s.settle()
		s.sleep(time.Second)
		if d := s.settle(ActStop); d.Why.For != WaitsForLeaving {
			t.Errorf("waits for %+v, want it to wait for who still runs", d.Why)
		}
		s.put("a", stops)
		s.settle()
		s.put("b", stops)
		s.settle(ActForm)
		if s.v.Job.Round != 1 || s.v.Job.Budget.Used != 0 {
			t.Errorf("round %d, %d restarts used", s.v.Job.Round, s.v.Job.Budget.Used)
		}
	})
	t.Run("a member falls silent late", func(t *testing.T) {
		s := runningStage(t, DefaultSpec(2))
		s.v.Round = nil
		s.settle()
		s.sleep(DefaultFence - time.Second)
		s.expire("b")
		if d := s.settle(); !d.Next.Equal(s.now.Add(DefaultFence)) {
			t.Errorf("waits until %v: b may still run its workers", d.Next)
		}
		s.sleep(DefaultFence)
		s.settle(ActStop)
		s.expire("a") // in the middle of the stop
		s.join("c")
		s.join("d")
		if d := s.settle(); !d.Next.Equal(s.now.Add(DefaultFence)) {
			t.Errorf("waits until %v: a may still run its workers", d.Next)
		}
		s.sleep(DefaultFence)
		s.settle(ActForm)
	})
	t.Run("while a failure is judged", func(t *testing.T) {
		s := runningStage(t, DefaultSpec(2))
		s.fails("a")
		s.settle(ActStop)
		s.v.Round = nil
		s.settle()
		s.put("a", stops)
		s.put("b", stops)
		s.settle()
		s.sleep(DefaultFence)
		s.settle(ActForm)
		if s.v.Job.Round != 1 {
			t.Errorf("round %d", s.v.Job.Round)
		}
	})
	t.Run("of members that are known to be gone", func(t *testing.T) {
		s := runningStage(t, DefaultSpec(2))
		s.all(leaves)
		s.settle(ActStop)
		s.all(hasLeft)
		s.settle(ActSuspend)
		s.v.Round = nil
		s.join("c")
		s.join("d")
		s.settle(ActResume, ActForm)
	})
	t.Run("it comes back", func(t *testing.T) {
		s := runningStage(t, DefaultSpec(2))
		round := s.v.Round
		s.v.Round = nil
		s.settle()
		s.sleep(DefaultFence - time.Second)
		s.v.Round = round
		s.settle()
		s.v.Round = nil
		s.sleep(DefaultFence)
		if d := s.settle(); d.Why.For != WaitsForRecord {
			t.Errorf("waits for %+v: it counts the time before", d.Why)
		}
	})
}
