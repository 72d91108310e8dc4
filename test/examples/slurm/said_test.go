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
			text, whole := said(t, tt.options, tt.then)
			for tries := 0; !whole && tries < 5; tries++ {
				text, whole = said(t, tt.options, tt.then)
			}
			o := exitcodes.Outcome{Rank: -1, LocalRank: -1, Status: exitcodes.Status{Code: 1}, Output: []byte(text)}
			if f := exitcodes.Judge(o, exitcodes.BuiltinRules()); f.Rule != tt.rule {
				t.Errorf("by %q (%s), want %s: %s", f.Rule, f.Verdict, tt.rule, text)
			}
			t.Log(text)
		})
	}
}

// said is the log of a job that prints a line and is then ended, or what sbatch says of one that is refused. It is not whole where the
// job was over before slurmstepd came to say why: now and then the step, which is ended first, takes it along.
func said(t *testing.T, options, then []string) (text string, whole bool) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	argv := append([]string{"sbatch", "--parsable", "--output=" + log, "--wrap=srun sh -c 'echo begins; exec sleep 1000'"}, options...)
	r := harness.Run(t, limit, nil, argv...)
	id := strings.TrimSpace(r.Stdout)
	if id == "" {
		return r.Stderr, true
	}
	t.Cleanup(func() { _ = exec.Command("scancel", id).Run() })
	logged := func(what string) bool {
		b, _ := os.ReadFile(log)
		text = string(b)
		return strings.Contains(text, what)
	}
	if err := harness.Until(limit, "the job", func() bool { return logged("begins") }); err != nil {
		t.Fatal(err)
	}
	if then != nil {
		harness.Run(t, limit, nil, append(then, id)...)
	}
	why := "*** JOB " + id + " "
	if err := harness.Until(limit, "its end", func() bool {
		queued, err := exec.Command("squeue", "--noheader", "--jobs", id).Output()
		whole = logged(why) // read after the question: what was written before the end is there
		return whole || err == nil && len(strings.TrimSpace(string(queued))) == 0
	}); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return text, whole
}
