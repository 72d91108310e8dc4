package rendezvous

import (
	"testing"
	"time"
)

// TestTheLastCallOfANewStore: below the most nodes a job in a new store waits for the fence time and for the last
// call, for both from the moment on from which there were enough, and not for one after the other.
func TestTheLastCallOfANewStore(t *testing.T) {
	for name, test := range map[string]struct {
		lastCall, enough, begins time.Duration // from the start of the store
		looks                    bool
	}{
		"the fence is longer":              {DefaultLastCall, time.Second, DefaultFence, false},
		"there are checkpoints to look at": {DefaultLastCall, time.Second, DefaultFence, true},
		"the last call is longer":          {2 * DefaultFence, time.Second, time.Second + 2*DefaultFence, false},
		"there were enough late":           {DefaultLastCall, 50 * time.Second, 50*time.Second + DefaultLastCall, false},
		"there were enough after that":     {DefaultLastCall, 2 * DefaultFence, 2*DefaultFence + DefaultLastCall, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := DefaultSpec(3)
			spec.MinNodes, spec.LastCall, spec.Resume.Look = 2, Duration(test.lastCall), test.looks
			s := newStage(t, spec)
			s.v.NewSince = s.now
			began := s.now
			s.join("a", checkpoints())
			s.settle(ActCreate)
			s.sleep(test.enough)
			s.join("b", checkpoints())
			for until := s.now.Add(10 * time.Minute); s.v.Round == nil && s.now.Before(until); {
				for d := s.decide(); d.Action != ActWait; d = s.decide() {
					if s.v.Round != nil {
						break
					}
				}
				s.sleep(100 * time.Millisecond)
			}
			if took := s.now.Sub(began).Truncate(time.Second); took != test.begins {
				t.Errorf("it begins after %v, want %v", took, test.begins)
			}
		})
	}
}
