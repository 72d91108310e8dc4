package rendezvous

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestSlow: a node whose ranks take longer for their own part, three minutes one after the other, is named once, and no
// longer counts as slow after three that are as usual.
func TestSlow(t *testing.T) {
	in := func(own ...int64) []int64 { return own } // milliseconds, of a, b, c, ...
	const minutes = 12                              // in the first one, a is the only other node that b has heard of
	always := func(own ...int64) func(int) []int64 { return func(int) []int64 { return own } }
	for name, test := range map[string]struct {
		own  func(minute int) []int64 // 0: it does not tell
		step int64                    // milliseconds; 0: 200
		want []string
	}{
		"a tenth more":                {always(100, 110, 100), 0, []string{"b at 4: 110ms, not 100ms"}},
		"a little less than that":     {always(100, 109, 100), 0, nil},
		"all are as fast":             {always(100, 100, 100, 100), 0, nil},
		"one that is faster":          {always(50, 100, 100), 0, nil},
		"two of four":                 {always(100, 120, 120, 100), 0, []string{"b at 4: 120ms, not 100ms", "c at 4: 120ms, not 100ms"}},
		"two of three: who is usual?": {always(100, 120, 120), 0, nil},
		"of two, not plain":           {always(100, 120), 0, nil},
		"of two, plain":               {always(100, 126), 0, []string{"b at 3: 126ms, not 100ms"}},
		"one alone":                   {always(100), 0, nil},
		"one of two tells":            {always(100, 0), 0, nil},
		"so little of the step":       {always(1, 3, 1), 300, nil},
		"it was slow":                 {func(m int) []int64 { return in(100, 100+50*int64((8-m)/4), 100) }, 0, []string{"b at 3: 150ms, not 100ms", "b over at 7"}},
		"two minutes at a time":       {func(m int) []int64 { return in(100, 150-50*int64(m%3/2), 100) }, 0, nil},
		"between slow and usual it stays": {func(m int) []int64 { return in(100, 115-8*int64(m/5%2), 100) }, 0,
			[]string{"b at 4: 115ms, not 100ms"}},
		"all become slower one after the other": {func(m int) []int64 {
			return in(100+100*int64(min(m/4, 1)), 100+100*int64(min(m/5, 1)), 100+100*int64(min(m/6, 1)))
		}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, s := slowView(len(test.own(1))), Slow{}
			var got []string
			for m := 1; m <= minutes; m++ {
				for i, own := range test.own(m) {
					tellsOwn(&v, i, m, own, test.step)
					for range 2 { // the second time nothing is new
						for _, n := range s.Look(v, at.Add(time.Duration(m)*time.Minute+time.Duration(i)*time.Second)) {
							text := fmt.Sprintf("%s at %d: %v, not %v", n.Node, m, n.Own, n.Others)
							if n.Over {
								text = fmt.Sprintf("%s over at %d", n.Node, m)
							}
							got = append(got, text)
						}
					}
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// slowView is a round of so many nodes that runs, "a" and on.
func slowView(nodes int) View {
	v := View{Job: &Job{Phase: Running, Round: 3}, Round: &Round{Number: 3}, Reached: map[string]*Reached{}}
	for i := range nodes {
		v.Round.Members = append(v.Round.Members, Member{Name: string(rune('a' + i))})
	}
	return v
}

func tellsOwn(v *View, i, minute int, own, step int64) {
	if own == 0 {
		return
	}
	if step == 0 {
		step = 200
	}
	v.Reached[v.Round.Members[i].Name] = &Reached{V: 1, Round: 3, Own: &OwnTime{
		Minute: minute, Usec: own * 1000, Step: step * 1000, Steps: 300, Rank: i, RankUsec: own * 1000,
	}}
}

// TestSlowForgets: what belongs to another round, to a role that restarts alone, to a node that has told nothing for
// long, or to a round that stops, counts for nothing; and whoever leads no more takes back what it said.
func TestSlowForgets(t *testing.T) {
	slow := func(change func(*View, int)) (named []SlowNode, s *Slow) {
		v := slowView(4)
		s = &Slow{}
		for m := 1; m <= 6; m++ {
			for i, own := range []int64{100, 100, 200, 100} {
				tellsOwn(&v, i, m, own, 0)
			}
			change(&v, m)
			named = append(named, s.Look(v, at.Add(time.Duration(m)*time.Minute))...)
		}
		return named, s
	}
	named, s := slow(func(*View, int) {})
	if len(named) != 1 || named[0].Node != "c" || named[0].Rank != 2 || named[0].Round != 3 || named[0].Minutes != 3 {
		t.Fatalf("%+v", named)
	}
	if left := s.Leave(); len(left) != 1 || left[0].Node != "c" || !left[0].Over || !left[0].Left {
		t.Errorf("%+v", left)
	}
	if left := s.Leave(); left != nil {
		t.Errorf("%+v", left)
	}
	for name, change := range map[string]func(v *View, minute int){
		"it is of another round": func(v *View, _ int) { v.Reached["c"].Round = 2 },
		"another round begins": func(v *View, m int) {
			v.Job.Round, v.Round.Number = 3+m/2, 3+m/2
			for _, p := range v.Reached {
				p.Round = v.Round.Number
			}
		},
		"a role that restarts alone": func(v *View, _ int) {
			v.Job.Spec.Roles = map[string]RolePolicy{"evaluator": {Restart: RestartSelf}}
			v.Round.Members[2].Role = "evaluator"
		},
		"the round stops now and then": func(v *View, m int) {
			if v.Job.Phase = Running; m%2 == 0 {
				v.Job.Phase = Stopping
			}
		},
		"the others have told nothing for long": func(v *View, m int) {
			for _, name := range []string{"a", "b", "d"} {
				if m > 1 {
					v.Reached[name].Own.Minute = 1
				}
			}
			v.Reached["c"].Own.Usec = 200_000 - 100_000*int64(min(1, max(0, 3-m)))
		},
	} {
		if named, s := slow(change); len(named) > 0 || len(s.nodes) > 4 {
			t.Errorf("%s: %+v", name, named)
		}
	}
}

// TestSlowNoise: of nodes whose minutes differ by a few percent, by chance, none is named, and the one that is a fifth
// slower is, whatever the seed.
func TestSlowNoise(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		nodes := 3 + r.IntN(6)
		for _, who := range []int{-1, r.IntN(nodes)} {
			v, s, named := slowView(nodes), Slow{}, map[string]bool{}
			for m := 1; m <= 500; m++ {
				for i := range nodes {
					own := 100_000 * math.Exp(0.02*r.NormFloat64())
					if i == who {
						own *= 1.2
					}
					tellsOwn(&v, i, m, 100, 0)
					v.Reached[v.Round.Members[i].Name].Own.Usec = int64(own)
				}
				for _, n := range s.Look(v, at.Add(time.Duration(m)*time.Minute)) {
					named[n.Node] = true
				}
			}
			want := 0
			if who >= 0 {
				want = 1
			}
			if len(named) != want || who >= 0 && !named[v.Round.Members[who].Name] {
				t.Errorf("seed %d, %d nodes: named %v, want %d", seed, nodes, named, who)
			}
		}
	}
}
