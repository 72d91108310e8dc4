package trainingoperator_test

import (
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
)

// cleaned waits until the operator has deleted the job.
func (o *operator) cleaned() {
	o.t.Helper()
	o.until("a deleted job", func() bool { return o.current() == nil })
}

// TestFailedPyTorchJobIsNeverCleanedUp is a hole in the operator: it notes no completion time for a PyTorchJob that fails
// by a permanent code under ExitCode, and so its TTL never ends. A completion time that somebody else notes closes it.
func TestFailedPyTorchJobIsNeverCleanedUp(t *testing.T) {
	t.Parallel()
	job := pytorchJob(0, kubeflow.RestartPolicyExitCode)
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(0))
	o := run(t, job)
	o.round(0, 1)[0].Do("exit 3")
	o.becomes(kubeflow.JobFailed)
	o.until("vain attempts to clean up", func() bool { return o.failed("job completion time is nil, cannot cleanup") >= 3 })
	if o.current() == nil || statusOf(o.current()).CompletionTime != nil {
		t.Fatal("the hole is closed: say so in the documentation")
	}
	o.report(func() client.Object {
		job := o.current()
		statusOf(job).CompletionTime = new(metav1.Now())
		return job
	})
	o.cleaned()
}

// TestPyTorchJobThatNeverRestartsIsCleanedUp leaves all restarts to gangrun, within the pods. Then the operator notes when
// the job has failed, and cleans it up.
func TestPyTorchJobThatNeverRestartsIsCleanedUp(t *testing.T) {
	t.Parallel()
	job := pytorchJob(1, kubeflow.RestartPolicyNever)
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(0))
	o := run(t, job)
	o.round(0, 2)[0].Do("kill 9")
	o.round(1, 2)[1].Do("exit 3")
	o.cleaned()
	for _, e := range o.ends() {
		o.want(e, 3, exitcodes.Fatal, "Error")
	}
	if !o.ever(kubeflow.JobFailed) {
		t.Error("the job has not failed")
	}
	o.never(kubeflow.JobRestarting)
}

// TestDeletedPodFailsTheJob is the price of that, and what TFJobs pay in any case: to the operator a pod that is being
// deleted has failed, whatever it exits with.
func TestDeletedPodFailsTheJob(t *testing.T) {
	t.Parallel()
	t.Run("PyTorchJob that never restarts", func(t *testing.T) {
		t.Parallel()
		o := run(t, pytorchJob(1, kubeflow.RestartPolicyNever))
		o.round(0, 2)
		o.preempt(o.newest("bert-worker-0"))
		o.becomes(kubeflow.JobFailed)
	})
	t.Run("TFJob", func(t *testing.T) {
		t.Parallel()
		o := run(t, tfJob(map[kubeflow.ReplicaType]int32{kubeflow.TFJobReplicaTypeWorker: 2}))
		o.round(0, 2)
		o.preempt(o.newest("mnist-worker-1"))
		o.becomes(kubeflow.JobFailed)
		o.never(kubeflow.JobRestarting)
	})
}

// TestFailedTFJobIsCleanedUp: of TFJobs the operator notes the end.
func TestFailedTFJobIsCleanedUp(t *testing.T) {
	t.Parallel()
	job := tfJob(map[kubeflow.ReplicaType]int32{kubeflow.TFJobReplicaTypeWorker: 1})
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(0))
	o := run(t, job)
	o.until("a worker", func() bool { return o.started() == 1 })
	o.newestWorker().Do("exit 3")
	o.cleaned()
	if !o.ever(kubeflow.JobFailed) {
		t.Error("the job has not failed")
	}
}

// TestBackoffLimitIsIgnored restarts a pod more often than backoffLimit allows: under ExitCode the operator does not
// count, except that with 0 the first pod that is lost is the end. That is why a spent budget of gangrun's is a permanent
// code there.
func TestBackoffLimitIsIgnored(t *testing.T) {
	t.Parallel()
	limited := func(limit int32) *kubeflow.PyTorchJob {
		job := pytorchJob(0, kubeflow.RestartPolicyExitCode, "--no-restart", "--on-exhausted", "retry")
		job.Spec.RunPolicy.BackoffLimit = &limit
		return job
	}
	t.Run("1", func(t *testing.T) {
		t.Parallel()
		o := run(t, limited(1))
		for n := range 3 {
			o.until("a worker", func() bool { return o.started() == n+1 })
			o.newestWorker().Do("kill 9")
		}
		o.until("a worker", func() bool { return o.started() == 4 })
		o.newestWorker().Do("exit 0")
		o.becomes(kubeflow.JobSucceeded)
		o.never(kubeflow.JobFailed)
		for i, e := range o.ends() {
			if i < 3 && e.Terminated.ExitCode != 137 {
				t.Errorf("pod %d ended with %d", i, e.Terminated.ExitCode)
			}
		}
	})
	t.Run("0", func(t *testing.T) {
		t.Parallel()
		o := run(t, limited(0))
		o.round(0, 1)[0].Do("kill 9")
		o.becomes(kubeflow.JobFailed)
	})
}

// TestLoneTFJobHasNoLimit is about a TFJob of one replica, which gets no TF_CONFIG. By nothing else could gangrun know that
// its operator restarts for ever: it has to be told.
func TestLoneTFJobHasNoLimit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		ends  kubeflow.JobConditionType
	}{"unless it is said": {nil, kubeflow.JobSucceeded}, "said": {[]string{"--on-exhausted", "fatal"}, kubeflow.JobFailed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, tfJob(map[kubeflow.ReplicaType]int32{kubeflow.TFJobReplicaTypeWorker: 1}, append(test.flags, "--max-restarts", "0")...))
			o.round(0, 1)[0].Do("kill 9")
			if test.ends == kubeflow.JobSucceeded {
				o.until("another pod", func() bool { return o.started() == 2 })
				o.newestWorker().Do("exit 0")
			}
			o.becomes(test.ends)
		})
	}
}

// TestCleanPodPolicy is about what is left of a job that has failed: by default all pods, with their messages; with
// Running those that have ended, too, since with gangrun all have.
func TestCleanPodPolicy(t *testing.T) {
	for _, policy := range []kubeflow.CleanPodPolicy{"", kubeflow.CleanPodPolicyRunning, kubeflow.CleanPodPolicyAll} {
		t.Run("policy "+string(policy), func(t *testing.T) {
			t.Parallel()
			job := pytorchJob(1, kubeflow.RestartPolicyExitCode)
			if policy != "" {
				job.Spec.RunPolicy.CleanPodPolicy = &policy
			}
			o := run(t, job)
			o.round(0, 2)[0].Do("exit 3")
			o.becomes(kubeflow.JobFailed)
			o.ends()
			if policy == kubeflow.CleanPodPolicyAll {
				o.until("no pods", func() bool { return o.object(o.all()[0]) == nil && o.object(o.all()[1]) == nil })
				return
			}
			for _, p := range o.all() {
				o.until("a failed pod in the API", func() bool {
					object := o.object(p)
					return object == nil || object.Status.Phase == corev1.PodFailed
				})
				if object := o.object(p); policy == "" && (object == nil || object.Status.ContainerStatuses[0].State.Terminated.Message == "") {
					t.Errorf("%s and its message are not there any more", p.name)
				}
			}
		})
	}
}
