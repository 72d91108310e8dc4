package page_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/serve"
	"github.com/gangrun/gangrun/rendezvous"
)

const hostile = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\x1b[2J\u202e"

// story is a run that is served, and told in events. Times are seconds since its start.
type story struct {
	mu    sync.Mutex
	tally account.Tally
	feed  *serve.Feed
	job   *serve.Job
	start time.Time
	now   float64
	seq   int64
	round int
	node  string
}

func (s *story) tell(second float64, typ event.Type, change func(*event.Event)) {
	s.mu.Lock()
	s.seq++
	s.now = max(s.now, second)
	round := s.round
	e := event.Event{
		V: 1, ID: fmt.Sprint("s-", s.seq), Seq: s.seq, Source: "s", Job: "llama-7b", Node: s.node, Run: "u", Type: typ,
		At: event.Time(s.start.Add(time.Duration(second * float64(time.Second)))), Round: &round,
	}
	if typ == event.RunStarted {
		e.Round = nil
	}
	if change != nil {
		change(&e)
	}
	s.tally.Add(e)
	s.mu.Unlock()
	s.feed.Take([]event.Event{e})
}

func (s *story) at(time.Time) account.Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.tally.At(s.start.Add(time.Duration(s.now * float64(time.Second))))
	if sum.Phase == account.Running {
		rank := 3
		sum.Behind = &account.Behind{Rank: &rank, Steps: 2}
	}
	return sum
}

