package rendezvous

import (
	"testing"
	"time"
)

// TestClocksAreComparedWithNoneButThemselves lets a leader take over whose clock is an hour behind, and one whose clock
// is an hour ahead, in the middle of a pause of 8 s: 5 s of it are left.
func TestClocksAreComparedWithNoneButThemselves(t *testing.T) {
	for _, behind := range []time.Duration{0, time.Hour, -time.Hour} {
		written := at
		job := &Job{
			V: 1, Store: "s", RunUID: "u", Round: -1, Phase: Forming, At: written, Since: written, Spec: DefaultSpec(1),
			NotBefore: written.Add(8 * time.Second), QuorumSince: written,
			Stop: &Stop{Kind: StopFailure, At: written}, Budget: Budget{Recent: []time.Time{written}},
		}
		heard := written.Add(-behind) // what the new leader's clock showed when the record came
		job = job.Moved(heard.Sub(job.At))
		now := heard.Add(3 * time.Second)
		entry := NodeEntry{Node: &Node{
			Store: "s", RunUID: "u", Incarnation: "a#1", State: NodeWaiting, Round: -1, SpecHash: job.Spec.Hash(),
		}, Leased: true, CreateRev: 1, ModRev: 1}
		d := Decide(View{Token: "s", Rev: 1, Read: 1, Job: job, Nodes: map[string]NodeEntry{"a": entry}}, now)
		if d.Action != ActWait || d.Next.Sub(now) != 5*time.Second {
			t.Errorf("%v behind: %s, next in %v", behind, d.Action, d.Next.Sub(now))
		}
		if job.Stop.At != heard || job.Budget.Recent[0] != heard || job.Since != heard || job.QuorumSince != heard {
			t.Errorf("%v behind: not all times were moved: %+v", behind, job)
		}
	}
}

// TestAPauseThatIsBrought is what is left of it by the clock of whoever brings the record, and never more than the
// longest there is.
func TestAPauseThatIsBrought(t *testing.T) {
	for _, tc := range []struct{ left, want time.Duration }{
		{0, 0}, {-time.Second, 0}, {7 * time.Second, 7 * time.Second}, {time.Hour, DefaultBackoffMax},
	} {
		j := Job{At: at, NotBefore: at.Add(tc.left)}
		if got := j.pause(); got != tc.want {
			t.Errorf("%v left: %v, want %v", tc.left, got, tc.want)
		}
	}
	if got := (&Job{At: at}).pause(); got != 0 {
		t.Errorf("no pause at all: %v", got)
	}
}
