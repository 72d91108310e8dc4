package pid1_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// TestKilled kills gangrun at random moments of a run that restarts all the time. The worker dies with it, and the
// termination file holds one whole message, of the same length always; before the first one it is as empty as it was.
func TestKilled(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		length, rounds := 0, 0
		for range 30 {
			j := launch{
				mode: m, restarts: true, flags: []string{"--max-restarts=1000000", "--restart-backoff=1ms:1ms"},
				worker: sh("echo started >&3; exit 200"),
			}.start(t)
			j.expect("started")
			pid := j.pid()
			pause(rand.N(60 * time.Millisecond))
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			j.wait() // for 137, or what unshare makes of it
			j.rest()
			raw, err := os.ReadFile(j.path("message"))
			if err != nil {
				t.Fatal(err)
			}
			msg := harness.Message(t, j.path("message"))
			if msg.Round != nil {
				rounds = max(rounds, *msg.Round)
			}
			if n := bytes.Count(raw, []byte(`"verdict"`)); n != 1 {
				t.Errorf("%d messages in %q", n, raw)
			}
			if length == 0 {
				length = len(raw)
			} else if len(raw) != length {
				t.Errorf("%d bytes after %d", len(raw), length)
			}
		}
		if rounds == 0 {
			t.Error("all were killed in round 0")
		}
	})
}

// TestKilledEarly kills gangrun in its first milliseconds: whatever it has started by then dies with it.
func TestKilledEarly(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		for delay := time.Duration(0); delay < 5*time.Millisecond; delay += 200 * time.Microsecond {
			j := gated(t, launch{mode: m, worker: sh("exec sleep 1000")})
			j.open()
			pause(delay)
			j.signal(syscall.SIGKILL)
			j.wait() // for 137, or what unshare makes of it
			j.rest()
			if raw := bytes.TrimSpace([]byte(j.read("message"))); len(raw) > 0 {
				harness.Message(t, j.path("message"))
			}
		}
	})
}

// TestWorkerDiesWithGangrun kills gangrun while its worker ignores everything that can be ignored.
func TestWorkerDiesWithGangrun(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		for _, scope := range []string{"worker", "session"} {
			j := launch{mode: m, flags: []string{"--signal-scope=" + scope}, worker: probe("log")}.start(t)
			j.ready("worker")
			j.signal(syscall.SIGKILL)
			j.wait() // for 137, or what unshare makes of it
			if lines := j.rest(); len(lines) > 0 {
				t.Errorf("the worker got %q", lines)
			}
			if msg := j.message(); msg.Verdict == "" || msg.ExitCode == 0 {
				t.Errorf("the message says %s, exit code %d", msg.Verdict, msg.ExitCode)
			}
		}
	})
}
