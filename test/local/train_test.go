package local_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// one keeps the libraries from starting a thread for each core of a large machine in every rank.
var one = []string{"OMP_NUM_THREADS=1", "TF_ENABLE_ONEDNN_OPTS=0", "TF_CPP_MIN_LOG_LEVEL=1", "JAX_PLATFORMS=cpu"}

// TestTraining trains with two ranks that find each other, once in peace and once with a rank that is killed when it has
// reported a step. The restarted gang resumes from its checkpoint to the same loss, digit for digit.
func TestTraining(t *testing.T) {
	tests := []struct{ framework, python, trainer string }{
		{"torch", "torch/bin/python3", "torch_ddp.py"},
		{"tf", "tensorflow/bin/python3", "tf_mwms.py"},
	}
	for _, tt := range tests {
		t.Run(tt.framework, func(t *testing.T) {
			heavy(t)
			worker := []string{harness.Peer(t, tt.python), filepath.Join(harness.Root(), "examples", "train", tt.trainer),
				"--steps", "40", "--checkpoint-every", "10", "--checkpoint-dir", "checkpoints"}
			j := job{flags: []string{"-n", "2", "--framework", tt.framework}, env: one, worker: worker}
			whole := j.run(t)
			whole.want(t, 0)
			// The kill takes its time on a busy machine; the steps must not be over before.
			j.flags = append(j.flags, "--kill-rank", "1@step=15")
			j.worker = append(worker, "--step-time", "0.05")
			killed := j.run(t)
			killed.want(t, 0)
			if got, want := said(t, killed, `final loss .*`), said(t, whole, `final loss .*`); got != want {
				t.Errorf("%q, and uninterrupted %q", got, want)
			}
			said(t, killed, `starting from step 0 with 2 ranks`)
			said(t, killed, `resumed from step \d+`)
			if m := killed.message; *m.Round != 1 || m.Restarts.Used != 1 || !strings.Contains(killed.Stderr, "rank 1 was killed by SIGKILL") {
				t.Errorf("%+v\n%s", m, killed.Stderr)
			}
		})
	}
}

// said is the one line of rank 0 that is like this.
func said(t *testing.T, res result, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\[0\] (`+pattern+`)$`).FindAllStringSubmatch(res.Stdout, -1)
	if len(found) != 1 {
		t.Fatalf("%d lines like %q instead of one:\n%s\n%s", len(found), pattern, res.Stdout, res.Stderr)
	}
	return found[0][1]
}

// TestJAX has a bare jax.distributed.initialize() find the other rank, in one round and in the next. That JAX takes the
// local rank for the one device of each process, as it does under Slurm, is without effect on the CPU: each rank has both
// of its devices.
func TestJAX(t *testing.T) {
	heavy(t)
	path := harness.Script(t, "psum.py")
	res := job{flags: []string{"-n", "2", "--framework", "jax", "--log-dir", "logs", "--restart-grace", "1s", "--kill-rank", "1@step=1"}, env: one,
		worker: []string{harness.Peer(t, "jax/bin/python3"), path}}.run(t)
	res.want(t, 0)
	for rank, want := range []string{"process 0 of 2: 2 devices of 4, sum 6.0\n", "process 1 of 2: 2 devices of 4, sum 6.0\n"} {
		for _, round := range []string{"round_0", "round_1"} {
			// In the first round rank 0 may be stopped before it has written.
			file := filepath.Join(res.dir, "logs", round, string(rune('0'+rank)), "stdout.log")
			if out := read(t, file); !strings.Contains(out, want) && (round != "round_0" || rank != 0) {
				t.Errorf("%s: %q", file, out)
			}
		}
	}
	if *res.message.Round != 1 {
		t.Errorf("%+v", res.message)
	}
}
