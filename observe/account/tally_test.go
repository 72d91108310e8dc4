package account

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// story is a run told in events. Times are seconds since noon.
type story struct {
	Tally
	seq   int64
	round *int
}

func (s *story) add(second float64, t event.Type, change ...func(*event.Event)) *story {
	s.seq++
	e := event.Event{
		V: 1, ID: fmt.Sprint("s-", s.seq), Seq: s.seq, Source: "s", Node: "n", Type: t,
		At: event.Time(noon.Add(time.Duration(second * float64(time.Second)))), Round: s.round,
	}
	for _, f := range change {
		f(&e)
	}
	s.Add(e)
	return s
}

func (s *story) begin(second float64, round int, began event.Began) *story {
	s.round = &round
	return s.add(second, event.RoundBegan, func(e *event.Event) { e.Began = &began })
}

func (s *story) running(second float64) *story {
	return s.add(second, event.RoundRunning, func(e *event.Event) { e.Running = &event.Running{Workers: 2} })
}

func (s *story) step(second float64, n int64) *story {
	return s.add(second, event.Progress, func(e *event.Event) { e.Step = &n })
}

func (s *story) stop(second float64, by event.By) *story {
	return s.add(second, event.RoundStopping, func(e *event.Event) { e.Stopping = &event.Stopping{By: by, Why: "why"} })
}

func (s *story) gone(second float64, v exitcodes.Verdict) *story {
	return s.add(second, event.RoundEnded, func(e *event.Event) { e.RoundEnd = &event.RoundEnd{Verdict: v} })
}

func (s *story) end(second float64, v exitcodes.Verdict, reason string) *story {
	return s.add(second, event.RunEnded, func(e *event.Event) { e.End = &event.End{Verdict: v, Reason: reason} })
}

func from(step int64) event.Began {
	return event.Began{
		Resume: &event.Resume{Path: "/c", Step: &step}, Restart: &event.Restart{Kind: event.Failure, Reason: "OOMKilled"},
	}
}

func (s Summary) want(t *testing.T, productive, training float64, badput map[Source]float64) {
	t.Helper()
	if s.Productive != productive || s.Training != training {
		t.Errorf("productive %v, training %v; want %v, %v", s.Productive, s.Training, productive, training)
	}
	for _, source := range Sources() {
		if s.Badput[source] != badput[source] {
			t.Errorf("%s: %v, want %v", source, s.Badput[source], badput[source])
		}
	}
	s.balanced(t)
}

// balanced: every moment is accounted for, once.
func (s Summary) balanced(t *testing.T) {
	t.Helper()
	sum := s.Productive + s.Pending
	for _, seconds := range s.Badput {
		sum += seconds
	}
	if math.Abs(sum-s.Elapsed) > 0.02 {
		t.Errorf("%v s are accounted for, of %v: %+v", sum, s.Elapsed, s)
	}
}

// TestFailure is a run that fails at step 40, resumes from step 30, and succeeds. A step takes a second.
func TestFailure(t *testing.T) {
	s := &story{}
	s.add(0, event.RunStarted).begin(2, 0, event.Began{StartsOver: true}).running(3).step(10, 1).step(30, 21)
	s.add(30, event.SavingBegan).add(34, event.SavingEnded).step(53, 40)
	s.stop(60, event.ByWorker).gone(62, exitcodes.Retry)
	s.begin(65, 1, from(30)).running(66).step(70, 31).step(80, 41)
	middle := s.At(noon.Add(81 * time.Second))
	s.stop(82, event.ByWorker).gone(83, exitcodes.Success).end(84, exitcodes.Success, "Succeeded")
	end := s.At(noon.Add(time.Hour))
	// Steps 1 to 21 took 20 s, 21 to 40 took 19 s: 10 of these are lost, and one of the 7 s until the failure.
	want := map[Source]float64{
		Startup: 8 + 5, CheckpointSave: 4, LostProgress: 11, Detection: 6, Stop: 2 + 1, Rendezvous: 2 + 3, Other: 2 + 1,
	}
	end.want(t, 39, 49, want)
	want[Stop], want[Other] = 2, 0
	middle.want(t, 39, 49, want)
	if middle.Pending != 1 || end.Elapsed != 84 || *end.Goodput != math.Round(39.0/84*1e6)/1e6 {
		t.Errorf("pending %v, elapsed %v, goodput %v", middle.Pending, end.Elapsed, *end.Goodput)
	}
	if len(end.Disruptions) != 1 || len(end.Causes) != 1 || end.Restarted != 1 {
		t.Fatalf("%+v", end)
	}
	d := end.Disruptions[0]
	cost := map[Source]float64{LostProgress: 11, Detection: 6, Stop: 2, Rendezvous: 3, Startup: 5}
	if d.Round != 0 || d.Reason != "OOMKilled" || *d.LostSteps != 10 || d.Total != 27 || !d.Over ||
		!reflect.DeepEqual(d.Cost, cost) {
		t.Errorf("%+v", d)
	}
	if c := end.Causes[0]; c != (Cause{"OOMKilled", 1, 27, 10}) {
		t.Errorf("%+v", c)
	}
	if h := s.StepTimes(); h.N != 49 || h.Sum != 49*time.Second {
		t.Errorf("%+v", h)
	}
	if *end.Step != 41 || *end.StepMax != 41 || end.Phase != Ended {
		t.Errorf("%+v", end)
	}
}

