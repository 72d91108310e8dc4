package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/rendezvous/location"
)

func of[T any](v T) *T { return &v }

// training is a job of three nodes in its second round, of which one has just failed.
func training() agent.Status {
	spec := rendezvous.DefaultSpec(3)
	failed := &rendezvous.Outcome{
		Verdict: exitcodes.Retry, Reason: "OOMKilled", Message: "rank 3 was killed by SIGKILL", Rank: 3,
		Rule:     "kernel.oom",
		Evidence: "1 kill for memory", Round: 1,
	}
	return agent.Status{
		Job: &rendezvous.Job{
			RunUID: "8c1e", Phase: rendezvous.Stopping, Since: noon.Add(-4 * time.Second), Round: 1, Spec: spec,
			Reached: of(int64(1200)),
			Budget: rendezvous.Budget{
				Used:        1,
				Total:       2,
				Preemptions: 0,
				Mark:        rendezvous.Progress{Step: of(int64(1210))},
			},
			Stop: &rendezvous.Stop{
				Round: 1, Kind: rendezvous.StopFailure, Node: "n1", Reason: "OOMKilled", Message: failed.Message,
				At:      noon.Add(-5 * time.Second),
				Outcome: failed,
			},
			History: []rendezvous.Past{
				{Round: 0, Kind: rendezvous.StopLoss, Node: "n0", Reason: "NodeLost", At: noon.Add(-time.Hour)},
				{Round: 1, Kind: rendezvous.StopFailure, Node: "n1", Reason: "OOMKilled", At: noon.Add(-5 * time.Second)}, // is the last stop
			},
		},
		Round: &rendezvous.Round{
			Number: 1, Resume: rendezvous.Resume{Decision: rendezvous.ResumeNewest, Step: of(int64(1200))},
			Members: []rendezvous.Member{
				{Name: "n0", Incarnation: "a", Slots: 2},
				{Name: "n1", Incarnation: "b", Slots: 2},
				{Name: "n2", Incarnation: "c", Slots: 2},
			},
		},
		Nodes: map[string]rendezvous.Node{
			"n0": {
				Incarnation: "a",
				State:       rendezvous.NodeStopped,
				Round:       1,
				Slots:       2,
				Address:     "10.0.0.1",
				Step:        of(int64(1290)),
				Checkpoints: &rendezvous.Checkpoints{Steps: []int64{1200, 1100}},
			},
			"n1": {
				Incarnation: "b",
				State:       rendezvous.NodeStopped,
				Round:       1,
				Slots:       2,
				Address:     "10.0.0.2",
				Step:        of(int64(1288)),
				Outcome:     failed,
			},
			"n2": {
				Incarnation: "c",
				State:       rendezvous.NodeRunning,
				Round:       1,
				Slots:       2,
				Address:     "10.0.0.3",
				Role:        "worker",
			},
			"n9": {
				Incarnation: "d",
				State:       rendezvous.NodeWaiting,
				Round:       -1,
				Slots:       2,
				Address:     "10.0.0.9",
				Leaving:     true,
			},
		},
		Why: rendezvous.WhyNot{Text: "waiting until the workers of n2 are gone"},
		Reached: map[string]*rendezvous.Reached{
			"n0": {Round: 1, Step: of(int64(1285))}, // before its round was over
			"n2": {Round: 1, Step: of(int64(1295)), Checkpoint: of(int64(1200))},
			"n9": {Round: 0, Step: of(int64(9999))},
		},
	}
}

