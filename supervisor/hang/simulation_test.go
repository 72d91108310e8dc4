package hang

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestDays simulates days of training in which nothing hangs until the end: steps of a heavy-tailed length, stalls of up to
// 50 silent seconds, evaluations, checkpoints of minutes, phases told or not. Nothing but the end is a hang, and what
// Observe says is what Act does. make test takes a sample of the 1,000 seeds.
func TestDays(t *testing.T) {
	seeds := uint64(12)
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		seeds = 1000
	}
	for seed := range seeds {
		at, limit := simulate(t, seed, Act)
		if observed, _ := simulate(t, seed, Observe); observed != at {
			t.Errorf("seed %d: act at %v, observe at %v", seed, at, observed)
		}
		// The hang is seen when its time is over, and not before.
		if over := at - limit; over < 0 || over > 2*ConfirmTime+2*time.Second {
			t.Errorf("seed %d: the hang of a limit of %v was seen after %v", seed, limit, at)
		}
	}
	t.Logf("%d seeds of 24 hours", seeds)
}

// simulate returns how long after the last sign it was taken for a hang, and what the limit was then.
func simulate(t *testing.T, seed uint64, mode Mode) (after, limit time.Duration) {
	t.Helper()
	const day = 24 * time.Hour
	r := rand.New(rand.NewPCG(seed, 0))
	var (
		median = 0.5 * math.Exp(r.Float64()*math.Log(60)) // of a step: half a second to half a minute
		tells  = r.IntN(2) == 0                           // its phases
		d      = New(Policy{Mode: mode, ExitTimeout: time.Minute}, 4, noon)
		now    time.Duration
		next   = period // tick
		sample bool
		io     int64
	)
	// silent lets time pass, in which so many bytes are moved each second.
	silent := func(d *Detector, length float64, perSecond int64) bool {
		for end := now + time.Duration(length*1e9); ; {
			if next > end {
				now = end
				return true
			}
			now = next
			io += perSecond
			at := noon.Add(now)
			if sample {
				for i := range d.workers {
					d.Used(i, Usage{IO: io}, at)
				}
			}
			do := d.Tick(at)
			sample, next = do.Sample, d.Next().Sub(noon)
			if do.Hang != nil {
				return false
			}
		}
	}
	tell := func(phase string, step int64) {
		for i := range d.workers {
			sign := Sign{Rank: i, Phase: phase}
			if phase == "" {
				sign.Step = &step
			}
			d.Told(i, sign, noon.Add(now))
		}
	}
	fails := func(what string) {
		t.Fatalf("seed %d: a false hang in %s after %v; steps of %.1fs, slowest %v", seed, what, now, median, d.slowest)
	}
	if !silent(d, median*50, 0) {
		fails("the first step")
	}
	for step := int64(1); now < day; step++ {
		length, what := median*math.Exp(0.5*r.NormFloat64()), "a step"
		if r.IntN(1000) == 0 {
			length, what = math.Max(length, 5*math.Pow(10, r.Float64())), "a stall"
		}
		if !silent(d, length, 0) {
			fails(what)
		}
		tell("", step)
		if r.IntN(500) == 0 {
			length, perSecond := 20*median, int64(0)
			if tells {
				tell("eval", 0)
			} else if length > 50 {
				perSecond = 1 << 20 // it reads what it evaluates
			}
			if !silent(d, length, perSecond) {
				fails("an evaluation")
			}
			tell(Train, 0)
		}
		if r.IntN(500) == 0 {
			if tells {
				tell("checkpoint", 0)
			}
			if !silent(d, 60+r.Float64()*600, 4<<20) {
				fails("a checkpoint")
			}
			tell(Train, 0)
		}
	}
	last := d.toldAt.Sub(noon)
	if silent(d, 5*3600, 1<<10) { // something writes a line now and then
		t.Fatalf("seed %d: a hang was not seen", seed)
	}
	return now - last, d.limit()
}
