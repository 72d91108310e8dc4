package run_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestGangrunIsKilled kills gangrun at random moments of a run with many restarts. Whenever that is, a reader finds a
// whole message, and one that is true: of the round that ran, or of its failure, and of the end only if there was one.
func TestGangrunIsKilled(t *testing.T) {
	harness.Costly(t)
	t.Parallel()
	dir := t.TempDir()
	const whole = 300 * time.Millisecond // about what the run takes
	rounds, early, finals := map[int]int{}, 0, 0
	for i := range 80 {
		log := filepath.Join(dir, fmt.Sprint("log-", i))
		// The kubelet makes the file before the container starts.
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		p := harness.Start(t, limit, nil, harness.Binary(t), "run", "--termination-log", log, "--max-restarts", "20",
			"--restart-backoff", "5ms:10ms", "--", "sh", "-c", `echo "round $GANGRUN_ROUND"; exit 200`)
		after := time.Duration(rand.Int64N(int64(whole)))
		if i%8 == 0 {
			after = time.Duration(rand.Int64N(int64(20 * time.Millisecond))) // the start
		} else {
			p.Await("round 0")
		}
		select {
		case <-time.After(after):
			p.Signal(syscall.SIGKILL)
		case <-p.Done():
			finals++
		}
		res := p.Wait()
		raw := []byte(read(t, log))
		if len(raw) == 0 && !strings.Contains(res.Stdout, "round 0") {
			early++
			continue
		}
		if err := check(raw, exitcodes.DefaultMessage); err != nil {
			t.Fatalf("%v\n%q", err, raw)
		}
		m := harness.Message(t, log)
		if m.Round == nil && !strings.Contains(res.Stdout, "round 0") {
			early++ // what is there before the first round
			continue
		}
		rounds[*m.Round]++
		var ok bool
		switch m.Reason {
		case "Killed": // a provisional record
			ok = m.ExitCode == 137 && res.Code == 137
		case "Error": // between rounds
			ok = m.ExitCode == 200 && res.Code == 137
		case "RestartBudgetExhausted":
			ok = m.ExitCode == 200
		}
		last := strings.Count(res.Stdout, "round ") - 1 // what is printed may be lost with gangrun, but no more than that
		if !ok || m.Verdict != exitcodes.Retry || *m.Round < last {
			t.Errorf("exit code %d after round %d, and the message says %s", res.Code, last, raw)
		}
	}
	if len(rounds) < 5 {
		t.Errorf("hardly a restart was hit: rounds %v", rounds)
	}
	t.Logf("killed in rounds %v; %d before the first, %d came to their end", rounds, early, finals)
}

// TestKilledAfterStop is a gangrun that is killed while its worker takes its time to stop: the message says that the
// end was asked for.
func TestKilledAfterStop(t *testing.T) {
	t.Parallel()
	r := harness.Job{Worker: harness.Shell(`trap 'echo stopping' TERM; echo ready; while :; do read x; done`)}.Start(t, limit)
	r.Await("ready")
	r.Signal(syscall.SIGTERM)
	r.Await("stopping: stop signal")
	r.Await("stopping\n")
	r.Signal(syscall.SIGKILL)
	if res := r.Wait(); res.Code != 137 {
		t.Errorf("exit code %d", res.Code)
	}
	if m := harness.Message(t, r.Log); m.Verdict != exitcodes.Preempted || m.ExitCode != 143 {
		t.Errorf("%+v", m)
	}
}
