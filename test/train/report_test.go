package train_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// TestReports: what the examples tell in a loop of one's own, and as callbacks of the Trainer, Lightning and Keras: every
// step, that they evaluate and save, and that this is over when they train again, and at their end.
// Without anybody who listens they train as well.
func TestReports(t *testing.T) {
	for _, test := range []struct {
		script, python, libraries string
		own                       bool
	}{
		{"report_loop.py", "", "", true},
		{"report_trainer.py", "torch/bin/python3", "savers", false},
		{"report_lightning.py", "torch/bin/python3", "savers", true},
		{"report_keras.py", "tensorflow/bin/python3", "", false},
	} {
		t.Run(test.script, func(t *testing.T) {
			parallel(t)
			python := "python3"
			if test.python != "" {
				python = harness.Peer(t, test.python)
			}
			env := []string{"OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", "RANK=3", "TF_CPP_MIN_LOG_LEVEL=3"}
			if test.libraries != "" {
				env = append(env, "PYTHONPATH="+harness.Peer(t, test.libraries))
			}
			script, err := filepath.Abs(filepath.Join("..", "..", "examples", "train", test.script))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "notify")
			conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var told []string
			read := make(chan bool)
			go func() {
				defer close(read)
				for buf := make([]byte, 4096); ; {
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					told = append(told, string(buf[:n]))
				}
			}()
			r := harness.Run(t, 2*time.Minute, append(env, "NOTIFY_SOCKET="+path), python, script)
			_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			<-read
			if r.Code != 0 {
				t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
			}
			var steps, phases []string
			own, phase := false, ""
			for _, m := range told {
				lines := strings.Split(m, "\n")
				if !slices.Contains(lines, "X_GANGRUN_RANK=3") {
					t.Errorf("%q does not say its rank", m)
				}
				for _, line := range lines {
					switch name, value, _ := strings.Cut(line, "="); name {
					case "X_GANGRUN_STEP":
						steps = append(steps, value)
					case "X_GANGRUN_OWN_USEC":
						own = own || value != "0"
					case "X_GANGRUN_PHASE":
						if value != phase {
							phases = append(phases, value)
						}
						phase = value
					case "X_GANGRUN_RANK":
					default:
						t.Errorf("%q", m)
					}
				}
				// A step alone does not end a phase: whoever saves beside its steps may still be at it.
				if strings.Contains(m, "X_GANGRUN_STEP=") && phase != "" && phase != "train" {
					t.Errorf("%q leaves it in the phase %s", m, phase)
				}
			}
			if phase != "train" {
				t.Errorf("it ends in the phase %s", phase)
			}
			if got, want := strings.Join(steps, " "), "1 2 3 4 5 6 7 8 9 10 11 12"; got != want {
				t.Errorf("steps %s, want %s", got, want)
			}
			for phase, least := range map[string]int{"eval": 3, "checkpoint": 3, "train": 3} {
				if n := len(phases) - len(slices.DeleteFunc(slices.Clone(phases), func(p string) bool { return p == phase })); n < least {
					t.Errorf("phase %s %d times, want %d: %q", phase, n, least, phases)
				}
			}
			if own != test.own {
				t.Errorf("it tells what of a step was its own: %v, want %v: %q", own, test.own, told)
			}
			if test.python != "" && os.Getenv("GANGRUN_TEST_LONG") == "" {
				return // to import what it needs takes seconds: make test-long
			}
			if r := harness.Run(t, 2*time.Minute, env, python, script); r.Code != 0 || !strings.Contains(r.Stdout, "done") {
				t.Errorf("alone: exit code %d: %s", r.Code, r.Stderr)
			}
		})
	}
}
