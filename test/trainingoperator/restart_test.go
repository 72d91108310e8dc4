package trainingoperator_test

import (
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestPyTorchJobThatStaysRestartingAfterAPermanentCode lets one worker fail for good. The operator is told by every pod,
// with one code and one cause, and the job fails at once: it is never Restarting, as jobs used to be for ever
// (kubeflow/trainer#2044).
func TestPyTorchJobThatStaysRestartingAfterAPermanentCode(t *testing.T) {
	t.Parallel()
	o := run(t, pytorchJob(2, kubeflow.RestartPolicyExitCode))
	o.of(o.round(0, 3), "bert-worker-1").Do("exit 3")
	o.becomes(kubeflow.JobFailed)
	ends := o.ends()
	if len(ends) != 3 {
		t.Errorf("%d pods, want 3", len(ends))
	}
	for _, e := range ends {
		o.want(e, 3, exitcodes.Fatal, "Error")
		if c := e.RootCause; c == nil || c.Node != "bert-worker-1" || c.ExitCode == nil || *c.ExitCode != 3 {
			t.Errorf("%s: the cause is %+v", e.name, c)
		}
	}
	if n := o.started(); n != 3 {
		t.Errorf("%d workers were started, want 3", n)
	}
	o.never(kubeflow.JobRestarting)
	o.undeleted()
}

// TestOneWorkerRestartedWhileTheOthersHang kills one worker. The operator would replace its pod and leave the others
// waiting for it; gangrun restarts the workers of all pods, and the operator sees none of that.
func TestOneWorkerRestartedWhileTheOthersHang(t *testing.T) {
	t.Parallel()
	o := run(t, pytorchJob(2, kubeflow.RestartPolicyExitCode))
	first := o.round(0, 3)
	o.of(first, "bert-worker-0").Do("kill 9")
	second := o.round(1, 3)
	for i, w := range second {
		if !first[i].Gone() {
			t.Errorf("%s's worker of round 0 lives on", first[i].pod())
		}
		if w.Env["RANK"] != first[i].Env["RANK"] || w.Env["MASTER_PORT"] == first[i].Env["MASTER_PORT"] {
			t.Errorf("%s: rank %s at port %s, before that %s at %s", w.pod(), w.Env["RANK"], w.Env["MASTER_PORT"], first[i].Env["RANK"], first[i].Env["MASTER_PORT"])
		}
	}
	finish(second)
	for _, e := range o.succeeds() {
		if *e.Round != 1 || e.Restarts.Used != 1 {
			t.Errorf("%s ends in round %d, restarts %+v", e.name, *e.Round, *e.Restarts)
		}
	}
}

// TestBudgetIsSpent kills workers until gangrun gives up. The operator, which counts no restarts of its own under
// ExitCode, is told to fail the job.
func TestBudgetIsSpent(t *testing.T) {
	t.Parallel()
	o := run(t, pytorchJob(1, kubeflow.RestartPolicyExitCode, "--max-restarts", "1"))
	for round := range 2 {
		o.of(o.round(round, 2), "bert-worker-0").Do("kill 9")
	}
	o.becomes(kubeflow.JobFailed)
	for _, e := range o.ends() {
		o.want(e, 90, exitcodes.Fatal, "RestartBudgetExhausted")
	}
	o.never(kubeflow.JobRestarting)
	o.undeleted()
}
