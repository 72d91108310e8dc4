package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/internal/words"
)

// Report is a silence in words and numbers.
type Report struct {
	Silence time.Duration // since the last progress
	Limit   time.Duration
	Told    bool // steps were told; else only output, CPU time and I/O speak
	Acts    bool // it is to be acted on
	Exiting bool // all that live have told that they are about to end
	Ranks   []Standing
}

// Standing is how far one rank has come, as it has told.
type Standing struct {
	Worker, Rank int // Rank is -1 where the worker does not say
	Step         *int64
	Phase        string
	Since        time.Duration // its newest progress
}

func (d *Detector) report(limit time.Duration) *Report {
	last := d.toldAt
	if !d.told() && !d.exiting() {
		due, _ := d.dueByOutput()
		last = due.Add(-limit)
	}
	r := &Report{Silence: d.now.Sub(last), Limit: limit, Told: d.told(), Acts: d.acts(), Exiting: d.exiting()}
	for i := range d.workers {
		if d.workers[i].ended {
			continue
		}
		for n, k := range d.workers[i].ranks {
			r.Ranks = append(r.Ranks, Standing{Worker: i, Rank: n, Step: k.step, Phase: k.phase, Since: d.now.Sub(k.at)})
		}
	}
	slices.SortFunc(r.Ranks, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Rank, b.Rank))
	})
	return r
}

// String is what there is to say about the silence, to follow "no progress for".
func (r *Report) String() string {
	if at := r.Standings(); at != "" {
		return r.Silent() + "; " + at
	}
	return r.Silent()
}

// Silent is what has not come for how long.
func (r *Report) Silent() string {
	switch {
	case r.Exiting:
		return "said to be about to end, and did not for " + round(r.Silence)
	case r.Told:
		return "no step for " + round(r.Silence)
	}
	return "no output and no I/O for " + round(r.Silence)
}

// Standings are the steps at which the ranks stand, in words; empty where none was told.
func (r *Report) Standings() string {
	at := map[int64][]string{}
	var steps []int64
	for _, s := range r.Ranks {
		if s.Step == nil {
			continue
		}
		if at[*s.Step] == nil {
			steps = append(steps, *s.Step)
		}
		who := s.name()
		if s.Phase != Train {
			who += " (" + s.Phase + ")"
		}
		at[*s.Step] = append(at[*s.Step], who)
	}
	slices.Sort(steps)
	if len(steps) == 1 && len(at[steps[0]]) > 1 {
		return fmt.Sprintf("all reported step %d", steps[0])
	}
	var parts []string
	for i, step := range steps {
		if i == mostNamed {
			parts = append(parts, "and others further")
			break
		}
		parts = append(parts, fmt.Sprintf("%s reported step %d", words.Few(at[step]), step))
	}
	return strings.Join(parts, ", ")
}

// mostNamed bounds what a sentence lists: steps, places, calls.
const mostNamed = 4

func (s Standing) name() string {
	if s.Rank < 0 {
		return fmt.Sprintf("worker %d", s.Worker)
	}
	return fmt.Sprintf("rank %d", s.Rank)
}

func round(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
