// Package live says in one line how a run gets on, for the person who has started it. It is pure.
package live

import (
	"fmt"
	"strings"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/record"
)

// paceOver is over how long the pace is taken, and behindFrom how many steps a worker is behind before it is worth
// saying: those that are level are one apart now and then.
const (
	paceOver   = 15 * time.Second
	behindFrom = 2
)

// Pace is how many steps a second are made. Its zero value knows nothing.
type Pace struct {
	round   int
	samples []sample
}

type sample struct {
	at   time.Time
	step int64
}

// Add takes where the workers are at that time, and returns the steps per second of the last while; 0 where that is not
// known. A round starts from none.
func (p *Pace) Add(now time.Time, round *int, step *int64) float64 {
	if round == nil || step == nil {
		p.samples = p.samples[:0]
		return 0
	}
	if n := len(p.samples); *round != p.round || n > 0 && *step < p.samples[n-1].step {
		p.round, p.samples = *round, p.samples[:0]
	}
	p.samples = append(p.samples, sample{now, *step})
	for len(p.samples) > 2 && now.Sub(p.samples[1].at) >= paceOver {
		p.samples = append(p.samples[:0], p.samples[1:]...)
	}
	first := p.samples[0]
	took := now.Sub(first.at).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(*step-first.step) / took
}

// Line is how the run gets on: round, step, pace, who is behind, the last checkpoint, restarts. What is not known is
// left out.
func Line(p record.Place, s account.Summary, pace float64) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	phase := string(s.Phase)
	switch {
	case s.Leaving != "":
		phase = "stopping"
	case p.Saving:
		phase = "saving a checkpoint"
	}
	if s.Phase != account.Running {
		phase += fmt.Sprintf(" for %v", max(0, s.At.Sub(s.Since)).Truncate(time.Second))
	}
	if s.Round != nil {
		add("round %d", *s.Round)
	}
	step := p.Step
	if step == nil && s.Phase != account.Running {
		step = s.Step // the last of the round before
	}
	if step != nil {
		add("step %d", *step)
	}
	if pace > 0 {
		add("%s steps/s", threeDigits(pace))
	}
	if p.Behind >= behindFrom {
		who := "a worker"
		if p.Rank >= 0 {
			who = fmt.Sprintf("rank %d", p.Rank)
		}
		add("%s is %d steps behind", who, p.Behind)
	}
	if c := s.Checkpoint; c != nil {
		add("checkpoint of step %d, %s ago", c.Step, age(s.At.Sub(c.Modified)))
	}
	if s.Restarted > 0 || s.Restarts.Used > 0 {
		add("%d of %d restarts used", s.Restarts.Used, s.Restarts.Max)
	}
	return strings.Join(append([]string{phase}, parts...), ", ")
}

func threeDigits(f float64) string {
	switch {
	case f < 1:
		return fmt.Sprintf("%.2g", f)
	case f < 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// age is in one unit: nobody needs the seconds of an hour.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(max(d, 0).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
