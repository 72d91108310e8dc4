package account

import "time"

// mostSamples bounds what is remembered of how training went, to know later what a restart has thrown away.
const mostSamples = 1024

// progress is how far training has come, and how long the steps have taken that count.
type progress struct {
	any  bool // a step was told
	step int64
	most int64
	at   time.Time // of the step
	kept time.Duration

	steps   int64         // in this round, after the first
	stepped time.Duration // the time of these
	samples []sample      // with growing steps
}

// sample says that a step was reached when so much time had been spent on steps that count.
type sample struct {
	step int64
	kept time.Duration
}

func (p *progress) newRound() { p.steps, p.stepped = 0, 0 }

// made adds time that was spent on steps.
func (p *progress) made(d time.Duration) { p.kept, p.stepped = p.kept+d, p.stepped+d }

// stepTime is how long a step of this round takes, on average; 0 while that is not known.
func (p *progress) stepTime() time.Duration {
	if p.steps == 0 {
		return 0
	}
	return p.stepped / time.Duration(p.steps)
}

func (p *progress) reached(step int64, at time.Time) {
	p.step, p.most, p.at = step, max(p.most, step), at
	if !p.any {
		p.any, p.most = true, step
	}
	for len(p.samples) > 0 && p.samples[len(p.samples)-1].step >= step { // it counts from the start again
		p.samples = p.samples[:len(p.samples)-1]
	}
	p.samples = append(p.samples, sample{step, p.kept})
	if len(p.samples) > mostSamples { // the older half gets coarser: restarts go back a little, not to the beginning
		thin := p.samples[:1]
		for i := 2; i < mostSamples/2; i += 2 {
			thin = append(thin, p.samples[i])
		}
		p.samples = append(thin, p.samples[mostSamples/2:]...)
	}
}

// rewind goes back to a step. It returns the time and the steps that are lost, and whether that is known.
func (p *progress) rewind(step int64) (lost time.Duration, steps int64, known bool) {
	if !p.any {
		return 0, 0, false
	}
	if step >= p.step {
		return 0, 0, true
	}
	steps = p.step - step
	kept := p.keptAt(step)
	lost, p.kept = p.kept-kept, kept
	for len(p.samples) > 0 && p.samples[len(p.samples)-1].step > step {
		p.samples = p.samples[:len(p.samples)-1]
	}
	p.samples = append(p.samples, sample{step, kept})
	p.step = step
	return lost, steps, true
}

// keptAt is how much time had been spent on steps that count when the step was reached: between two samples it is taken
// to have gone evenly.
func (p *progress) keptAt(step int64) time.Duration {
	for i := len(p.samples) - 1; i >= 0; i-- {
		from := p.samples[i]
		switch {
		case from.step > step:
			continue
		case i == len(p.samples)-1 || from.step == step:
			return from.kept
		}
		to := p.samples[i+1]
		share := float64(step-from.step) / float64(to.step-from.step)
		return from.kept + time.Duration(share*float64(to.kept-from.kept))
	}
	if len(p.samples) > 0 {
		return p.samples[0].kept
	}
	return p.kept
}
