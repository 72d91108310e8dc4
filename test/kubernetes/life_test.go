package kubernetes_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/kubelet"
)

// TestSucceeds is a job in which nothing happens.
func TestSucceeds(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		r := try(t, objects)
		if c := k.ended(r, objects); !c.succeeded {
			t.Errorf("%+v", c)
		}
		for _, e := range r.want(4, 0, exitcodes.Success, "Succeeded") {
			if e.Round == nil || *e.Round != 0 || e.Job != "llm" {
				t.Errorf("%s: %s", e.pod, e.text)
			}
		}
	})
}

// TestFatal is a rank that fails in a way that would come again: all pods exit with its code, nothing is tried again,
// and every operator knows.
func TestFatal(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		r := try(t, objects, "--die-at=15", "--die-rank=2", "--how=exit:3")
		job := r.innerJob(k, "the Job fails", func(j *batchv1.Job) bool { return jobEnd(j) != nil })
		end := jobEnd(job)
		if end.Type != batchv1.JobFailed || end.Reason != "PodFailurePolicy" || !strings.Contains(end.Message, " failed with exit code 3 matching FailJob rule ") {
			t.Errorf("%+v", end)
		}
		for _, p := range r.seen() {
			if _, run := p.all(); run.Status().Phase != kubelet.Failed {
				t.Errorf("the Job has failed, and %s has not", p.api.Name)
			}
		}
		want := conclusion{false, "FailJobSetFailurePolicyAction"}
		if k.name == "Job" {
			want.reason = "PodFailurePolicy"
		}
		if c := k.ended(r, objects); c != want {
			t.Errorf("%+v", c)
		}
		for _, e := range r.want(4, 3, exitcodes.Fatal, "Error") {
			if e.RootCause == nil || e.RootCause.Node != k.job+"-2" || *e.RootCause.ExitCode != 3 || e.Restarts.Used != 0 {
				t.Errorf("%s: %s", e.pod, e.text)
			}
			if kept := r.kept(e.Node); kept.ExitCode != 3 || kept.Reason != e.Reason {
				t.Errorf("%s has left %+v", e.pod, kept)
			}
		}
		if k.name != "Job" {
			set := r.set()
			if set.Status.Restarts != 0 {
				t.Errorf("%+v", set.Status)
			}
		}
	})
}

// TestWorkerIsKilled is a rank that is killed once: training is restarted within the pods, from the last checkpoint, and
// the operators notice nothing.
func TestWorkerIsKilled(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		r := try(t, objects, "--die-at=15", "--die-rank=1", "--how=SIGKILL", "--die-once=/mnt/train/died")
		if c := k.ended(r, objects); !c.succeeded {
			t.Errorf("%+v", c)
		}
		job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil })
		if job.Status.Failed != 0 || job.Status.Succeeded != 4 {
			t.Errorf("%+v", job.Status)
		}
		for _, e := range r.want(4, 0, exitcodes.Success, "Succeeded") {
			if e.Round == nil || *e.Round != 1 {
				t.Errorf("%s: %s", e.pod, e.text)
			}
		}
		r.wantResumed(10)
	})
}

// wantResumed ends the test unless training resumed from that step, at gangrun's word.
func (r *trial) wantResumed(step int) {
	r.t.Helper()
	for _, p := range r.seen() {
		if strings.Contains(p.output(), fmt.Sprint("resumed from step ", step)) {
			return
		}
	}
	r.t.Errorf("no pod has resumed from step %d", step)
}

// TestPodIsDeleted deletes a pod, as a person does: no condition tells why.
func TestPodIsDeleted(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		r := try(t, objects)
		r.hold(15)
		deleted := r.awaitPod("2", 0)
		deleted.await("holding in step 15")
		if err := r.plane.Delete(t.Context(), deleted.api); err != nil {
			t.Fatal(err)
		}
		r.awaitPod("2", 1)
		r.release(15)
		if c := k.ended(r, objects); !c.succeeded {
			t.Errorf("%+v", c)
		}
		if job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil }); job.Status.Failed != 0 {
			t.Errorf("%+v", job.Status)
		}
		r.wantOneEvicted(k.job+"-2", 143)
	})
}

// TestSuspended takes all pods from a job, as a queue does that needs their place, and gives it new ones later.
func TestSuspended(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		k.fenceIsShort(t, objects) // a new store waits for it
		r := try(t, objects)
		r.hold(15)
		for _, index := range []string{"0", "1", "2", "3"} {
			r.awaitPod(index, 0).await("holding in step 15")
		}
		r.suspend(objects, true)
		r.want(4, 143, exitcodes.Preempted, "Preempted")
		r.release(15)
		r.suspend(objects, false)
		if c := k.ended(r, objects); !c.succeeded {
			t.Errorf("%+v", c)
		}
		r.twice()
	})
}

