package trainingoperator_test

import (
	"testing"
	"time"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestPodIsPreempted lets somebody delete one pod. The others stop, and continue with its replacement, which the
// operator makes under the same name. No restart is charged.
func TestPodIsPreempted(t *testing.T) {
	for _, name := range []string{"bert-worker-0", "bert-master-0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, pytorchJob(2, kubeflow.RestartPolicyExitCode))
			o.round(0, 3)
			preempted := o.newest(name)
			o.preempt(preempted)
			second := o.round(1, 3)
			o.want(o.end(preempted), 143, exitcodes.Preempted, "Preempted")
			if o.newest(name) == preempted {
				t.Error("there is no replacement")
			}
			finish(second)
			o.becomes(kubeflow.JobSucceeded)
			for _, e := range o.ends() {
				if e.name == name && e.Terminated.ExitCode == 143 {
					continue
				}
				o.want(e, 0, exitcodes.Success, "Succeeded")
				if e.Restarts.Used != 0 || e.Restarts.Preemptions != 1 {
					t.Errorf("%s: restarts %+v", e.name, *e.Restarts)
				}
			}
			if n := len(o.all()); n != 4 {
				t.Errorf("there were %d pods, want 4", n)
			}
			o.never(kubeflow.JobFailed)
		})
	}
}

// TestNodeIsLost takes one node away, with its pod and without a word. Its replacement proves that the pod is gone, so
// that the others need not wait for the fence time.
func TestNodeIsLost(t *testing.T) {
	t.Parallel()
	o := run(t, pytorchJob(2, kubeflow.RestartPolicyExitCode, "--fence-timeout", "1m"))
	o.round(0, 3)
	lost := time.Now()
	o.lose(o.newest("bert-worker-0"))
	second := o.round(1, 3)
	if took := time.Since(lost); took > time.Minute {
		t.Errorf("the others have waited for %v", took)
	}
	finish(second)
	o.becomes(kubeflow.JobSucceeded)
	for _, e := range o.ends() {
		o.want(e, 0, exitcodes.Success, "Succeeded")
		if e.Restarts.Used != 1 {
			t.Errorf("%s: restarts %+v", e.name, *e.Restarts)
		}
	}
	o.never(kubeflow.JobFailed)
}

// TestElasticDrain drains a pod of an elastic job whose training answers a stop with 0. One exit code 0 makes the whole
// job Succeeded to the operator: a drained pod never ends with it.
func TestElasticDrain(t *testing.T) {
	t.Parallel()
	o := run(t, elasticJob(3, "--last-call", "1m")) // so that the next round has the replacement
	first := o.round(0, 3)
	for _, w := range first {
		w.Do("obey")
		w.Do("say obeying")
		o.newest(w.pod()).started.Load().Await("obeying")
	}
	drained := o.newest("bert-worker-1")
	o.preempt(drained)
	second := o.round(1, 3)
	e := o.end(drained)
	if o.want(e, 143, exitcodes.Preempted, "Preempted"); e.WorkerExitCode == nil || *e.WorkerExitCode != 0 {
		t.Error("the training has not answered with 0: nothing is shown")
	}
	o.never(kubeflow.JobSucceeded)
	finish(second)
	o.becomes(kubeflow.JobSucceeded)
	for _, e := range o.ends() {
		if e.Terminated.ExitCode != 143 {
			o.want(e, 0, exitcodes.Success, "Succeeded")
		}
	}
	o.never(kubeflow.JobFailed)
}

// TestElasticRestart kills a worker of an elastic job.
func TestElasticRestart(t *testing.T) {
	t.Parallel()
	o := run(t, elasticJob(3))
	o.round(0, 3)[1].Do("kill 9")
	finish(o.round(1, 3))
	o.succeeds()
}

// saving are the flags of a job with checkpoints as the workers here save them.
var saving = []string{"--checkpoint-dir", "/checkpoints", "--checkpoint-pattern", "step-*", "--checkpoint-marker", "complete"}

// suspend sets runPolicy.suspend, as a queue does.
func (o *operator) suspend(suspend bool) {
	o.t.Helper()
	o.change(func(job client.Object) {
		switch job := job.(type) {
		case *kubeflow.PyTorchJob:
			job.Spec.RunPolicy.Suspend = &suspend
		case *kubeflow.TFJob:
			job.Spec.RunPolicy.Suspend = &suspend
		}
	})
}

// suspendAndResume suspends a job that trains in so many pods and is to be deleted as soon as it is finished, resumes it,
// and sees it to its end.
func (o *operator) suspendAndResume(count int) {
	o.t.Helper()
	o.round(0, count)[0].Do("save 7")
	o.until("a checkpoint", func() bool { return o.saved("step-7") })
	before := o.all()
	o.suspend(true)
	o.becomes(kubeflow.JobSuspended)
	for _, p := range before {
		o.until("the end of "+p.name, func() bool { return o.object(p) == nil })
		o.want(o.end(p), 143, exitcodes.Preempted, "Preempted")
	}
	for range 3 { // whatever wakes the operator now, it lets the job be
		o.change(func(job client.Object) { job.SetLabels(map[string]string{"looked-at": "again"}) })
		o.change(func(job client.Object) { job.SetLabels(nil) })
	}
	if o.current() == nil || !o.is(kubeflow.JobSuspended) || len(o.all()) != count {
		o.t.Fatal("the suspended job has not stayed as it was")
	}
	if n := o.failed("completion time is nil"); n != 0 {
		o.t.Errorf("the operator could not clean up %d times", n)
	}
	o.suspend(false)
	second := o.round(1, count)
	for _, w := range second {
		if w.Env["GANGRUN_RESUME_STEP"] != "7" {
			o.t.Errorf("%s resumes from step %q", w.pod(), w.Env["GANGRUN_RESUME_STEP"])
		}
	}
	if o.is(kubeflow.JobSuspended) || !o.is(kubeflow.JobRunning) {
		o.t.Error("the resumed job is not running")
	}
	finish(second)
	o.until("a deleted job", func() bool { return o.current() == nil })
	if !o.ever(kubeflow.JobSucceeded) {
		o.t.Error("the job has not succeeded")
	}
	o.never(kubeflow.JobRestarting)
	o.never(kubeflow.JobFailed)
}

// TestPyTorchJobIsSuspendedAndResumed suspends a job that has a TTL of nothing. Its pods are stopped and nothing expires;
// resumed, it resumes from its checkpoint and is cleaned up when it is finished.
func TestPyTorchJobIsSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	job := pytorchJob(2, kubeflow.RestartPolicyExitCode, saving...)
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(0))
	claim(job.Spec.PyTorchReplicaSpecs)
	run(t, job).suspendAndResume(3)
}

// TestPreemptedTFJobWithTTLIsSuspendedAndCleanedUp suspends a TFJob with a TTL. Old operators could neither suspend nor
// clean up such a job (kubeflow/trainer#2239).
func TestPreemptedTFJobWithTTLIsSuspendedAndCleanedUp(t *testing.T) {
	t.Parallel()
	job := tfJob(map[kubeflow.ReplicaType]int32{kubeflow.TFJobReplicaTypeChief: 1, kubeflow.TFJobReplicaTypeWorker: 1}, saving...)
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(0))
	claim(job.Spec.TFReplicaSpecs)
	run(t, job).suspendAndResume(2)
}