// serve starts the server.
func (s *story) serve(t *testing.T) string {
	t.Helper()
	s.start = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	s.feed = serve.NewFeed(func() *serve.Job { s.mu.Lock(); defer s.mu.Unlock(); return s.job })
	server, err := serve.Listen("127.0.0.1:0", serve.Config{
		Metrics: prometheus.NewRegistry(), At: s.at, Alive: func() bool { return true }, Feed: s.feed,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return "http://" + server.Addr().String() + "/"
}

// trains runs a round from one step to another, with checkpoints, and returns when it is over.
func (s *story) trains(from, seconds float64, first, last int64, began event.Began, job *serve.Job) float64 {
	s.mu.Lock()
	s.job = job
	s.mu.Unlock()
	s.tell(from, event.RoundBegan, func(e *event.Event) { e.Began = &began })
	s.tell(from+3, event.RoundRunning, func(e *event.Event) { e.Running = &event.Running{Workers: 8} })
	for n := range 51 {
		i := float64(n) / 50
		step := first + int64(i*float64(last-first))
		at := from + 15 + i*(seconds-15)
		s.tell(at, event.Progress, func(e *event.Event) { e.Step = &step })
		if n%10 == 9 {
			s.tell(at, event.CheckpointSaved, func(e *event.Event) {
				e.Checkpoint = &event.Checkpoint{Path: "/checkpoints", Step: step, Modified: e.At}
			})
		}
	}
	return from + seconds
}

func (s *story) fails(at float64, f *event.Failed, by event.By, why string) {
	s.tell(at, event.RoundStopping, func(e *event.Event) { e.Stopping = &event.Stopping{By: by, Why: why} })
	if f != nil {
		f.At = s.start.Add(time.Duration(at * float64(time.Second)))
		s.tell(at+1, event.WorkerFailed, func(e *event.Event) { e.Failed = f })
	}
	s.tell(at+8, event.RoundEnded, func(e *event.Event) {
		e.RoundEnd = &event.RoundEnd{Workers: event.Ends{Stopped: 7, Failed: 1}}
		if f != nil {
			e.RoundEnd.Verdict, e.RoundEnd.Reason = f.Verdict, f.Reason
		}
	})
}

// members is the record of a job whose newest round has so many.
func (s *story) members(n, round int, stops ...serve.Stop) *serve.Job {
	r := &rendezvous.Round{Number: round}
	for i := range n {
		name := fmt.Sprint("node", i)
		if i == 2 {
			name = hostile
		}
		r.Members = append(r.Members, rendezvous.Member{Name: name, Slots: 8})
	}
	had := int64(3250)
	j := &rendezvous.Job{
		Phase: rendezvous.Running, Since: s.start, Round: round, Spec: rendezvous.DefaultSpec(n), Reached: &had,
		Bans: []rendezvous.Ban{{Host: "gpu-7", Until: s.start.Add(9 * time.Hour), Last: rendezvous.Fault{
			Round: 1, Node: hostile, Reason: "NodeLost", Message: "nothing has been heard of it", At: s.start,
		}}},
	}
	for i := range stops {
		j.History = append(
			j.History,
			rendezvous.Past{
				Round:  stops[i].Round,
				Kind:   stops[i].Kind,
				Node:   stops[i].Node,
				Reason: stops[i].Reason,
				At:     stops[i].At,
			},
		)
	}
	return serve.JobOf(j, r, s.reached(r), s.node)
}

// reached is how far the nodes have come: all but one are level.
func (s *story) reached(r *rendezvous.Round) map[string]*rendezvous.Reached {
	all := map[string]*rendezvous.Reached{}
	for i, m := range r.Members {
		step := int64(3700)
		if i == 1 {
			step = 3697
		}
		all[m.Name] = &rendezvous.Reached{Round: r.Number, Step: &step, Phase: "train"}
	}
	return all
}

// told is a run of some hours, with three interruptions.
func (s *story) told(n int) {
	s.node = "node0"
	ptr := func(v int64) *int64 { return &v }
	restart := func(reason string, kind event.Kind, used int, from int64) event.Began {
		return event.Began{
			Restart: &event.Restart{
				Kind:   kind,
				Reason: reason,
			}, Restarts: event.Restarts{Used: used, Max: 3, Total: used},
			Resume: &event.Resume{Path: "/checkpoints", Step: &from}, LostSteps: ptr(40),
		}
	}
	s.tell(0, event.RunStarted, func(e *event.Event) { e.Started = &event.Started{Version: "v1", MaxRestarts: 3} })
	over := s.trains(30, 3000, 0, 1500, event.Began{Restarts: event.Restarts{Max: 3}, StartsOver: true},
		s.members(n, 0))
	zero, three := 0, 3
	s.fails(over, &event.Failed{
		Verdict: exitcodes.Retry, Reason: "OOMKilled", Message: "rank 0 was killed by SIGKILL", Rank: &zero,
		Signal: "SIGKILL", Rule: "kernel.oom",
		Evidence: "1 kill for memory in the container's control group", Cause: true,
	}, event.ByWorker, "rank 0 was ended by SIGKILL")
	stop := func(at float64) time.Time { return s.start.Add(time.Duration(at * float64(time.Second))) }
	first := serve.Stop{Round: 0, Kind: "failure", Node: "node0", Reason: "OOMKilled", At: stop(over)}
	s.round = 1
	over = s.trains(over+20, 2500, 1400, 2600, restart("OOMKilled", event.Failure, 1, 1400), s.members(n, 1, first))
	s.fails(over, nil, event.ByJob, "a node was lost: "+hostile)
	second := serve.Stop{Round: 1, Kind: "loss", Node: hostile, Reason: "NodeLost", At: stop(over)}
	s.round = 2
	over = s.trains(over+90, 1800, 2450, 3300, restart("NodeLost", event.Failure, 1, 2450),
		s.members(n, 2, first, second))
	s.fails(over, &event.Failed{
		Verdict: exitcodes.Retry, Reason: "NCCLTimeout", Message: "rank 3 exited with 1: " + hostile, Rank: &three,
		Rule: "nccl.timeout", LastWords: "step 3300 loss 2.71\n" + hostile + "\n[rank3]: Watchdog caught collective operation timeout",
		Evidence: "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1174, OpType=ALLREDUCE) ran for 600001 milliseconds", Cause: true,
	}, event.ByWorker, "rank 3 exited with 1")
	third := serve.Stop{Round: 2, Kind: "failure", Node: "node0", Reason: "NCCLTimeout", At: stop(over)}
	s.round = 3
	over = s.trains(over+12, 900, 3250, 3700, restart("NCCLTimeout", event.Failure, 2, 3250),
		s.members(n, 3, first, second, third))
	for rank, excess := range map[int]float64{3: 0.42, 5: 0.1} {
		s.tell(over, event.StragglerFound, func(e *event.Event) {
			e.Straggler = &event.Straggler{Rank: rank, Late: 43, Steps: 50, ExcessSeconds: excess, StepSeconds: 2, By: event.ByArrival}
		})
	}
}
