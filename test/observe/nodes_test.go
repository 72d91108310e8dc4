package observe_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/serve"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// node is one gangrun of a job of several, and what its metrics and its status have said last.
type node struct {
	local
	name            string
	metrics, status string
}

func startNode(t *testing.T, name, store, dir string, env []string) *node {
	t.Helper()
	address, err := etcdserver.FreeAddr("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{name: name, local: local{t: t, dir: filepath.Join(dir, name), address: address}}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	train, _ := filepath.Abs("testdata/train.py")
	n.Process = harness.Start(t, 2*limit, env, harness.Binary(t), "run", "--job", "three", "--node", name, "--nodes",
		"2:3",
		"--store", store, "--events", n.dir+"/events", "--metrics-addr", address, "--termination-log", n.dir+"/message",
		"--restart-backoff", "1ms:2ms", "--unknown", "retry", "--max-restarts", "10", "--fence-timeout", "16s",
		"--restart-grace", "1s", "--grace", "2s",
		"--", harness.Program(t, "python3", "install python3"), train)
	return n
}

// look remembers what the node says now, if it says anything.
func (n *node) look() account.Summary {
	var s account.Summary
	metrics, status := n.get("/metrics"), n.get("/status")
	if json.Unmarshal([]byte(status), &s) == nil {
		n.metrics, n.status = metrics, status
	}
	return s
}

// page is what the page is shown now.
func (n *node) page() (status account.Summary, job serve.Job) {
	n.t.Helper()
	answer, err := http.Get("http://" + n.address + "/events")
	if err != nil {
		n.t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			shown := struct {
				Status *account.Summary
				Job    *serve.Job
			}{&status, &job}
			if err := json.Unmarshal([]byte(data), &shown); err != nil {
				n.t.Fatal(err)
			}
			return status, job
		}
	}
	n.t.Fatal("the page is shown nothing")
	return status, job
}

// shows compares the page with the status, and with what the job's record has to say.
func (n *node) shows() {
	n.t.Helper()
	s := n.look()
	status, job := n.page()
	if !maps.Equal(status.Reasons, s.Reasons) || status.Restarts != s.Restarts || *status.Round != *s.Round || *status.Step < *s.Step ||
		status.Elapsed < s.Elapsed || status.Elapsed > s.Elapsed+10 ||
		len(status.Disruptions) != len(s.Disruptions) {
		n.t.Errorf("%s: the page says %+v, the status %+v", n.name, status, s)
	}
	var stops []string
	for _, stop := range job.Stops {
		stops = append(stops, stop.Node+" "+stop.Reason)
	}
	if got := strings.Join(stops, ", "); job.Round != *s.Round || job.MemberCount != len(job.Members) ||
		job.MemberCount < 2 ||
		got != "n1 KilledBySIGKILL, n2 OutOfMemory" {
		n.t.Errorf("%s: of the job the page says %+v", n.name, job)
	}
	if page := n.get("/"); !strings.Contains(page, "<script>") {
		n.t.Errorf("%s: %s", n.name, page)
	}
}

// reasons is what a metric counts, by reason.
func (n *node) reasons(metric string) map[string]int {
	counts := map[string]int{}
	for _, found := range regexp.MustCompile(metric+`\{reason="([^"]+)"\} (\d+)`).FindAllStringSubmatch(n.metrics, -1) {
		if count, _ := strconv.Atoi(found[2]); count > 0 {
			counts[found[1]] = count
		}
	}
	return counts
}

// TestThreeNodes is a job of three nodes of which one's worker is killed, another one's runs out of memory, and a
// third node is lost. Whoever is asked says the same: events, status, metrics and message of each node, and the
// report of all.
func TestThreeNodes(t *testing.T) {
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
	env := []string{"FAIL=0:n1:9:kill 1:n2:12:raise", "STEPS=100000", "STEP_TIME=0.05", "FINISH=" + dir + "/finish"}
	var nodes []*node
	for i := range 3 {
		nodes = append(nodes, startNode(t, fmt.Sprint("n", i), store, dir, env))
	}
	at := func(n *node, round int) func() bool {
		return func() bool {
			s := n.look()
			return s.Phase == account.Running && s.Round != nil && *s.Round == round && s.Step != nil &&
				s.StepAt.After(s.Since)
		}
	}
	for _, n := range nodes {
		harness.Eventually(t, limit, n.name+" in round 2", at(n, 2))
	}
	for _, n := range nodes {
		n.shows()
	}
	nodes[1].Signal(syscall.SIGKILL)
	lost, stay := nodes[1], []*node{nodes[0], nodes[2]}
	for _, n := range stay {
		harness.Eventually(t, limit, n.name+" in round 3", at(n, 3))
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

	want := map[string]int{"KilledBySIGKILL": 1, "OutOfMemory": 1, "NodeLost": 1}
	for _, n := range stay {
		m, a := n.message(), n.account()
		var s account.Summary
		if err := json.Unmarshal([]byte(n.status), &s); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(a.Reasons, want) || !maps.Equal(s.Reasons, want) ||
			!maps.Equal(n.reasons("gangrun_restarts_total"),
				want) ||
			!maps.Equal(n.reasons("gangrun_disruptions_total"), want) {
			t.Errorf("%s: restarts %v, status %v, metrics %v", n.name, a.Reasons, s.Reasons,
				n.reasons("gangrun_restarts_total"))
		}
		if a.Restarts.Used != m.Restarts.Used || s.Restarts != a.Restarts || *a.Step != *m.Step || *a.Round != *m.Round ||
			a.Outcome.Verdict != m.Verdict || a.First.Reason != "KilledBySIGKILL" ||
			s.First.Reason != a.First.Reason {
			t.Errorf("%s: events %+v\nstatus %+v\nmessage %+v", n.name, a, s, m)
		}
		took := m.FinishedAt.Sub(m.StartedAt).Seconds()
		if took-a.Elapsed > 1 || a.Elapsed-took > 1 || s.Elapsed > a.Elapsed {
			t.Errorf("%s took %v s by its message, %v by its events, %v by its status", n.name, took, a.Elapsed,
				s.Elapsed)
		}
		for i := range a.Disruptions {
			if *a.Disruptions[i].LostSteps != *s.Disruptions[i].LostSteps ||
				a.Disruptions[i].Total != s.Disruptions[i].Total {
				t.Errorf("%s: %+v, and by its status %+v", n.name, a.Disruptions[i], s.Disruptions[i])
			}
		}
	}

	result := harness.Run(t, limit, nil, harness.Binary(t), "report", "-o", "json", dir+"/n0/events", dir+"/n1/events",
		dir+"/n2/events")
	var r struct {
		Step        int64
		Nodes       []struct{ Node string }
		Disruptions []struct{ Reason, Node string }
		Problems    []string
		Causes      []struct {
			Reason string
			Count  int
		}
	}
	if err := json.Unmarshal([]byte(result.Stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, result.Stderr)
	}
	counts := map[string]int{}
	for _, c := range r.Causes {
		counts[c.Reason] = c.Count
	}
	var who []string
	for _, d := range r.Disruptions {
		who = append(who, d.Reason+" "+d.Node)
	}
	if !maps.Equal(counts, want) || !slices.Equal(who, []string{"KilledBySIGKILL n1", "OutOfMemory n2", "NodeLost "}) ||
		r.Step < 1 || len(r.Nodes) != 3 || len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0],
		"n1: its last gangrun has no end") {
		t.Errorf("report: %s", result.Stdout)
	}
}
