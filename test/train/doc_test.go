// Package train_test puts real training jobs under gangrun: torchrun with ranks that die in the middle of a step, a
// data loader with processes of its own, TensorFlow workers that lose each other. What comes out has to name the cause,
// and a training run that was interrupted has to end as if it had not been.
package train_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is many times what one training run here takes on an idle machine.
const limit = 5 * time.Minute

// parallel lets the test run beside one other: each training run starts several Pythons that load hundreds of
// megabytes.
var parallel = harness.Turns(2)

// trainer is the path of one of the trainers that are shipped as examples.
func trainer(name string) string { return filepath.Join(harness.Root(), "examples", "train", name) }

// torchrun is the command line of torchrun with some ranks on this machine.
func torchrun(t *testing.T, ranks string, script string, args ...string) []string {
	t.Helper()
	return append([]string{harness.Peer(t, "torch/bin/torchrun"), "--standalone", "--nproc-per-node", ranks, script}, args...)
}

// one keeps the libraries from starting a thread for each core of a large machine in every rank.
var one = []string{"OMP_NUM_THREADS=1", "TF_ENABLE_ONEDNN_OPTS=0"}

// finalLoss is what a trainer says at its end.
func finalLoss(t *testing.T, output string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^final loss .*$`).FindAllString(output, -1)
	if len(found) != 1 {
		t.Fatalf("%d lines with a final loss instead of one:\n%s", len(found), output)
	}
	return found[0]
}

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	os.Exit(m.Run())
}
