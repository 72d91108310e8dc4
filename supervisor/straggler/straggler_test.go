package straggler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

const ms = time.Millisecond

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// train simulates synchronous training: in each step every rank does its own part, and all wait for the slowest. tell
// says what a rank tells and when.
func train(w *Watch, steps int, now time.Time, own func(rank, step int) time.Duration, ranks int,
	tell func(own, slowest time.Duration) (at, told time.Duration)) (said []string, end time.Time) {
	for n := range steps {
		var slowest time.Duration
		for r := range ranks {
			slowest = max(slowest, own(r, n))
		}
		for r := range ranks {
			at, told := tell(own(r, n), slowest)
			for _, s := range w.Told(r, int64(n), told, now.Add(at)) {
				said = append(said, fmt.Sprintf("%d at %d over=%v own=%v late %d/%d by %v of %v", s.Rank, n, s.Over, s.Own, s.Late, s.Steps, s.Excess, s.Step))
			}
		}
		now = now.Add(slowest + 50*ms)
	}
	return said, now
}

// What a rank tells.
var (
	tellsOwn   = func(own, slowest time.Duration) (time.Duration, time.Duration) { return slowest + 50*ms, own } // once all are done
	comesLate  = func(own, slowest time.Duration) (time.Duration, time.Duration) { return own, 0 }               // before it waits
	afterwards = func(own, slowest time.Duration) (time.Duration, time.Duration) { return slowest + 50*ms, 0 }
)

func TestStraggler(t *testing.T) {
	slow := func(who int, factor float64) func(rank, step int) time.Duration {
		return func(rank, step int) time.Duration {
			if rank == who {
				return time.Duration(100 * factor * float64(ms))
			}
			return 100*ms + time.Duration((rank*7+step*3)%5)*ms
		}
	}
	for name, test := range map[string]struct {
		own   func(rank, step int) time.Duration
		ranks int
		tell  func(own, slowest time.Duration) (at, told time.Duration)
		want  []string
	}{
		"a fifth more of its own":                 {slow(2, 1.2), 4, tellsOwn, []string{"2 at 50 over=false own=true late 50/50 by 18ms of 170ms"}},
		"a fifth more, of two":                    {slow(1, 1.2), 2, tellsOwn, []string{"1 at 50 over=false own=true late 50/50 by 18ms of 170ms"}},
		"it comes late":                           {slow(2, 1.2), 4, comesLate, []string{"2 at 50 over=false own=false late 50/50 by 18ms of 170.4ms"}},
		"what comes after waiting tells nothing":  {slow(2, 1.2), 4, afterwards, nil},
		"all are as fast":                         {slow(-1, 1), 4, tellsOwn, nil},
		"a little slower":                         {slow(2, 1.06), 4, tellsOwn, nil},
		"one that is faster":                      {slow(2, 0.5), 4, tellsOwn, nil},
		"alone":                                   {slow(0, 3), 1, tellsOwn, nil},
		"so little of the step that it is no use": {func(r, _ int) time.Duration { return time.Duration(1+r%4/3) * ms / 4 }, 4, func(own, _ time.Duration) (time.Duration, time.Duration) { return 50 * ms, own }, nil},
		"two of four": {func(r, _ int) time.Duration { return 100*ms + time.Duration(r/2)*40*ms }, 4, tellsOwn, []string{
			"2 at 50 over=false own=true late 50/50 by 40ms of 190ms", "3 at 50 over=false own=true late 50/50 by 40ms of 190ms"}},
		"now and then": {func(r, n int) time.Duration {
			if r == 0 && n%2 == 0 {
				return 900 * ms
			}
			return 100 * ms
		}, 4, tellsOwn, nil},
	} {
		got, _ := train(New(), 120, noon, test.own, test.ranks, test.tell)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestOver: it is said when a rank is as fast as the others again, and once.
func TestOver(t *testing.T) {
	got, _ := train(New(), 300, noon, func(rank, step int) time.Duration {
		if rank == 1 && step < 100 {
			return 150 * ms
		}
		return 100 * ms
	}, 3, tellsOwn)
	if len(got) != 2 || got[1][:15] != "1 at 125 over=t" {
		t.Errorf("%q", got)
	}
}

// TestForgets: steps that start from 0, that were left out, that only some tell, and what is told twice, name nobody
// and take no room.
func TestForgets(t *testing.T) {
	w := New()
	_, now := train(w, 60, noon, func(int, int) time.Duration { return 100 * ms }, 3, tellsOwn)
	said, now := train(w, 60, now, func(int, int) time.Duration { return 100 * ms }, 3, tellsOwn) // the next epoch
	for n := range 100_000 {
		said2 := w.Told(0, int64(1000+n), time.Second, now.Add(time.Duration(n)*ms))
		said2 = append(said2, w.Told(10+n, int64(n), time.Second, now)...)
		if len(said2) > 0 || len(w.open) > mostOpen || len(w.ranks) > mostRank {
			t.Fatalf("%v, %d steps, %d ranks", said2, len(w.open), len(w.ranks))
		}
	}
	if len(said) > 0 {
		t.Errorf("%q", said)
	}
}

// TestNoise: with steps of a heavy-tailed length in every rank nobody is named, and one that is slower is, and no
// other. make test takes a sample of the seeds.
func TestNoise(t *testing.T) {
	seeds := uint64(20)
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		seeds = 1000
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 0))
		ranks, sigma := 2+r.IntN(7), 0.02+0.08*r.Float64()
		noise := func(factor float64) time.Duration {
			length := 100 * factor * math.Exp(sigma*r.NormFloat64())
			if r.IntN(50) == 0 {
				length *= 5
			}
			return time.Duration(length * float64(ms))
		}
		slower := map[string]float64{"own": 1.2, "late": 1.35} // what all do in common is in the latter, too
		for _, who := range []int{-1, r.IntN(ranks)} {
			for name, tell := range map[string]func(own, slowest time.Duration) (at, told time.Duration){"own": tellsOwn, "late": comesLate} {
				w, now := New(), noon
				named := map[int]bool{}
				for n := range 2000 {
					took := make([]time.Duration, ranks)
					var slowest time.Duration
					for i := range took {
						factor := 1.0
						if i == who {
							factor = slower[name]
						}
						took[i] = noise(factor)
						slowest = max(slowest, took[i])
					}
					for i := range took {
						at, told := tell(took[i], slowest)
						for _, s := range w.Told(i, int64(n), told, now.Add(at)) {
							named[s.Rank] = true
						}
					}
					now = now.Add(slowest + 50*ms)
				}
				if want := who >= 0; named[who] != want || len(named) > 1 || !want && len(named) > 0 {
					t.Errorf("seed %d, %s, %d ranks, noise %.2f: named %v, want %d", seed, name, ranks, sigma, named, who)
				}
			}
		}
	}
}
