package hang_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/test/harness"
)

var waitsFor = regexp.MustCompile(`msg="the others wait for rank (\d+)`)

// stragglers are the ranks that were named in the log and in the events, and whether those agree.
func (e ended) stragglers(t *testing.T) (ranks []string) {
	t.Helper()
	for _, m := range waitsFor.FindAllStringSubmatch(e.Stderr, -1) {
		ranks = append(ranks, m[1])
	}
	file, err := os.ReadFile(filepath.Join(filepath.Dir(e.dir), "events"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(file)) {
		var ev event.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == event.StragglerFound {
			found++
		}
	}
	if found != len(ranks) {
		t.Errorf("%d events, and the log names %q", found, ranks)
	}
	return ranks
}

// TestStraggler: a rank of four on two nodes takes a fifth longer for its data. It is named, those that wait for it
// are not, and nothing is ended: where the ranks tell what of a step is their own, and where they tell a step before
// they wait. What they tell after that names nobody.
func TestStraggler(t *testing.T) {
	for sign, named := range map[string]bool{"own": true, "late": true, "after": false} {
		t.Run(sign, func(t *testing.T) {
			if sign != "own" {
				long(t)
			}
			nodes := runOnNodes(t, "slow", sign, nil)
			for i, e := range nodes {
				e.says(t, 0, "Succeeded")
				got, want := e.stragglers(t), []string(nil)
				if named && i == 1 {
					want = []string{"2"}
				}
				if strings.Join(got, " ") != strings.Join(want, " ") {
					t.Errorf("node %d names %q, want %q: %s", i, got, want, e.Stderr)
				}
			}
		})
	}
}

// TestStragglerMetrics: the metrics name it while it lasts.
func TestStragglerMetrics(t *testing.T) {
	long(t)
	seen := make(chan string, 1)
	address := freeAddress(t)
	stop := make(chan struct{})
	go func() {
		last := ""
		for {
			select {
			case <-stop:
				seen <- last
				return
			case <-time.After(100 * time.Millisecond):
			}
			r, err := http.Get("http://" + address + "/metrics")
			if err != nil {
				continue
			}
			body, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if strings.Contains(string(body), "\ngangrun_stragglers 1\n") {
				last = string(body)
			}
		}
	}()
	e := gang{how: "slow", sign: "own", flags: []string{"--metrics-addr", address}}.run(t)
	close(stop)
	if body := <-seen; !strings.Contains(body, "\ngangrun_straggler_rank 2\n") || !strings.Contains(body, "\ngangrun_straggler_excess_seconds 0.0") {
		t.Errorf("%s\n%s", body, e.Stderr)
	}
}

// TestStragglerByRecorder: what torch's flight recorder has written names it as well, where the steps tell nothing.
func TestStragglerByRecorder(t *testing.T) {
	long(t)
	dump := filepath.Join(t.TempDir(), "trace_")
	e := gang{how: "slow", sign: "after", env: []string{"TORCH_FR_DUMP_TEMP_FILE=" + dump}, flags: []string{"--max-restarts", "0"}}.run(t)
	late := regexp.MustCompile(`shows who was repeatedly late to the collectives" late="(rank \d+ in [^"]*)"`).FindStringSubmatch(e.Stderr)
	if late == nil || !strings.HasPrefix(late[1], "rank 2 in ") || strings.Contains(late[1], ";") {
		t.Errorf("%q: %s", late, e.Stderr)
	}
}

// TestSlowNode: a node of three, all of whose ranks take a fifth longer for their own part than those of the others, is
// named by the node that leads, once and by nobody else, and nothing is ended. It takes five minutes: what is compared are
// minutes.
func TestSlowNode(t *testing.T) {
	long(t)
	parallel(t)
	python := harness.Program(t, "python3", "install python3")
	script := harness.Script(t, "steps.py")
	dir, endpoint := t.TempDir(), freeAddress(t)
	var nodes []*harness.Process
	for i, own := range []string{"0.2", "0.24", "0.2"} {
		name := fmt.Sprint("n", i)
		nodes = append(nodes, harness.Start(t, 10*time.Minute, nil, harness.Binary(t), "run", "--job", "slow", "--nodes", "3",
			"--node", name, "--endpoint", endpoint, "--events", filepath.Join(dir, name), "--", python, script, own, "320"))
	}
	var named []string
	for i, n := range nodes {
		if e := n.Wait(); e.Code != 0 {
			t.Errorf("n%d: %d\n%s", i, e.Code, e.Stderr)
		} else if strings.Contains(e.Stderr, "the others wait for node n1, minute after minute") {
			named = append(named, fmt.Sprint("log of n", i))
		}
		file, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("n", i)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(file)) {
			var ev event.Event
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatal(err)
			}
			if s := ev.Straggler; s != nil {
				named = append(named, fmt.Sprintf("%s of %s by n%d", ev.Type, s.Node, i))
			}
		}
	}
	if len(named) != 2 || !strings.HasPrefix(named[0], "log of n") || named[1] != "straggler.found of n1 by "+named[0][len("log of "):] {
		t.Errorf("%q", named)
	}
}
