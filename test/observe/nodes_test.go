package observe_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/report"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// TestThreeNodes is a job of three nodes that train in step, with five failures: a worker is killed, one runs out of
// memory, one hangs, one dies while it saves a checkpoint, and a node is lost. Whoever is asked says the same: events,
// status, page, metrics and message of each node, gangrun status, and the report of all.
func TestThreeNodes(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	store := strings.Join(etcdserver.StartFor(t, "127.0.0.1", 1, nil).Endpoints(), ",")
	dir, err := os.MkdirTemp("", "observe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{"n0", "n1", "n2"} {
			if events, _ := os.ReadFile(filepath.Join(dir, name, "events")); t.Failed() {
				t.Logf("%s\n%s", name, events)
			}
		}
		os.RemoveAll(dir)
	})
	for _, name := range []string{"shared", "checkpoints"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"FAIL=0:n1:9:kill 1:n2:12:raise 2:n0:17:hang 3:n0:20:tear", "NODES=n0 n1 n2",
		"SHARED=" + dir + "/shared", "CHECKPOINTS=" + dir + "/checkpoints", "FINISH=" + dir + "/finish",
	}
	var nodes []*node
	for i := range 3 {
		nodes = append(nodes, startNode(t, fmt.Sprint("n", i), store, dir, env))
	}
	at := func(n *node, round int, step int64) func() bool {
		return func() bool {
			s := n.look()
			return s.Phase == account.Running && s.Round != nil && *s.Round == round && s.StepAt.After(s.Since) &&
				*s.Step > step
		}
	}
	stops := []string{"n1 KilledBySIGKILL", "n2 OutOfMemory", "n0 Hang", "n0 KilledBySIGKILL"}
	for _, n := range nodes {
		harness.Eventually(t, 2*limit, n.name+" in round 4", at(n, 4, 20))
	}
	for _, n := range nodes {
		n.shows(stops...)
	}
	// Else they would hang before it counts as lost.
	if err := os.WriteFile(dir+"/shared/LOST-n1", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	nodes[1].Signal(syscall.SIGKILL)
	lost, stay := nodes[1], []*node{nodes[0], nodes[2]}
	for _, n := range stay {
		harness.Eventually(t, 2*limit, n.name+" in round 5", at(n, 5, 25))
	}
	// Each node's page has the others' steps, and so has gangrun status.
	for _, n := range stay {
		harness.Eventually(t, limit, "a page with the steps of both", func() bool {
			_, job := n.page()
			return job.Steps != nil && job.Steps.Told == 2 && job.Steps.Least > 20 && job.Steps.Most-job.Steps.Least < 200
		})
	}
	during := asked(t, store)
	for _, n := range stay {
		if p := during.Reached[n.name]; p == nil || p.Round != 5 || known(p.Step) <= 20 || known(p.Checkpoint) < 20 {
			t.Errorf("of %s gangrun status says %+v", n.name, p)
		}
	}
	if err := os.WriteFile(dir+"/finish", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range stay {
		for n.get("/healthz") != "" { // until it ends
			n.look()
		}
		if result := n.Wait(); result.Code != 0 {
			t.Fatalf("%s: %d\n%s", n.name, result.Code, result.Stderr)
		}
	}
	lost.Wait()

	want := map[string]int{"KilledBySIGKILL": 2, "OutOfMemory": 1, "Hang": 1, "NodeLost": 1}
	const restarts = 5
	ended := asked(t, store)
	var said []string
	for _, past := range ended.Job.History {
		said = append(said, past.Node+" "+past.Reason)
	}
	if b := ended.Job.Budget; b.Total != restarts || ended.Job.End == nil || ended.Job.End.Verdict != exitcodes.Success ||
		!slices.Equal(said, append(stops, "n1 NodeLost")) {
		t.Errorf("gangrun status: %v, %+v, %+v", said, b, ended.Job.End)
	}
	mostLost := make([]int64, restarts) // steps, by any node
	for _, n := range stay {
		m, a := n.message(), n.account()
		var s account.Summary
		if err := json.Unmarshal([]byte(n.status), &s); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(a.Reasons, want) || !maps.Equal(s.Reasons, want) ||
			!maps.Equal(n.reasons("gangrun_restarts_total"), want) ||
			!maps.Equal(n.reasons("gangrun_disruptions_total"), want) {
			t.Errorf("%s: restarts %v, status %v, metrics %v", n.name, a.Reasons, s.Reasons,
				n.reasons("gangrun_restarts_total"))
		}
		if a.Restarts.Used != m.Restarts.Used || a.Restarts.Total != restarts || s.Restarts != a.Restarts ||
			int(n.number("gangrun_restart_budget_used")) != a.Restarts.Used ||
			a.Outcome.Verdict != m.Verdict || a.First.Reason != "KilledBySIGKILL" || s.First.Reason != a.First.Reason {
			t.Errorf("%s: events %+v\nstatus %+v\nmessage %+v", n.name, a, s, m)
		}
		if *a.Step != *m.Step || *a.Round != *m.Round || *s.Round != *m.Round || int(n.number("gangrun_round")) != *m.Round ||
			int64(n.number("gangrun_step")) > *m.Step || *s.Step > *m.Step {
			t.Errorf("%s: step %d of round %d by its events, %d of %d by its message, %d by its status, %v by its metrics", n.name,
				*a.Step, *a.Round, *m.Step, *m.Round, *s.Step, n.number("gangrun_step"))
		}
		if a.Checkpoint.Step != *m.Checkpoint.Step || s.Checkpoint.Step > a.Checkpoint.Step || s.Checkpoint.Step < 25 ||
			int64(n.number("gangrun_checkpoint_step")) > s.Checkpoint.Step {
			t.Errorf("%s: checkpoint %d by its events, %d by its message, %d by its status, %v by its metrics", n.name,
				a.Checkpoint.Step, *m.Checkpoint.Step, s.Checkpoint.Step, n.number("gangrun_checkpoint_step"))
		}
		// The status and the metrics are of a moment before the end, and the metrics were asked for just before the status.
		counted := n.number("gangrun_job_elapsed_seconds_total")
		if took := m.FinishedAt.Sub(m.StartedAt); apart(a.Elapsed, took) || apart(s.Elapsed, s.At.Sub(m.StartedAt)) ||
			apart(counted, s.At.Sub(m.StartedAt)) || s.At.After(m.FinishedAt.Add(time.Second)) {
			t.Errorf("%s took %v by its message, %v s by its events; at %v it was %v s by its status, %v by its metrics", n.name,
				took, a.Elapsed, s.At, s.Elapsed, counted)
		}
		if apart(0, m.FinishedAt.Sub(ended.Job.Since)) {
			t.Errorf("%s ended at %v, and the job at %v by gangrun status", n.name, m.FinishedAt, ended.Job.Since)
		}
		for i := range a.Disruptions {
			if known(a.Disruptions[i].LostSteps) != known(s.Disruptions[i].LostSteps) ||
				a.Disruptions[i].Total != s.Disruptions[i].Total {
				t.Errorf("%s: %+v, and by its status %+v", n.name, a.Disruptions[i], s.Disruptions[i])
			}
			mostLost[i] = max(mostLost[i], known(a.Disruptions[i].LostSteps))
		}
	}
	// There is a checkpoint every five steps, and the failures come before steps 9, 12, 17 and 20, which others may have
	// done by then. The one of step 20 is torn.
	for i, reached := range []int64{9, 12, 17, 20} {
		if from := (reached - 1) / 5 * 5; mostLost[i] < reached-1-from || mostLost[i] > reached-from {
			t.Errorf("in round %d %d steps were lost", i, mostLost[i])
		}
	}

	result := harness.Run(t, limit, nil, harness.Binary(t), "report", "-o", "json", dir+"/n0/events", dir+"/n1/events",
		dir+"/n2/events")
	var r report.Report
	if err := json.Unmarshal([]byte(result.Stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, result.Stderr)
	}
	counts := map[string]int{}
	for _, c := range r.Causes {
		counts[c.Reason] = c.Count
	}
	var who []string
	for i, d := range r.Disruptions {
		who = append(who, strings.TrimSpace(d.Node+" "+d.Reason))
		if known(d.LostSteps) < mostLost[min(i, restarts-1)] { // the lost node has come as far as the others
			t.Errorf("%d: %d steps were lost by the report, %d by events", i, known(d.LostSteps), mostLost[i])
		}
	}
	a, m := nodes[0].account(), nodes[0].message()
	if !maps.Equal(counts, want) || !slices.Equal(who, append(stops, "n1 NodeLost")) || r.Restarts.Total != restarts ||
		r.Checkpoint.Step != a.Checkpoint.Step || *r.Step < *m.Step-1 || *r.Step > *m.Step+1 || r.Rounds != restarts+1 ||
		len(r.Nodes) != 3 || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0], "n1: its last gangrun has no end") {
		t.Errorf("report: %s", result.Stdout)
	}
	// Of each node the report says what that says itself, and of the job from the first one's start to the last one's end.
	first, last := m.StartedAt, m.FinishedAt
	for i, n := range nodes {
		of := n.account()
		if first.After(of.StartedAt) {
			first = of.StartedAt
		}
		if last.Before(of.At) {
			last = of.At
		}
		if i < len(r.Nodes) && (r.Nodes[i].Node != n.name || apart(r.Nodes[i].Elapsed, of.At.Sub(of.StartedAt))) {
			t.Errorf("%s ran for %v, by the report for %+v", n.name, of.At.Sub(of.StartedAt), r.Nodes[i])
		}
	}
	if apart(r.Elapsed, last.Sub(first)) {
		t.Errorf("it took %v s by the report, from the first node's start to the last one's end %v", r.Elapsed, last.Sub(first))
	}
}
