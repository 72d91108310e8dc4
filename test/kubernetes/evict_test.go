package kubernetes_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestPodIsEvicted asks the API to evict a pod: its replacement joins the others, and no budget is touched, neither
// gangrun's nor an operator's.
func TestPodIsEvicted(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		r := try(t, objects)
		r.evict("2", nil)
		if c := k.ended(r, objects); !c.succeeded {
			t.Errorf("%+v", c)
		}
		job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil })
		if job.Status.Failed != 0 {
			t.Errorf("%+v", job.Status)
		}
		r.wantOneEvicted(k.job+"-2", 143)
	})
}

// TestHostIsEvicted does that to the pod in which the store is. The others bring what they know to its replacement's.
func TestHostIsEvicted(t *testing.T) {
	t.Parallel()
	k, objects := kinds[0], kinds[0].objects(t)
	k.fenceIsShort(t, objects) // a new store waits for it
	r := try(t, objects)
	r.evict("0", nil)
	if c := k.ended(r, objects); !c.succeeded {
		t.Errorf("%+v", c)
	}
	r.wantOneEvicted(k.job+"-0", 143)
}

// TestEvictedPodOverrunsItsGrace has SIGKILL end the container, which then has a code that would count.
func TestEvictedPodOverrunsItsGrace(t *testing.T) {
	forEach(t, func(t *testing.T, k kind, objects []client.Object) {
		k.fenceIsShort(t, objects) // the others cannot know that its workers are gone
		r := try(t, objects, "deaf")
		r.evict("2", ptr.To[int64](2))
		if c := k.ended(r, objects); !c.succeeded {
			t.Errorf("%+v", c)
		}
		if job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil }); job.Status.Failed != 0 {
			t.Errorf("%+v", job.Status)
		}
		r.wantOneEvicted(k.job+"-2", 137)
	})
}

// evict has a pod evicted in step 15. The grace is the pod's if it is nil.
func (r *trial) evict(index string, grace *int64) {
	r.t.Helper()
	r.hold(15)
	evicted := r.awaitPod(index, 0)
	evicted.await("holding in step 15")
	if err := r.plane.SubResource("eviction").Create(r.t.Context(), evicted.api, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: grace}}); err != nil {
		r.t.Fatal(err)
	}
	r.awaitPod(index, 1)
	r.release(15)
}

// wantOneEvicted ends the test unless that node was preempted once, with that code, and all else went well.
func (r *trial) wantOneEvicted(node string, code int) {
	r.t.Helper()
	ends := r.ends()
	if len(ends) != 5 {
		r.t.Errorf("%d pods came", len(ends))
	}
	var evicted int
	for _, e := range ends {
		switch {
		case e.code == code && e.Verdict == exitcodes.Preempted && e.Node == node:
			evicted++
		case e.code != 0 || e.Round == nil || *e.Round != 1 || code == 143 && (e.Restarts.Used != 0 || e.Restarts.Preemptions != 1):
			r.t.Errorf("%s: %d, %s", e.pod, e.code, e.text)
		}
	}
	if evicted != 1 {
		r.t.Errorf("%d pods were preempted", evicted)
	}
	r.wantResumed(10)
}