// TestRemaining: what is left takes as long as it does at the pace of this round.
func TestRemaining(t *testing.T) {
	of := func(steps int64) func(*event.Event) { return func(e *event.Event) { e.Steps = &steps } }
	s := &story{}
	s.add(0, event.RunStarted).begin(0, 0, event.Began{}).running(0).step(10, 1)
	if end := s.At(noon.Add(11 * time.Second)); end.Steps != nil || end.Remaining != nil {
		t.Errorf("nobody has said how many: %+v", end)
	}
	s.add(11, event.SavingBegan, of(100))
	if end := s.At(noon.Add(12 * time.Second)); *end.Steps != 100 || end.Remaining != nil {
		t.Errorf("no step was timed: %+v", end)
	}
	for steps, want := range map[int64]float64{100: 178, 3: 0} {
		told := *s
		one := int64(11)
		told.add(30, event.Progress, of(steps), func(e *event.Event) { e.Step = &one })
		if end := told.At(noon.Add(31 * time.Second)); end.Remaining == nil || *end.Remaining != want {
			t.Errorf("%d steps: %v", steps, end.Remaining)
		}
	}
	// Who has no end says the largest number that there is.
	for _, steps := range []int64{1 << 40, math.MaxInt64} {
		told := *s
		one := int64(11)
		told.add(30, event.Progress, of(steps), func(e *event.Event) { e.Step = &one })
		if end := told.At(noon.Add(31 * time.Second)); *end.Steps != steps || end.Remaining != nil {
			t.Errorf("%d steps: %v", steps, *end.Remaining)
		}
	}
}

// TestUnknownResume is a training run that finds its checkpoint by itself: what is lost its first step tells.
func TestUnknownResume(t *testing.T) {
	s := &story{}
	s.add(0, event.RunStarted).begin(0, 0, event.Began{}).running(0).step(1, 1).step(11, 11)
	s.stop(11, event.ByJob).gone(11, "")
	s.begin(12, 1, event.Began{Restart: &event.Restart{Kind: event.Departure, Reason: "Preempted"}})
	s.running(12).step(13, 7)
	now := s.At(noon.Add(13 * time.Second))
	now.want(t, 5, 10, map[Source]float64{Startup: 2, LostProgress: 5, Rendezvous: 1})
	if d := now.Disruptions[0]; *d.LostSteps != 5 || d.Kind != event.Departure {
		t.Errorf("%+v", d)
	}
}

// TestNoSteps is a command that tells no step: its time is unknown, and so is the goodput.
func TestNoSteps(t *testing.T) {
	s := &story{}
	s.add(0, event.RunStarted).begin(0, 0, event.Began{}).running(1).stop(61, event.ByWorker).gone(62, exitcodes.Retry)
	s.begin(63, 1, event.Began{Restart: &event.Restart{Kind: event.Failure, Reason: "Error"}}).running(64)
	s.stop(164, event.ByWorker).gone(164, exitcodes.Success).end(165, exitcodes.Success, "Succeeded")
	end := s.At(noon)
	end.want(t, 0, 0, map[Source]float64{Startup: 2, Unknown: 160, Stop: 1, Rendezvous: 1, Other: 1})
	if end.Goodput != nil || end.Step != nil || end.Disruptions[0].Total != 63 || end.Disruptions[0].LostSteps != nil {
		t.Errorf("%+v", end)
	}
}