// suspend suspends or resumes the job, which is the last of its objects.
func (r *trial) suspend(objects []client.Object, suspend bool) {
	r.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%v}}`, suspend))
	if err := r.plane.Patch(r.t.Context(), objects[len(objects)-1], patch); err != nil {
		r.t.Fatal(err)
	}
}

// TestJobIsDeleted deletes the whole of it.
func TestJobIsDeleted(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		r := try(t, objects)
		r.hold(15)
		for _, index := range []string{"0", "1", "2", "3"} {
			r.awaitPod(index, 0).await("holding in step 15")
		}
		if err := r.plane.Delete(t.Context(), objects[len(objects)-1], client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			t.Fatal(err)
		}
		r.want(4, 143, exitcodes.Preempted, "Preempted")
	})
}

// TestBudgetIsSpent is a failure that is worth a retry, until gangrun's own budget is spent: all pods exit with its
// code, and the JobSet starts over, from the last checkpoint. With 137 single pods are replaced, but not all of them;
// 211 is not charged to the JobSet.
func TestBudgetIsSpent(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[1:] {
		for _, test := range []struct {
			how    string
			code   int
			counts int32
		}{{"exit:200", 200, 1}, {"SIGKILL", 137, 1}, {"exit:211", 211, 0}} {
			t.Run(fmt.Sprint(k.name, " ", test.code), func(t *testing.T) {
				t.Parallel()
				objects := k.objects(t)
				setting(k.container(t, objects), "MAX_RESTARTS", "1")
				setting(k.container(t, objects), "MAX_SAME_FAILURE", "0") // or it would be fatal by then
				apart(objects, "spent")
				r := try(t, objects, "0:--die-at=15", "0:--die-rank=1", "0:--how="+test.how)
				if c := k.ended(r, objects); !c.succeeded {
					t.Errorf("%+v", c)
				}
				if s := r.set().Status; s.Restarts != 1 || s.RestartsCountTowardsMax != test.counts {
					t.Errorf("%+v", s)
				}
				first, second := r.twice()
				for _, e := range first {
					if e.code != test.code || e.Verdict != exitcodes.Retry || e.Reason != "RestartBudgetExhausted" {
						t.Errorf("%s: %d, %s", e.pod, e.code, e.text)
					}
				}
				for _, e := range second {
					if e.Round == nil || *e.Round != 0 {
						t.Errorf("%s: %d, %s", e.pod, e.code, e.text)
					}
				}
			})
		}
	}
}

// TestJobBeginsAnew is a spent budget in a Job of two nodes: it makes new pods, which it has counted, after a pause that has
// doubled with each.
func TestJobBeginsAnew(t *testing.T) {
	t.Parallel()
	k := kinds[0]
	objects := k.objects(t)
	find[*batchv1.Job](t, objects).Spec.Completions = ptr.To[int32](2)
	find[*batchv1.Job](t, objects).Spec.Parallelism = ptr.To[int32](2)
	c := k.container(t, objects)
	c.Command[slices.Index(c.Command, "--nodes=4")] = "--nodes=2"
	setting(k.container(t, objects), "MAX_RESTARTS", "0")
	r := try(t, objects, "--die-at=15", "--die-rank=1", "--how=exit:200", "--die-once=/mnt/train/died")
	if c := k.ended(r, objects); !c.succeeded {
		t.Errorf("%+v", c)
	}
	if job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil }); job.Status.Failed != 2 {
		t.Errorf("%+v", job.Status)
	}
	ends := r.ends()
	if len(ends) != 4 || ends[0].code != 200 || ends[1].code != 200 || ends[2].code != 0 || ends[3].code != 0 {
		t.Fatalf("%+v", ends)
	}
	if pause := r.awaitPod("0", 1).api.CreationTimestamp.Sub(ends[0].FinishedAt); pause < 18*time.Second {
		t.Errorf("it made new pods after %v", pause)
	}
	r.wantResumed(10)
}

// kept is what a node has kept in --state-dir.
func (r *trial) kept(node string) exitcodes.Message {
	r.t.Helper()
	files, _ := filepath.Glob(filepath.Join(r.volumes, "*", "gangrun", node+".json"))
	if len(files) != 1 {
		r.t.Fatalf("%s has kept %q", node, files)
	}
	return harness.Message(r.t, files[0])
}

// set is the JobSet as it is now.
func (r *trial) set() *jobset.JobSet {
	r.t.Helper()
	set := &jobset.JobSet{}
	if err := r.plane.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: "llm"}, set); err != nil {
		r.t.Fatal(err)
	}
	return set
}

// setting sets one of gangrun's flags by its variable.
func setting(c *corev1.Container, name, value string) {
	c.Env = append(c.Env, corev1.EnvVar{Name: "GANGRUN_" + name, Value: value})
}
