package observe_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/serve"
	"github.com/gangrun/gangrun/rendezvous/agent"
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
	train, _ := filepath.Abs("testdata/together.py")
	n.Process = harness.Start(t, 4*limit, env, harness.Binary(t), "run", "--job", "three", "--node", name, "--nodes",
		"2:3",
		"--store", store, "--events", n.dir+"/events", "--metrics-addr", address, "--termination-log", n.dir+"/message",
		"--restart-backoff", "1ms:2ms", "--unknown", "retry", "--max-restarts", "10", "--fence-timeout", "16s",
		"--last-call", "15s", // or who stands still for some seconds misses the next round
		"--restart-grace", "1s", "--grace", "2s", "--hang-timeout", "8s",
		"--checkpoint-dir", dir+"/checkpoints", "--checkpoint-pattern", "step-*", "--checkpoint-marker", "DONE",
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

// shows compares the page with the status, and with what the job's record has to say. stops are those that the job has
// had, each a node and a reason.
func (n *node) shows(stops ...string) {
	n.t.Helper()
	s := n.look()
	status, job := n.page()
	if !maps.Equal(status.Reasons, s.Reasons) || status.Restarts != s.Restarts || *status.Round != *s.Round || *status.Step < *s.Step ||
		!status.StartedAt.Equal(s.StartedAt) || apart(status.Elapsed, status.At.Sub(s.StartedAt)) || status.At.Before(s.At) ||
		status.First.Reason != s.First.Reason ||
		status.Checkpoint.Step < s.Checkpoint.Step || len(status.Disruptions) != len(s.Disruptions) {
		n.t.Errorf("%s: the page says %+v, the status %+v", n.name, status, s)
		return
	}
	for i := range s.Disruptions {
		if known(status.Disruptions[i].LostSteps) != known(s.Disruptions[i].LostSteps) {
			n.t.Errorf("%s: the page says %+v, the status %+v", n.name, status.Disruptions[i], s.Disruptions[i])
		}
	}
	var said []string
	for _, stop := range job.Stops {
		said = append(said, stop.Node+" "+stop.Reason)
	}
	if job.Round != *s.Round || job.MemberCount != len(job.Members) || job.MemberCount < 2 || !slices.Equal(said, stops) {
		n.t.Errorf("%s: of the job the page says %+v", n.name, job)
	}
	if page := n.get("/"); !strings.Contains(page, "<script>") {
		n.t.Errorf("%s: %s", n.name, page)
	}
}

// apart reports whether two that should say the same time are more than a second apart.
func apart(seconds float64, d time.Duration) bool { return math.Abs(seconds-d.Seconds()) > 1 }

// known is a number that may be missing.
func known(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
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

// number is what a metric without labels says.
func (n *node) number(metric string) float64 {
	n.t.Helper()
	found := regexp.MustCompile(`(?m)^` + metric + ` (\S+)$`).FindStringSubmatch(n.metrics)
	if found == nil {
		n.t.Fatalf("%s: no %s in\n%s", n.name, metric, n.metrics)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		n.t.Fatal(err)
	}
	return value
}

// asked is what gangrun status says of the job.
func asked(t *testing.T, store string) agent.Status {
	t.Helper()
	result := harness.Run(t, limit, nil, harness.Binary(t), "status", "--store", store, "-o", "json", "three")
	var s agent.Status
	if err := json.Unmarshal([]byte(result.Stdout), &s); err != nil || s.Job == nil {
		t.Fatalf("%v: %s%s", err, result.Stdout, result.Stderr)
	}
	return s
}
