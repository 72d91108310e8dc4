package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// phase is what time is spent on.
type phase int

const (
	useful phase = iota // training that is not done again
	again               // training after the last complete checkpoint, which is done again
	saving              // training stands while it is saved
	detecting
	stopping
	forming // the fence, replacements, backoff, the new round
	starting
	loading
	phases
)

// recovery is what becomes of one interruption, told by whoever decides about it.
type recovery struct {
	detect, stop, form time.Duration
	// trained is how long training went on after it, up to a save that all made and that took as long as saved says.
	trained, saved time.Duration
	resume         time.Duration // the training time of the checkpoint to resume from
	ended          bool          // the job had ended, and was run again
}

// recoverer recovers from an interruption of a round that trains since so long (below 0: it does not yet), when the run
// has trained for worked, and has complete checkpoints of as much as checkpoint says.
type recoverer interface {
	recover(k kind, at, trains, worked, checkpoint time.Duration) recovery
}

// result is what a run came to.
type result struct {
	spent [phases]time.Duration
	ended int
}

func (r result) percent(p phase) float64 {
	var all time.Duration
	for _, d := range r.spent {
		all += d
	}
	return 100 * r.spent[p].Seconds() / all.Seconds()
}

// strikes are when a run is interrupted: independently of each other, so that the times between are exponential. They
// are drawn from as many equal parts of that distribution, which takes out most of the chance.
func strikes(r *rand.Rand, n int, length time.Duration) []time.Duration {
	list := make([]time.Duration, n)
	now, mean := 0.0, float64(length)/float64(n)
	for i, part := range r.Perm(n) {
		now -= mean * math.Log(1-(float64(part)+r.Float64())/float64(n))
		list[i] = time.Duration(now)
	}
	return list
}

// train lets the assumed interruptions strike a run. One that would strike while no workers run strikes the next that
// do.
func train(a assumptions, who recoverer) result { return trainSeed(a, who, 1) }

func trainSeed(a assumptions, who recoverer, seed uint64) result {
	r := rand.New(rand.NewPCG(seed, 0))
	strikes := strikes(r, a.total(), a.length)
	var what []kind
	for k, n := range a.count {
		what = append(what, slices.Repeat([]kind{kind(k)}, n)...)
	}
	r.Shuffle(len(what), func(i, k int) { what[i], what[k] = what[k], what[i] })

	var res result
	var now, base time.Duration // now: a round was formed; base: the training time that it resumes from
	for i, at := range strikes {
		if at = max(at, now); at >= a.length {
			break
		}
		work, saved := a.round(&res, at-now)
		rec := who.recover(what[i], at, at-now-a.start(), base+work, base+saved)
		work += rec.trained
		res.spent[useful] += rec.trained
		redone := base + work - rec.resume
		res.spent[useful] -= redone
		res.spent[again] += redone
		res.spent[saving] += rec.saved
		res.spent[detecting] += rec.detect
		res.spent[stopping] += rec.stop
		res.spent[forming] += rec.form
		now, base = at+rec.trained+rec.saved+rec.detect+rec.stop+rec.form, rec.resume
		if rec.ended {
			res.ended++
		}
	}
	if now < a.length {
		a.round(&res, a.length-now)
	}
	return res
}

// round spends the time of a round that begins with its processes. It returns how long it has trained, and how much of
// that is in complete checkpoints.
func (a assumptions) round(res *result, length time.Duration) (work, saved time.Duration) {
	for _, s := range []struct {
		phase phase
		takes time.Duration
	}{{starting, a.python + a.setup}, {loading, a.load}} {
		takes := min(s.takes, length)
		res.spent[s.phase] += takes
		length -= takes
	}
	cycle := a.save + a.pause
	n, rest := length/cycle, length%cycle
	work = n*a.save + min(rest, a.save)
	res.spent[useful] += work
	res.spent[saving] += length - work
	return work, max(0, (length-a.written)/cycle) * a.save
}
