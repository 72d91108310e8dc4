package slurm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestSaid: the rules know what Slurm itself prints when it refuses or ends a job.
func TestSaid(t *testing.T) {
	needCluster(t)
	for _, tt := range []struct {
		name    string
		options []string
		then    []string // done to the job when it runs
		rule    string
		slow    bool
	}{
		{"refused", []string{"--nodelist=nowhere"}, nil, "slurm.refused", false},
		{"cancelled", nil, []string{"scancel"}, "infra.cancelled", false},
		{"requeued", []string{"--requeue"}, []string{"scontrol", "requeue"}, "infra.preempt", false},
		{"its time is over", []string{"--time=1"}, nil, "infra.time_limit", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.slow && testing.Short() {
				t.Skip("takes over a minute: make test-long")
			}
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			argv := append([]string{"sbatch", "--parsable", "--output=" + log, "--wrap=srun sh -c 'echo begins; exec sleep 1000'"}, tt.options...)
			r := harness.Run(t, limit, nil, argv...)
			text := r.Stderr
			if id := strings.TrimSpace(r.Stdout); id != "" {
				t.Cleanup(func() { _ = exec.Command("scancel", id).Run() })
				said := func(what string) func() bool {
					return func() bool {
						b, _ := os.ReadFile(log)
						text = string(b)
						return strings.Contains(text, what)
					}
				}
				if err := harness.Until(limit, "the job", said("begins")); err != nil {
					t.Fatal(err)
				}
				if tt.then != nil {
					harness.Run(t, limit, nil, append(tt.then, id)...)
				}
				if err := harness.Until(limit, "its end", said("*** JOB "+id+" ")); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
			}
			o := exitcodes.Outcome{Rank: -1, LocalRank: -1, Status: exitcodes.Status{Code: 1}, Output: []byte(text)}
			if f := exitcodes.Judge(o, exitcodes.BuiltinRules()); f.Rule != tt.rule {
				t.Errorf("by %q (%s), want %s: %s", f.Rule, f.Verdict, tt.rule, text)
			}
			t.Log(text)
		})
	}
}
