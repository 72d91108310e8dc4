package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
)

// TestFailureAndSuccess is a round of two ranks of which one is killed, a restart from a checkpoint, and success.
func TestFailureAndSuccess(t *testing.T) {
	w := newWorld(t, 2)
	w.at(1, budget(0, 0, ""), node.Begin{Run: "u", Round: 0, Looked: true})
	w.at(3, steps(1, 2)).at(4, steps(2, 2)).at(5, steps(2, 3)).at(8, steps(3, 3)).at(10, steps(4, 4))
	w.at(10.5, node.Saved{Path: "/c/4", Step: 4, Modified: noon})
	w.at(10.6, node.Saved{Path: "/c/4", Step: 4, Modified: noon})
	w.at(11, node.Reported{{Step: step(5), Saving: true}, {Step: step(5)}}).at(12, steps(5, 5)).at(13, steps(6, 6))
	w.at(13.5, w.exit(0, 0, 9)).at(14, w.exit(1, 0, 15))
	w.at(15, budget(1, 0, "Killed/rule/137"), node.Begin{Run: "u", Round: 1, Path: "/c/4", Step: step(4), Looked: true, Banned: []string{"gpu-7"}, Blamed: "m"})
	w.at(17, steps(5, 5)).at(18, w.exit(0, 0, 0)).at(18.5, w.exit(1, 0, 0))
	w.at(19, node.End{End: rendezvous.End{Verdict: exitcodes.Success, Reason: exitcodes.ReasonSucceeded}})
	w.want(
		"0 run.started",
		"1 round.began r0",
		"1 round.running r0 workers=2 recovery=0",
		"3 progress r0 s1",
		"8 progress r0 s3",
		"10 progress r0 s4",
		"10.5 checkpoint.saved r0 s4 /c/4 4",
		"11 progress r0 s5",
		"11 saving.began r0 s5",
		"12 saving.ended r0 s5",
		"13 progress r0 s6",
		"13.5 round.stopping r0 s6 worker: rank 0 was ended by SIGKILL",
		"14 worker.failed r0 s6 KilledBySIGKILL cause=true rank=0",
		"14 round.ended r0 s6 retry KilledBySIGKILL {0 1 1}",
		"15 round.began r1 failure Killed total=1 on=m lost=2 banned=[gpu-7]",
		"15 round.running r1 workers=2 recovery=1.5",
		"17 progress r1 s5",
		"18 round.stopping r1 s5 worker: rank 0 exited with 0",
		"18.5 round.ended r1 s5 success Succeeded {2 0 0}",
		"19 run.ended r1 s5 success Succeeded 0",
	)
}

// TestOutside is a node that is told to stop, first by the job and then from outside.
func TestOutside(t *testing.T) {
	w := newWorld(t, 1)
	w.at(1, budget(0, 0, ""), node.Begin{Round: 0})
	w.at(2, node.Stop{Round: 0, Why: "another node leaves", Departure: true}).at(3, w.exit(0, 0, 15))
	w.at(4, budget(0, 1, ""), node.Begin{Round: 1}).at(5, node.Signaled{Signal: node.SIGTERM}).at(6, w.exit(0, 3, 0))
	w.at(7, node.End{End: rendezvous.End{Verdict: exitcodes.Retry, Reason: "x"}})
	w.want(
		"0 run.started",
		"1 round.began r0",
		"1 round.running r0 workers=1 recovery=0",
		"2 round.stopping r0 job: another node leaves",
		"3 round.ended r0   {0 0 1}",
		"4 round.began r1 departure Preempted total=0",
		"4 round.running r1 workers=1 recovery=2",
		"5 round.stopping r1 outside: SIGTERM from outside",
		"5 leaving r1 SIGTERM from outside",
		"6 round.ended r1 preempted Preempted {0 0 1}",
		"7 run.ended r1 preempted Preempted 143",
	)
}

