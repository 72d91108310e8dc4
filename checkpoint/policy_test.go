package checkpoint

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

var saved = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a whole checkpoint of a step, saved a minute after the one before.
func at(step int64, change ...func(*format.Checkpoint)) format.Checkpoint {
	c := format.Checkpoint{Format: "custom", Path: "step-" + string(rune('0'+step)), Root: ".", Step: step, Complete: true, Resumable: true,
		Modified: saved.Add(time.Duration(step) * time.Minute)}
	for _, f := range change {
		f(&c)
	}
	return c
}

func because(r problem.Reason) func(*format.Checkpoint) {
	return func(c *format.Checkpoint) { c.Complete, c.Resumable, c.Reason, c.Detail = false, false, r, "a detail" }
}

func weightsOnly(c *format.Checkpoint) { c.Resumable, c.Reason = false, problem.WeightsOnly }

func world(n int, elastic bool) func(*format.Checkpoint) {
	return func(c *format.Checkpoint) { c.WorldSize, c.Elastic = n, elastic }
}

func noStep(c *format.Checkpoint) { c.Step = -1 }

func named(path string) func(*format.Checkpoint) { return func(c *format.Checkpoint) { c.Path = path } }

func TestOffer(t *testing.T) {
	type cs = []format.Checkpoint
	now := saved.Add(time.Hour)
	aside := History{Run: Run{"job", "run1"}, Aside: []Aside{{"step-3", saved.Add(3 * time.Minute)}}}
	local := aside
	local.Aside = []Aside{{"step-3", saved.Add(3 * time.Minute).In(time.FixedZone("", 3600))}}
	reader := Run{"job", "run2"}
	for _, tt := range []struct {
		name    string
		policy  Policy
		has     cs
		memory  History
		reader  Run
		steps   []int64
		refused string
		veto    problem.Reason
		warns   []string
		unknown bool
	}{
		{name: "nothing"},
		{name: "newest first", has: cs{at(3), at(2), at(1)}, steps: []int64{3, 2, 1}},
		{name: "torn ones are passed over", has: cs{at(4, because(problem.NoMarker)), at(3, because(problem.Truncated)), at(2), at(1, because(problem.BadZip))},
			steps: []int64{2}, refused: "step-4 no_marker, step-3 truncated"},
		{name: "all torn", has: cs{at(2, because(problem.NoMarker)), at(1, because(problem.BadZip))}, refused: "step-2 no_marker, step-1 bad_zip"},
		{name: "weights are nothing to resume from", has: cs{at(2, weightsOnly), at(1)}, steps: []int64{1}, refused: "step-2 weights_only"},
		{name: "the newest cannot be read", has: cs{at(3, because(problem.Permission)), at(2)}, unknown: true},
		{name: "the time was over", has: cs{at(3, because(problem.CheckTimeout)), at(2)}, unknown: true},
		{name: "it may be newer than the newest whole one", has: cs{at(4, because(problem.NoMarker)), at(3, because(problem.Permission)), at(2)}, unknown: true},
		{name: "an older one cannot be read", has: cs{at(3), at(2, because(problem.Permission)), at(1)}, steps: []int64{3, 1}},
		{name: "the only one cannot be read", has: cs{at(1, because(problem.Permission))}, unknown: true},
		{name: "set aside", has: cs{at(3), at(2)}, memory: aside, steps: []int64{2}, refused: "step-3 quarantined"},
		{name: "set aside, in another time zone", has: cs{at(3), at(2)}, memory: local, steps: []int64{2}, refused: "step-3 quarantined"},
		{name: "set aside and written again", has: cs{at(3, func(c *format.Checkpoint) { c.Modified = now }), at(2)}, memory: aside, steps: []int64{3, 2}},
		{name: "all set aside", has: cs{at(3)}, memory: aside, refused: "step-3 quarantined"},
		{name: "another run of the job", has: cs{at(2)}, memory: aside, reader: reader, steps: []int64{2}},
		{name: "another run, where that counts", policy: Policy{Owner: OwnerRun}, has: cs{at(2), at(1)}, memory: aside, reader: reader,
			refused: "step-2 other_run, step-1 other_run", veto: problem.OtherRun},
		{name: "the same run, where that counts", policy: Policy{Owner: OwnerRun}, has: cs{at(2)}, memory: aside, reader: aside.Run, steps: []int64{2}},
		{name: "another job", policy: Policy{Owner: OwnerJob}, has: cs{at(2)}, memory: aside, reader: Run{"other", "run1"},
			refused: "step-2 other_run", veto: problem.OtherRun},
		{name: "another job, by default", has: cs{at(2)}, memory: aside, reader: Run{"other", "run1"}, refused: "step-2 other_run", veto: problem.OtherRun},
		{name: "another job, where nobody minds", policy: Policy{Owner: OwnerAny}, has: cs{at(2)}, memory: aside, reader: Run{"other", "run9"}, steps: []int64{2}},
		{name: "nobody knows who wrote", policy: Policy{Owner: OwnerRun}, has: cs{at(2)}, reader: reader, steps: []int64{2}},
		{name: "nobody knows who reads", policy: Policy{Owner: OwnerRun}, has: cs{at(2)}, memory: aside, steps: []int64{2}},
		{name: "torn, and another job's", has: cs{at(2, because(problem.NoMarker))}, memory: aside, reader: Run{"other", ""}, refused: "step-2 no_marker"},
		{name: "another number of ranks", policy: Policy{World: 4}, has: cs{at(2, world(8, false)), at(1, world(8, false))},
			refused: "step-2 world_size_mismatch, step-1 world_size_mismatch", veto: problem.WorldSizeMismatch},
		{name: "another number of ranks, then the same", policy: Policy{World: 4}, has: cs{at(2, world(8, false)), at(1, world(4, false))},
			steps: []int64{1}, refused: "step-2 world_size_mismatch"},
		{name: "elastic", policy: Policy{World: 4}, has: cs{at(2, world(8, true))}, steps: []int64{2}},
		{name: "written by nobody knows how many", policy: Policy{World: 4}, has: cs{at(2)}, steps: []int64{2}},
		{name: "read by nobody knows how many", has: cs{at(2, world(8, false))}, steps: []int64{2}},
		{name: "no step", has: cs{at(2), at(1, func(c *format.Checkpoint) { c.Step, c.Path = -1, "final" })}, steps: []int64{2}, warns: []string{"final"}},
		{name: "old enough", policy: Policy{MaxAge: 58 * time.Minute}, has: cs{at(2)}, steps: []int64{2}},
		{name: "too old", policy: Policy{MaxAge: 58*time.Minute - 1}, has: cs{at(2), at(1)}, refused: "step-2 too_old, step-1 too_old", veto: problem.TooOld},
		{name: "a younger one of an earlier step", policy: Policy{MaxAge: time.Minute},
			has: cs{at(2), at(1, func(c *format.Checkpoint) { c.Modified = now })}, steps: []int64{1}, refused: "step-2 too_old"},
		{name: "within the skew of clocks", has: cs{at(2, func(c *format.Checkpoint) { c.Modified = now.Add(skew) })}, steps: []int64{2}},
		{name: "from the future", has: cs{at(2, func(c *format.Checkpoint) { c.Modified = now.Add(time.Hour) })}, steps: []int64{2}, warns: []string{"step-2", "1h0m0s"}},
		{name: "a doubt", has: cs{at(3, func(c *format.Checkpoint) { c.Doubt = "a copy?" }), at(2, func(c *format.Checkpoint) { c.Doubt = "older" })},
			steps: []int64{3, 2}, warns: []string{"a copy?"}},
		{name: "written over, and cut", has: cs{at(2), at(3, named("last"), because(problem.Truncated), noStep)}, steps: []int64{2}, refused: "last truncated"},
		{name: "cut long ago", has: cs{at(2), at(1, named("old"), because(problem.Truncated), noStep)}, steps: []int64{2}},
		{name: "a step twice", has: cs{at(2), at(2, named("last")), at(1)}, steps: []int64{2, 1}},
		{name: "the first reason to veto counts", policy: Policy{World: 4, MaxAge: time.Minute}, has: cs{at(2, world(8, false)), at(1)},
			refused: "step-2 world_size_mismatch, step-1 too_old", veto: problem.WorldSizeMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := tt.policy.Offer(Scan{Checkpoints: tt.has}, tt.memory, tt.reader, now)
			if tt.unknown {
				if err == nil || !Unknown(err) || !strings.Contains(err.Error(), "step-") {
					t.Errorf("%+v, %v", o, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(o.Steps, tt.steps) || paths(o.Refused) != tt.refused {
				t.Errorf("steps %v, refused %s; want %v and %s", o.Steps, paths(o.Refused), tt.steps, tt.refused)
			}
			if (o.Veto == nil) != (tt.veto == "") || o.Veto != nil && (o.Veto.Reason != tt.veto || !strings.Contains(o.Veto.Detail, "step-2")) {
				t.Errorf("veto %v, want %q", o.Veto, tt.veto)
			}
			for _, c := range o.Refused {
				if c.Resumable {
					t.Errorf("refused, and resumable: %+v", c)
				}
			}
			if len(o.Warnings) != min(1, len(tt.warns)) {
				t.Errorf("warnings %q", o.Warnings)
			}
			for _, w := range tt.warns {
				if !strings.Contains(o.Warnings[0], w) {
					t.Errorf("warning %q does not say %q", o.Warnings[0], w)
				}
			}
			for _, s := range o.Steps {
				if c := tt.policy.At(Scan{Checkpoints: tt.has}, tt.memory, From{Step: &s}); c == nil || c.Step != s {
					t.Errorf("step %d is offered, and not there: %+v", s, c)
				}
			}
		})
	}
}

// TestAt finds none that is not to be resumed from.
func TestAt(t *testing.T) {
	scan := Scan{Checkpoints: []format.Checkpoint{
		at(5, because(problem.Truncated)), at(4, weightsOnly), at(3, world(8, false)), at(2), at(1), at(1, named("older")),
	}}
	m := History{Aside: []Aside{{"step-2", saved.Add(2 * time.Minute)}}}
	for s, want := range map[int64]string{6: "", 5: "", 4: "", 3: "", 2: "", 1: "step-1"} {
		got := ""
		if c := (Policy{World: 4}).At(scan, m, From{Step: &s}); c != nil {
			got = c.Path
		}
		if got != want {
			t.Errorf("step %d: %q, want %q", s, got, want)
		}
	}
}

// TestOfferFirst is what a directory holds before a run has begun anything, and what follows.
func TestOfferFirst(t *testing.T) {
	inPlace := func(c *format.Checkpoint) { c.InPlace, c.Step, c.Path = true, -1, "checkpoint.pt" }
	first := func(c *format.Checkpoint) { c.First = true }
	training := func(c *format.Checkpoint) { c.Training = true }
	optimizer := func(c *format.Checkpoint) { c.Training, c.Optimizer = true, true }
	identity := func(c *format.Checkpoint) { c.Identity = "abc" }
	part := func(c *format.Checkpoint) { c.Part = true }
	run := Run{"job", "run1"}
	began := History{Run: run}
	noted := func(cs ...format.Checkpoint) History { return History{}.Begin(run, From{}, Scan{Checkpoints: cs}) }
	base := at(0, weightsOnly, inPlace)
	for _, tt := range []struct {
		name   string
		has    []format.Checkpoint
		memory History
		steps  []int64
		ids    []string
		veto   bool
		fresh  bool // with a word
		cut    int64
	}{
		{name: "weights, an export, data", has: []format.Checkpoint{at(2, weightsOnly), base}, fresh: true},
		{name: "a trainer's state without its optimizer", has: []format.Checkpoint{at(2, weightsOnly, training)}, veto: true},
		{name: "cut under numbered names", has: []format.Checkpoint{at(2, because(problem.Truncated)), at(1, because(problem.NoMarker))}, fresh: true},
		{name: "cut in place", has: []format.Checkpoint{at(0, because(problem.Truncated), inPlace)}, veto: true},
		{name: "cut in its first save", has: []format.Checkpoint{at(0, because(problem.Truncated), inPlace, first)}, fresh: true},
		{name: "cut, and a whole one before it", has: []format.Checkpoint{at(0, because(problem.Truncated), inPlace), at(3, named("prev.pt"))}, steps: []int64{3}},
		{name: "written by this run: weights alone", memory: began, has: []format.Checkpoint{at(2, weightsOnly)}, veto: true},
		{name: "by this run: a part of the first save", memory: began, has: []format.Checkpoint{at(2, weightsOnly, part)}, fresh: true, cut: 2},
		{name: "by this run: parts of two saves", memory: began, has: []format.Checkpoint{at(2, weightsOnly, part), at(1, weightsOnly, part)}, veto: true},
		{name: "by this run: the first save, cut", memory: began, has: []format.Checkpoint{at(2, because(problem.NoMarker))}, fresh: true, cut: 2},
		{name: "by this run: two saves, cut", memory: began, has: []format.Checkpoint{at(2, because(problem.NoMarker)), at(1, because(problem.NoMarker))}, fresh: true},
		{name: "by this run: a save, cut after a whole one", memory: began, has: []format.Checkpoint{at(2, because(problem.NoMarker)), at(1)}, steps: []int64{1}},
		{name: "before this run: a save, cut", memory: noted(at(2, because(problem.NoMarker))), has: []format.Checkpoint{at(2, because(problem.NoMarker))}, fresh: true},
		{name: "before this run: a base model", memory: noted(base), has: []format.Checkpoint{base}, fresh: true},
		{name: "a base model, and what this run has saved", memory: noted(base), has: []format.Checkpoint{base, at(2, optimizer)}, steps: []int64{2}},
		{name: "the same name, written by this run since", memory: noted(base),
			has: []format.Checkpoint{at(0, weightsOnly, inPlace, func(c *format.Checkpoint) { c.Modified = saved.Add(time.Hour) })}, veto: true},
		{name: "no step, but a content", has: []format.Checkpoint{at(0, inPlace, identity, optimizer)}, ids: []string{"abc"}},
		{name: "only some have an optimizer", has: []format.Checkpoint{at(3), at(2, optimizer), at(1)}, steps: []int64{2}},
	} {
		weigh := func(p Policy) (Offer, error) {
			return p.Offer(Scan{Checkpoints: tt.has}, tt.memory, run, saved.Add(2*time.Hour))
		}
		o, err := weigh(Policy{})
		if err != nil || !slices.Equal(o.Steps, tt.steps) || !slices.Equal(o.Identities, tt.ids) || (o.Veto != nil) != tt.veto ||
			(o.Fresh != "") != tt.fresh && o.Veto == nil || (o.Cut != nil) != (tt.cut > 0) || o.Cut != nil && *o.Cut != tt.cut {
			t.Errorf("%s: %+v, %v", tt.name, o, err)
		}
		led, err := weigh(Policy{Ways: Ways{All: "this way"}})
		if o.Veto != nil && (err != nil || led.Veto == nil || led.Veto.Detail != o.Veto.Detail+"; this way" || strings.HasSuffix(o.Veto.Detail, ";")) {
			t.Errorf("%s: no way around is named: %v; %v", tt.name, led.Veto, o.Veto)
		}
	}
}
