package rendezvous

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

func TestBudget(t *testing.T) {
	policy := Restarts{
		Max: 2, MaxSameFailure: 2, Backoff: Duration(time.Second), BackoffMax: Duration(4 * time.Second),
		Window: Duration(time.Hour), InWindow: 5,
	}
	type failure struct {
		after    time.Duration
		cause    string
		progress Progress
		older    bool
		want     string // "restart", "fallback", or the reason of the end
		least    time.Duration
		most     time.Duration
	}
	step := func(n int64) Progress { return Progress{Step: &n} }
	checkpoint := func(c, n int64) Progress { return Progress{Step: &n, Checkpoint: &c} }
	for name, failures := range map[string][]failure{
		"without progress": {
			{0, "a", Progress{}, false, "restart", 0, 0},
			{0, "a", Progress{}, false, "restart", 750 * time.Millisecond, time.Second},
			{0, "a", Progress{}, false, exitcodes.ReasonRestartBudgetExhausted, 0, 0},
		},
		"with steps": {
			{0, "a", step(1), false, "restart", 0, 0},
			{0, "a", step(2), false, "restart", 0, 0},
			{0, "a", step(3), false, "restart", 0, 0},
			{0, "b", step(3), false, "restart", 750 * time.Millisecond, time.Second},
			{0, "a", step(3), false, exitcodes.ReasonRestartBudgetExhausted, 0, 0},
		},
		"steps beyond a checkpoint are lost": {
			{0, "a", checkpoint(10, 11), false, "restart", 0, 0},
			{0, "a", checkpoint(10, 15), false, "restart", 750 * time.Millisecond, time.Second},
			{0, "a", checkpoint(10, 19), false, exitcodes.ReasonRestartBudgetExhausted, 0, 0},
		},
		"the same failure at the same step": {
			{0, "a", step(5), false, "restart", 0, 0},
			{0, "a", step(5), false, exitcodes.ReasonNoProgress, 0, 0},
		},
		"the same failure, with something to fall back to": {
			{0, "a", checkpoint(4, 5), true, "restart", 0, 0},
			{0, "a", checkpoint(4, 5), true, "fallback", 750 * time.Millisecond, time.Second},
			{0, "a", checkpoint(4, 5), true, exitcodes.ReasonRestartBudgetExhausted, 0, 0},
		},
		"at no known step": {
			{0, "a", Progress{}, true, "restart", 0, 0},
			{0, "a", Progress{}, true, "restart", 750 * time.Millisecond, time.Second},
		},
		"window": {
			{0, "a", step(1), false, "restart", 0, 0},
			{0, "a", step(2), false, "restart", 0, 0},
			{0, "a", step(3), false, "restart", 0, 0},
			{0, "a", step(4), false, "restart", 0, 0},
			{0, "a", step(5), false, "restart", 0, 0},
			{59 * time.Minute, "a", step(6), false, exitcodes.ReasonRestartBudgetExhausted, 0, 0},
			{time.Minute, "a", step(7), false, "restart", 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b Budget
			now := time.Unix(1e9, 0)
			for i, f := range failures {
				now = now.Add(f.after)
				var r Ruling
				b, r = b.Failed(policy, now, f.cause, f.progress, f.older, "seed")
				got := r.Reason
				switch {
				case r.Fallback:
					got = "fallback"
				case r.Restart:
					got = "restart"
				}
				if got != f.want || r.After < f.least || r.After > f.most || r.Restart == (r.Spent != Spent{}) {
					t.Fatalf("failure %d: %+v, want %s after %v to %v", i, r, f.want, f.least, f.most)
				}
			}
		})
	}
}

func TestBudgetOfDepartures(t *testing.T) {
	var b Budget
	for range 1000 {
		var r Ruling
		if b, r = b.Departed(Restarts{}); !r.Restart {
			t.Fatal("no limit was asked for")
		}
	}
	b = Budget{}
	b, first := b.Departed(Restarts{MaxPreemptions: 1})
	b, second := b.Departed(Restarts{MaxPreemptions: 1})
	if !first.Restart || second.Restart || second.Spent != (Spent{LimitPreemptions, "1 of 1 restarts after preemptions are used up"}) || b.Preemptions != 1 {
		t.Errorf("%+v %+v %+v", first, second, b)
	}
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
		end := s.v.Job.End
		if end.Cause.Node != "b" {
			t.Errorf("root cause %+v", end.Cause)
		}
		if says := "2 of 2 restarts without progress are used up"; end.Spent == nil || *end.Spent != (Spent{LimitProgress, says}) || end.Message != says+"; "+end.Cause.Message {
			t.Errorf("spent %+v, message %q", end.Spent, end.Message)
		}
	}
}