// TestWhyAgain is why there is another round: whose the charge is, or why there is none.
func TestWhyAgain(t *testing.T) {
	for _, tt := range []struct {
		now  rendezvous.Budget
		b    node.Begin
		want event.Restart
	}{
		{rendezvous.Budget{Total: 1, Cause: "OOMKilled/137"}, node.Begin{Blamed: "n1"},
			event.Restart{Kind: event.Failure, Reason: "OOMKilled", Node: "n1"}},
		{rendezvous.Budget{Preemptions: 1}, node.Begin{}, event.Restart{Kind: event.Departure, Reason: "Preempted"}},
		{rendezvous.Budget{}, node.Begin{StoreLost: true}, event.Restart{Kind: event.Store, Reason: "StoreLost"}},
		{rendezvous.Budget{}, node.Begin{}, event.Restart{Kind: event.Asked}},
	} {
		r := &Recorder{charged: &rendezvous.Budget{}, budget: tt.now}
		if got := r.restart(tt.b); *got != tt.want {
			t.Errorf("%+v, %+v: %+v, want %+v", tt.now, tt.b, *got, tt.want)
		}
	}
}

// TestNotStarted is a round whose worker cannot be started, and one that comes after the end was asked for.
func TestNotStarted(t *testing.T) {
	w := newWorld(t, 1)
	w.refuse = "no such file"
	w.at(1, budget(0, 0, ""), node.Begin{Round: 0}).at(2, node.Signaled{Signal: node.SIGTERM}).at(3, node.Begin{Round: 1})
	w.want(
		"0 run.started",
		"1 round.began r0",
		"1 round.stopping r0 worker: rank 0 could not be started",
		"1 worker.failed r0 NotFound cause=true rank=0",
		"1 round.ended r0 fatal NotFound {0 1 0}",
		"2 leaving r0 SIGTERM from outside",
	)
}

// TestHang: a round whose workers get nowhere stops when that is found, not when the last of them has ended.
func TestHang(t *testing.T) {
	w := newWorld(t, 1)
	w.at(1, budget(0, 0, ""), node.Begin{Round: 0}).at(2, steps(7))
	hang := rendezvous.Outcome{Reason: exitcodes.ReasonHang, Message: "the workers get nowhere"}
	at := noon.Add(60 * time.Second)
	w.events = append(w.events, w.r.Step(at, node.Tick{}, []node.Effect{node.Failing{Outcome: hang}})...)
	w.at(70, w.exit(0, 0, 6))
	w.want(
		"0 run.started",
		"1 round.began r0",
		"1 round.running r0 workers=1 recovery=0",
		"2 progress r0 s7",
		"60 round.stopping r0 s7 health: the workers get nowhere",
		"70 worker.failed r0 s7 KilledBySIGABRT cause=true rank=0",
		"70 round.ended r0 s7 retry KilledBySIGABRT {0 1 0}",
	)
}

// TestManyWorkers names a bounded number of workers that fail together, the cause first, and counts them all.
func TestManyWorkers(t *testing.T) {
	const count, cause = 100, 70
	r, _ := New(Config{Source: "s", StartedAt: noon})
	r.Step(noon, node.Begin{Round: 0}, []node.Effect{node.Prepare{}})
	c := node.Concluded{Cause: cause}
	for i := range count {
		c.Stops = append(c.Stops, exitcodes.NotStopped)
		c.Findings = append(c.Findings, exitcodes.Finding{
			Verdict: exitcodes.Retry, Reason: "Error", Rank: i, Output: []byte("before\n" + strings.Repeat("last\n", mostLastLines)),
		})
	}
	named := r.Step(noon, node.Tick{}, []node.Effect{c})
	if len(named) != mostFailed || *named[0].Failed.Rank != cause || !named[0].Failed.Cause || named[1].Failed.Cause {
		t.Errorf("%d workers are named: %+v", len(named), named)
	}
	if words := strings.Split(named[0].Failed.LastWords, "\n"); len(words) != mostLastLines || words[0] != "last" ||
		named[1].Failed.LastWords != "" {
		t.Errorf("last words of the cause %q, of another %q", words, named[1].Failed.LastWords)
	}
	if over := r.Step(noon, node.Tick{}, []node.Effect{node.Gone{}}); len(over) != 1 || over[0].RoundEnd.Workers.Failed != count {
		t.Errorf("%+v", over)
	}
}

