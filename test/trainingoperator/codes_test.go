package trainingoperator_test

import (
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/util/train"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestCodesMeanTheSame compares what a code means to gangrun with what it means to the operator under ExitCode.
func TestCodesMeanTheSame(t *testing.T) {
	t.Parallel()
	for code := 1; code < 256; code++ {
		if again := train.IsRetryableExitCode(int32(code)); again != (exitcodes.CodeVerdict(code) == exitcodes.Retry) {
			t.Errorf("%d: to the operator %v", code, again)
		}
	}
	for _, verdict := range []exitcodes.Verdict{exitcodes.Retry, exitcodes.Fatal} {
		for own := range 256 {
			code := exitcodes.CodeFor(verdict, own)
			if again := train.IsRetryableExitCode(int32(code)); again != (verdict == exitcodes.Retry) {
				t.Errorf("%s after a worker's %d is %d, to the operator %v", verdict, own, code, again)
			}
		}
	}
}

// TestDefaultRestartPolicy is why restartPolicy has to be said: a PyTorchJob's own is OnFailure, under which a fatal end is
// started again in its pod, whatever its code.
func TestDefaultRestartPolicy(t *testing.T) {
	t.Parallel()
	o := run(t, pytorchJob(0, ""))
	for n := range 2 {
		o.until("a worker", func() bool { return o.started() == n+1 })
		o.newestWorker().Do("exit 3")
	}
	o.until("a worker", func() bool { return o.started() == 3 })
	if s := o.all()[0].started.Load().Status().Containers[0]; s.RestartCount != 2 {
		t.Errorf("the container was started again %d times, want 2", s.RestartCount)
	}
	o.newestWorker().Do("exit 0")
	o.becomes(kubeflow.JobSucceeded)
	o.never(kubeflow.JobFailed)
	o.undeleted()
}

// TestSidecarFails: the operator goes by the code of the container called pytorch, which is 0, and by the pod's phase, which
// is Failed. So a sidecar that does not end well fails a job that has succeeded.
func TestSidecarFails(t *testing.T) {
	t.Parallel()
	job := pytorchJob(0, kubeflow.RestartPolicyExitCode)
	pod := &job.Spec.PyTorchReplicaSpecs[kubeflow.PyTorchJobReplicaTypeMaster].Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "example.com/sidecar", Command: []string{"sh", "-c", "exit 1"}})
	o := run(t, job)
	finish(o.round(0, 1))
	o.becomes(kubeflow.JobFailed)
	o.want(o.ends()[0], 0, exitcodes.Success, "Succeeded")
}

// TestPodIsEvicted lets a kubelet throw a pod out with nothing said of its containers. To the operator no code is one that
// is worth a retry.
func TestPodIsEvicted(t *testing.T) {
	t.Parallel()
	o := run(t, pytorchJob(1, kubeflow.RestartPolicyExitCode))
	o.round(0, 2)
	evicted := o.newest("bert-worker-0")
	evicted.lost.Store(true) // from now on the test reports of it
	evicted.started.Load().Kill()
	<-evicted.started.Load().Done()
	o.report(func() client.Object {
		object := o.object(evicted)
		object.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
		return object
	})
	finish(o.round(1, 2))
	o.becomes(kubeflow.JobSucceeded)
	o.never(kubeflow.JobFailed)
}

// TestMessageFits: a pod's containers share 12 KiB for their messages, and gangrun's is whole with six of them.
func TestMessageFits(t *testing.T) {
	t.Parallel()
	job := pytorchJob(0, kubeflow.RestartPolicyExitCode)
	pod := &job.Spec.PyTorchReplicaSpecs[kubeflow.PyTorchJobReplicaTypeMaster].Template.Spec
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		pod.Containers = append(pod.Containers, corev1.Container{Name: name, Image: "example.com/sidecar", Command: []string{"true"}})
	}
	o := run(t, job)
	w := o.round(0, 1)[0]
	for range 200 {
		w.Do("say %s", "a line of the output, of which the message keeps the end as far as there is room for it")
	}
	w.Do("exit 3")
	o.becomes(kubeflow.JobFailed)
	e := o.ends()[0]
	o.want(e, 3, exitcodes.Fatal, "Error")
	if n := len(e.Terminated.Message); n != 2048 || e.LogTail == "" {
		t.Errorf("%d bytes, of the output: %q", n, e.LogTail)
	}
}
