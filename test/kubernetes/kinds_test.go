package kubernetes_test

import (
	"slices"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// kind is one of the examples.
type kind struct {
	name, file string
	job        string // the name of the Job that has the pods
	// ended waits for the end of the whole, and tells how it ended.
	ended func(*trial, []client.Object) conclusion
	// container is the one in which gangrun is.
	container func(*testing.T, []client.Object) *corev1.Container
}

// conclusion is an operator's word on a job.
type conclusion struct {
	succeeded bool
	reason    string
}

var kinds = []kind{
	{
		"Job", "job.yaml", "llm",
		func(r *trial, objects []client.Object) conclusion {
			job := await(r, find[*batchv1.Job](r.t, objects), &batchv1.JobList{}, "the Job ends", func(j *batchv1.Job) bool { return jobEnd(j) != nil })
			return conclusion{jobEnd(job).Type == batchv1.JobComplete, jobEnd(job).Reason}
		},
		func(t *testing.T, objects []client.Object) *corev1.Container {
			return &find[*batchv1.Job](t, objects).Spec.Template.Spec.Containers[0]
		},
	},
	{
		"JobSet", "jobset.yaml", "llm-node-0",
		func(r *trial, objects []client.Object) conclusion {
			return concluded(await(r, find[*jobset.JobSet](r.t, objects), &jobset.JobSetList{}, "the JobSet ends", func(s *jobset.JobSet) bool {
				return isTrue(s.Status.Conditions, "Completed", "Failed") != nil
			}).Status.Conditions)
		},
		func(t *testing.T, objects []client.Object) *corev1.Container {
			return &find[*jobset.JobSet](t, objects).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
		},
	},
	{
		"TrainJob", "trainjob.yaml", "llm-node-0",
		func(r *trial, objects []client.Object) conclusion {
			return concluded(await(r, find[*trainer.TrainJob](r.t, objects), &trainer.TrainJobList{}, "the TrainJob ends", func(j *trainer.TrainJob) bool {
				return isTrue(j.Status.Conditions, "Complete", "Failed") != nil
			}).Status.Conditions)
		},
		func(t *testing.T, objects []client.Object) *corev1.Container {
			return &find[*trainer.ClusterTrainingRuntime](t, objects).Spec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
		},
	},
}

// objects are the example's, told what the checkpoints of the trainer here are like.
func (k kind) objects(t *testing.T) []client.Object {
	t.Helper()
	objects := example(t, k.file)
	setting(k.container(t, objects), "CHECKPOINT_PATTERN", "step-*.json")
	return objects
}

// fenceIsShort is for tests in which the other nodes have to wait until a node counts as gone.
func (k kind) fenceIsShort(t *testing.T, objects []client.Object) {
	t.Helper()
	setting(k.container(t, objects), "FENCE_TIMEOUT", "16s")
	setting(k.container(t, objects), "RESTART_GRACE", "1s") // half of the fence has to be enough for it
	apart(objects, "fence")
}

// jobEnd is the condition that says that the Job is over, or nil.
func jobEnd(j *batchv1.Job) *batchv1.JobCondition {
	i := slices.IndexFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &j.Status.Conditions[i]
}

// isTrue is the one of these conditions that holds, or nil.
func isTrue(conditions []metav1.Condition, types ...string) *metav1.Condition {
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool {
		return slices.Contains(types, c.Type) && c.Status == metav1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

func concluded(conditions []metav1.Condition) conclusion {
	c := isTrue(conditions, "Completed", "Complete", "Failed")
	return conclusion{c.Type != "Failed", c.Reason}
}

// innerJob waits until the Job that has the pods is as it has to be.
func (r *trial) innerJob(k kind, what string, ok func(*batchv1.Job) bool) *batchv1.Job {
	r.t.Helper()
	return await(r, &batchv1.Job{ObjectMeta: named(r.namespace, k.job)}, &batchv1.JobList{}, what, ok)
}

// forEach runs a test of every example.
func forEach(t *testing.T, test func(*testing.T, kind, []client.Object)) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, k, k.objects(t))
		})
	}
}

// apart gives a test's own runtime a name of its own: it is the cluster's, not the namespace's.
func apart(objects []client.Object, name string) {
	for _, o := range objects {
		switch o := o.(type) {
		case *trainer.ClusterTrainingRuntime:
			o.Name += "-" + name
		case *trainer.TrainJob:
			o.Spec.RuntimeRef.Name += "-" + name
		}
	}
}