// TestTotal: how many steps there are is told with each event once a worker has said so, and kept over rounds.
func TestTotal(t *testing.T) {
	r, _ := New(Config{})
	r.Step(noon, node.Begin{Run: "u"}, []node.Effect{node.Prepare{}})
	total := int64(100)
	told := r.Step(noon, node.Reported{{Step: step(1), Total: &total}, {Step: step(1)}}, nil)
	again := r.Step(noon, node.Begin{Run: "u", Round: 1}, []node.Effect{node.Prepare{}})
	for _, list := range [][]event.Event{told, again} {
		if len(list) != 1 || list[0].Steps == nil || *list[0].Steps != 100 {
			t.Errorf("%+v", list)
		}
	}
}

// TestNow: the slowest of those that report is known at any moment, by its rank, and by nobody's once the round is over.
func TestNow(t *testing.T) {
	w := newWorld(t, 3)
	if p := w.r.Now(); p.Step != nil || p.Rank != -1 {
		t.Errorf("before the first round: %+v", p)
	}
	w.at(1, node.Begin{Run: "u"})
	w.at(2, node.Reported{{}, {}, {}})
	if p := w.r.Now(); p.Step != nil || p.Behind != 0 || p.Rank != -1 {
		t.Errorf("nobody reports: %+v", p)
	}
	w.at(3, node.Reported{{Step: step(9)}, {Step: step(5), Saving: true}, {}})
	if p := w.r.Now(); p.Step == nil || *p.Step != 5 || p.Behind != 4 || p.Rank != 1 || !p.Saving {
		t.Errorf("one is behind: %+v", p)
	}
	w.at(4, steps(9, 9, 9))
	if p := w.r.Now(); p.Step == nil || *p.Step != 9 || p.Behind != 0 || p.Rank != -1 || p.Saving {
		t.Errorf("level: %+v", p)
	}
	w.at(5, steps(12, 10, 11))
	w.at(6, w.exit(0, 1, 0), w.exit(1, 1, 0), w.exit(2, 1, 0))
	if p := w.r.Now(); p.Step != nil || p.Behind != 0 || p.Rank != -1 {
		t.Errorf("after the round: %+v", p)
	}
}

// TestStraggler: it is told when a rank is named, or a node, and when it is none any more.
func TestStraggler(t *testing.T) {
	w := newWorld(t, 2)
	w.at(0, node.Straggles{Rank: 1}) // before any round: of nobody
	w.at(1, node.Begin{Run: "u", Round: 0}).at(2, steps(7, 7))
	w.events = nil
	w.at(3, node.Straggles{Rank: 1, Own: true, Late: 45, Steps: 50, Excess: 20400 * time.Microsecond, Step: 150 * time.Millisecond})
	w.at(4, node.Straggles{Rank: 1, Over: true, Late: 20, Steps: 50})
	slow := node.Slows{Node: "b", Rank: 9, Minutes: 3, Own: 120 * time.Millisecond, Others: 100 * time.Millisecond, Step: 250 * time.Millisecond}
	w.at(5, slow)
	slow.Over = true
	w.at(6, slow)
	slow.Left, slow.Others = true, 0
	w.at(7, slow)
	slow.Round = 1
	w.at(8, slow) // of another round
	var got []string
	for _, e := range w.events {
		got = append(got, fmt.Sprintf("%s %+v", e.Type, *e.Straggler))
	}
	want := []string{
		"straggler.found {Node: Rank:1 Late:45 Steps:50 ExcessSeconds:0.02 StepSeconds:0.15 By:own}",
		"straggler.over {Node: Rank:1 Late:20 Steps:50 ExcessSeconds:0 StepSeconds:0 By:arrival}",
		"straggler.found {Node:b Rank:9 Late:3 Steps:3 ExcessSeconds:0.02 StepSeconds:0.25 By:own}",
		"straggler.over {Node:b Rank:9 Late:0 Steps:3 ExcessSeconds:0.02 StepSeconds:0.25 By:own}",
		"straggler.over {Node:b Rank:9 Late:0 Steps:3 ExcessSeconds:0 StepSeconds:0.25 By:own}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