// TestFallback goes back twice, to ever older steps, and ends for good.
func TestFallback(t *testing.T) {
	s := &story{}
	s.add(0, event.RunStarted).begin(0, 0, event.Began{StartsOver: true}).running(0).step(0, 0).step(100, 100)
	s.stop(100, event.ByHealth).gone(100, exitcodes.Retry).begin(100, 1, from(90)).running(100).step(100, 90).step(105, 95)
	s.stop(105, event.ByWorker).gone(105, exitcodes.Retry).begin(105, 2, from(50)).running(105).step(105, 50).step(110, 55)
	s.stop(110, event.ByOutside).gone(111, exitcodes.Preempted).end(112, exitcodes.Preempted, "Preempted")
	end := s.At(noon)
	end.want(t, 55, 110, map[Source]float64{LostProgress: 10 + 45, Stop: 1, Rendezvous: 1})
	last := end.Disruptions[2]
	if *end.StepMax != 100 || *end.Step != 55 || !last.Final || last.Kind != event.Departure ||
		last.Reason != "Preempted" {
		t.Errorf("%+v", end)
	}
}

// TestAddedTwice: what was added, or comes from another process, changes nothing.
func TestAddedTwice(t *testing.T) {
	s := &story{}
	s.add(0, event.RunStarted).begin(0, 0, event.Began{}).running(0).step(1, 1).step(11, 11)
	before, _ := json.Marshal(s.At(noon.Add(time.Minute)))
	other := s.last
	other.Source, other.Seq = "x", 99
	s.Add(s.last)
	s.Add(other)
	if after, _ := json.Marshal(s.At(noon.Add(time.Minute))); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
}

// TestAnyOrder: whatever comes in whatever order, every moment is accounted for once, counters never go back, and
// nothing panics.
func TestAnyOrder(t *testing.T) {
	types := []event.Type{
		event.RunStarted, event.RoundBegan, event.RoundRunning, event.Progress, event.SavingBegan, event.SavingEnded, event.StragglerFound,
		event.StragglerOver, event.CheckpointSaved, event.RoundStopping, event.WorkerFailed, event.RoundEnded, event.Leaving,
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &story{}
		second, before := 0.0, Summary{}
		s.add(0, event.RunStarted)
		for range 100 {
			second += float64(r.IntN(3000)) / 1000
			n := r.Int64N(50)
			switch k := r.IntN(12); {
			case k == 0:
				s.begin(second, r.IntN(9), from(n))
			case k == 1:
				s.running(second)
			case k < 5:
				s.step(second, n)
			case k == 5:
				s.stop(second-r.Float64(), event.By([]event.By{event.ByWorker, event.ByOutside, event.ByJob}[r.IntN(3)]))
			case k == 6:
				s.gone(second, []exitcodes.Verdict{"", exitcodes.Retry, exitcodes.Success}[r.IntN(3)])
			default:
				s.add(second, types[r.IntN(len(types))])
			}
			now := s.At(noon.Add(time.Duration((second + r.Float64()) * float64(time.Second))))
			now.balanced(t)
			if now.Training < before.Training || now.Restarted < before.Restarted {
				t.Errorf("%+v after %+v", now, before)
			}
			for source, seconds := range before.Badput {
				if now.Badput[source] < seconds-1.001 { // what was shown up to a time that is not told yet
					t.Errorf("%s went back from %v to %v", source, seconds, now.Badput[source])
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			before = now
		}
	}
}

// TestMemory stays the same over ten thousand restarts and a million steps.
func TestMemory(t *testing.T) {
	s := &story{}
	s.add(0, event.RunStarted)
	second := 0.0
	run := func(rounds int) (bytes uint64) {
		for i := range rounds {
			reason := fmt.Sprint("Reason", i)
			began := from(int64(i))
			began.Restart.Reason = reason
			s.begin(second, i, began).running(second)
			for n := range 100 {
				second++
				s.step(second, int64(i+n))
			}
			s.stop(second, event.ByWorker).gone(second, exitcodes.Retry)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := run(1000)
	after := run(9000)
	if grown := int64(after) - int64(before); grown > 256<<10 {
		t.Errorf("%d bytes more after 9,000 restarts and 900,000 steps", grown)
	}
	if all := s.At(noon); len(all.Disruptions) > mostDisruptions+1 || len(all.Causes) > mostReasons+1 ||
		all.Restarted != 10000 {
		t.Errorf("%d disruptions, %d causes, %d restarts", len(all.Disruptions), len(all.Causes), all.Restarted)
	}
	if n := len(s.progress.samples); n > mostSamples {
		t.Errorf("%d samples", n)
	}
}
