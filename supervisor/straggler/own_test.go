package straggler

import (
	"fmt"
	"testing"
	"time"
)

// TestOwn: of each minute there is the median of the ranks' own times, how many steps it is of, how long those were, and
// the rank that takes longest.
func TestOwn(t *testing.T) {
	same := func(own time.Duration) func(int, int) time.Duration {
		return func(int, int) time.Duration { return own }
	}
	for name, test := range map[string]struct {
		ranks int
		step  time.Duration
		own   func(rank, step int) time.Duration
		want  []string // of the minutes
	}{
		"all alike": {4, time.Second, same(100 * ms), []string{
			"1: 100ms of 1s in 60 steps, rank 0 100ms", "2: 100ms of 1s in 60 steps, rank 0 100ms", "3: 100ms of 1s in 60 steps, rank 0 100ms"}},
		"one rank is slow": {4, time.Second, func(r, _ int) time.Duration { return 100*ms + time.Duration(r/3)*50*ms }, []string{
			"1: 100ms of 1s in 60 steps, rank 3 150ms", "2: 100ms of 1s in 60 steps, rank 3 150ms", "3: 100ms of 1s in 60 steps, rank 3 150ms"}},
		"one of two": {2, time.Second, func(r, _ int) time.Duration { return 100*ms + time.Duration(r)*50*ms }, []string{
			"1: 100ms of 1s in 60 steps, rank 1 150ms", "2: 100ms of 1s in 60 steps, rank 1 150ms", "3: 100ms of 1s in 60 steps, rank 1 150ms"}},
		"the first step is long": {1, 15 * time.Second, func(_, n int) time.Duration { return 100*ms + max(0, time.Duration(1-n))*time.Minute }, []string{
			"1: 100ms of 15s in 4 steps, rank 0 100ms", "2: 100ms of 15s in 4 steps, rank 0 100ms", "3: 100ms of 15s in 4 steps, rank 0 100ms"}},
		"steps of a minute":  {2, time.Minute, same(time.Second), []string{"1: 1s of 1m0s in 3 steps, rank 0 1s"}},
		"many steps":         {1, 10 * ms, func(_, n int) time.Duration { return time.Duration(1+n/3000) * ms }, nil},
		"nothing of its own": {2, time.Second, same(0), nil},
	} {
		o, last, got := NewOwn(), 0, []string(nil)
		for n := 0; time.Duration(n)*test.step < 3*time.Minute+test.step; n++ {
			now := noon.Add(time.Duration(n) * test.step)
			if m := o.Latest(now); m != nil && m.Number != last {
				last = m.Number
				got = append(got, fmt.Sprintf("%d: %v of %v in %d steps, rank %d %v", m.Number, m.Own, m.Step, m.Steps, m.Rank, m.RankOwn))
			}
			for r := range test.ranks {
				for range 2 { // what was told before does not count
					o.Told(r, int64(n), test.own(r, n), now)
				}
			}
			for _, s := range o.ranks {
				if len(s.own) > mostSample {
					t.Fatalf("%s: %d are kept", name, len(s.own))
				}
			}
		}
		if name == "many steps" {
			if m := o.Latest(noon.Add(time.Hour)); m == nil || m.Own < ms || m.Own > 7*ms {
				t.Errorf("%s: %+v", name, m)
			}
			continue
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	var none *Own
	if none.Told(0, 1, ms, noon); none.Latest(noon) != nil {
		t.Error("nobody has told anything")
	}
}

// TestOwnToldAgain: a step that is told for each of its batches, as where gradients are accumulated, is one step, of which all
// that it took counts, also where the minute ends between them; and steps that count from 0 again are steps.
func TestOwnToldAgain(t *testing.T) {
	o := NewOwn()
	for n := range 4 * 2 * 61 { // a batch takes 250 ms, a step has four, an epoch 20
		now := noon.Add(time.Duration(n) * 250 * ms)
		o.Latest(now)
		o.Told(0, int64(n/4%20), 100*ms+time.Duration(n%4)*ms, now)
	}
	m := o.Latest(noon.Add(2*time.Minute + time.Second))
	if m == nil || m.Number != 2 || m.Steps < 59 || m.Steps > 60 || m.Step != time.Second || m.Own != 406*ms {
		t.Errorf("%+v", m)
	}
}

// TestOwnIsBounded: whatever ranks there may be.
func TestOwnIsBounded(t *testing.T) {
	o := NewOwn()
	for r := range 2 * mostRank {
		o.Told(r, 1, ms, noon)
	}
	if len(o.ranks) > mostRank {
		t.Error(len(o.ranks))
	}
	for n := range 5 { // of those only one goes on
		o.Told(7, int64(2+n), ms, noon.Add(time.Duration(1+n)*time.Minute))
	}
	o.Latest(noon.Add(10 * time.Minute))
	for n := range 5 {
		o.Told(7, int64(10+n), ms, noon.Add(time.Duration(10+n)*time.Minute))
	}
	if o.Latest(noon.Add(20 * time.Minute)); len(o.ranks) != 1 {
		t.Errorf("%d are kept", len(o.ranks))
	}
}