// TestStatusText is what people see of a job: while it trains, in trouble, after its end, with thousands of nodes.
func TestStatusText(t *testing.T) {
	ended := training()
	ended.Nodes = nil // their keys have gone with them
	ended.Job.Phase, ended.Job.Since = rendezvous.Failed, noon.Add(-2*time.Minute)
	ended.Job.End = &rendezvous.End{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonRestartBudgetExhausted, Message: "the budget is spent",
		Code: 137, Cause: ended.Job.Stop,
	}
	bans := training()
	fault := func(round int, node, message string, ago time.Duration) rendezvous.Fault {
		return rendezvous.Fault{Round: round, Node: node, Reason: exitcodes.ReasonNodeUnhealthy, Message: message, At: noon.Add(-ago)}
	}
	bans.Hosts = map[string]rendezvous.HostState{
		"gpu-1": {Score: 1, Faults: []rendezvous.Fault{fault(0, "n0", "", time.Hour)}},
		"gpu-7": {Score: 3, Banned: true, Until: noon.Add(358 * time.Minute), Faults: []rendezvous.Fault{
			fault(0, "n9", "", time.Hour), fault(1, "n9", "Xid 79 \x1b[0m", 2*time.Minute),
		}},
	}
	for i := range 8 {
		bans.Hosts[fmt.Sprint("z", i)] = rendezvous.HostState{Score: 0.5}
	}
	hostile := training()
	hostile.Job.Stop.Message, hostile.Job.Stop.Node = "\x1b[2J<script>\n\tname", "n\u202e1"
	hostile.Job.Stop.Outcome.Evidence = "\x1b]0;title\x07"
	hostile.Nodes["\u009bn7"] = rendezvous.Node{State: rendezvous.NodeWaiting, Round: -1, Address: "a\tb\nc", Slots: 1}
	hostile.Unreadable = map[string]string{"nodes/x": "nodes/x: \x1b[0m"}
	fresh := training()
	fresh.Job = &rendezvous.Job{
		RunUID: "8c1e",
		Phase:  rendezvous.Forming,
		Since:  noon.Add(-4 * time.Second),
		Round:  -1,
		Spec:   rendezvous.DefaultSpec(2),
	}
	fresh.Round, fresh.Why.Text = nil, "waiting for one more node"
	fresh.Nodes = map[string]rendezvous.Node{
		"n0": {State: rendezvous.NodeWaiting, Round: -1, Slots: 8, Address: "10.0.0.1"},
	}
	large := training()
	for i := range 1000 {
		name := fmt.Sprintf("x%03d", i)
		large.Round.Members = append(large.Round.Members, rendezvous.Member{Name: name, Incarnation: "x", Slots: 2})
		if i != 500 { // a lost one
			large.Nodes[name] = rendezvous.Node{
				Incarnation: "x",
				State:       rendezvous.NodeRunning,
				Round:       1,
				Slots:       2,
				Address:     "10.0.1.1",
			}
		}
	}
	for _, tt := range []struct {
		name string
		s    agent.Status
		most int
	}{
		{"stopping", training(), 0}, {"ended", ended, 0}, {"hostile", hostile, 0}, {"bans", bans, 0}, {"forming", fresh, 0}, {"large",
			large, 8},
		{"none", agent.Status{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			showStatus(&b, "train", tt.s, noon, tt.most)
			golden(t, "testdata/status-"+tt.name+".txt", b.String())
			for _, r := range b.String() {
				if r != '\n' && plain.Text(string(r)) != string(r) {
					t.Errorf("%q is in it", r)
				}
			}
		})
	}
}

// TestJobsText lists jobs: those that train, have ended, have no record, and hold what cannot be read.
func TestJobsText(t *testing.T) {
	s := training()
	elastic := *s.Job
	elastic.Spec.MaxNodes, elastic.Reached, elastic.Stop = 5, nil, nil
	jobs := []location.Job{
		{Name: "a", Record: s.Job},
		{Name: "b b", Record: &elastic},
		{Name: "c"},
		{Name: "d\x1b", Unreadable: "job: \x1b version 2"},
	}
	var b bytes.Buffer
	showJobs(&b, "default", jobs, true, noon)
	golden(t, "testdata/status-jobs.txt", b.String())
	b.Reset()
	showJobs(&b, "team", nil, false, noon)
	if b.String() != "no job in the namespace team\n" {
		t.Errorf("%q", b.String())
	}
}

// TestScreen draws in place: one write for each drawing, never beyond the terminal, nothing left of the one before.
func TestScreen(t *testing.T) {
	writes := &countedWrites{}
	s := &screen{w: writes}
	for _, text := range []string{"one\ntwo\nthree\nfour\n", strings.Repeat("wide", 10) + "\n", "日本語日本語\n"} {
		if err := s.draw(text, 10, 4); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"\x1b[?2026h\x1b[H\x1b[2Jone\x1b[K\ntwo\x1b[K\nthree\x1b[K\n\x1b[J\x1b[?2026l",
		"\x1b[?2026h\x1b[Hwidewide…\x1b[K\n\x1b[J\x1b[?2026l",
		"\x1b[?2026h\x1b[H日本語日…\x1b[K\n\x1b[J\x1b[?2026l",
	}
	if fmt.Sprintf("%q", *writes) != fmt.Sprintf("%q", want) {
		t.Errorf("%q\nwant\n%q", *writes, want)
	}
}

type countedWrites []string

func (w *countedWrites) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}
