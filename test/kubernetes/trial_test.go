package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/kubelet"
)

// trial is a job of the examples that runs.
type trial struct {
	*node
	workspace string // is /workspace in every container
}

// training is what the trainer is told beside what the example says: 40 steps, with a checkpoint every 10.
var training = []string{"--steps=40", "--checkpoint-every=10", "--step-time=0.01"}

// try makes a job's objects in a namespace of its own, and runs its pods. The switches are for the trainer.
func try(t *testing.T, objects []client.Object, switches ...string) *trial {
	t.Helper()
	r := prepare(t, switches...)
	r.create(objects)
	return r
}

// prepare is try without the objects, which create makes.
func prepare(t *testing.T, switches ...string) *trial {
	t.Helper()
	p := shared.get(t)
	r := &trial{workspace: t.TempDir()}
	script, err := os.ReadFile(filepath.Join(directory(), "testdata", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("train.py", string(script), t)
	r.write("switches", strings.Join(slices.Concat(training, switches), "\n"), t)
	r.node = startNode(t, p, p.namespace(t),
		kubelet.Mount{Host: r.workspace, Path: "/workspace", ReadOnly: true},
		kubelet.Mount{Host: filepath.Join(harness.Root(), "examples", "train"), Path: "/trainer", ReadOnly: true},
		kubelet.Mount{Host: filepath.Join(directory(), "testdata", "torchrun"), Path: "/usr/local/bin/torchrun", ReadOnly: true})
	return r
}

func (r *trial) create(objects []client.Object) {
	r.t.Helper()
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "ClusterTrainingRuntime" {
			r.plane.runtime(r.t, o)
			continue
		}
		o.SetNamespace(r.namespace)
		if err := r.plane.Create(r.t.Context(), o); err != nil {
			r.t.Fatal(err)
		}
	}
}

// runtime installs a training runtime, if it is not there: it is the cluster's, not a namespace's. The operator's webhook
// learns of it by a watch, a moment later, and refuses TrainJobs until then.
func (p *plane) runtime(t *testing.T, o client.Object) {
	t.Helper()
	if err := p.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, "a webhook that knows the runtime "+o.GetName(), func() bool {
		probe := &trainer.TrainJob{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: metav1.NamespaceDefault},
			Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: o.GetName()}},
		}
		err := p.Create(t.Context(), probe, client.DryRunAll)
		return err == nil || !strings.Contains(err.Error(), "must be created before")
	})
}

func (r *trial) write(name, content string, t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.workspace, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hold makes the ranks wait in a step, until release.
func (r *trial) hold(step int) { r.write(fmt.Sprint("hold-", step), "", r.t) }

func (r *trial) release(step int) {
	if err := os.Remove(filepath.Join(r.workspace, fmt.Sprint("hold-", step))); err != nil {
		r.t.Error(err)
	}
}

// await waits until the object is as it has to be, and returns it as it is then.
func await[T client.Object](r *trial, o T, list client.ObjectList, what string, ok func(T) bool) T {
	r.t.Helper()
	for late := time.After(patience); ; {
		w, err := r.plane.Watch(r.t.Context(), list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()})
		if err != nil {
			r.t.Fatal(err)
		}
		var last T
		for open := true; open; {
			select {
			case event, more := <-w.ResultChan():
				if open = more; !more {
					break
				}
				if now, is := event.Object.(T); is {
					if last = now; ok(now) {
						w.Stop()
						return now
					}
				}
			case <-late:
				r.t.Fatalf("%s: not within %v: %+v", what, patience, last)
			}
		}
	}
}

// ends are how the pods ended that have come so far, as the API was told.
func (r *trial) ends() (all []end) {
	r.t.Helper()
	for _, p := range r.seen() {
		select {
		case <-p.over:
		case <-time.After(patience):
			r.t.Fatalf("%s does not end", p.api.Name)
		}
		_, run := p.all()
		for _, c := range run.Status().Containers {
			m, err := exitcodes.ParseMessage([]byte(c.Terminated.Message))
			if err != nil {
				r.t.Fatalf("%s: %v: %+v\n%s", p.api.Name, err, c.Terminated, p.output())
			}
			all = append(all, end{p.api.Name, c.Terminated.ExitCode, strings.TrimSpace(c.Terminated.Message), m})
		}
	}
	return all
}

// end is how a pod ended.
type end struct {
	pod  string
	code int
	text string // the message as it is
	exitcodes.Message
}

// twice wants eight pods: four, and four in their place, which have resumed from step 10 and succeeded.
func (r *trial) twice() (first, second []end) {
	r.t.Helper()
	ends := r.ends()
	if len(ends) != 8 {
		r.t.Fatalf("%d pods came", len(ends))
	}
	for _, e := range ends[4:] {
		if e.code != 0 || e.Restarts.Used != 0 {
			r.t.Errorf("%s: %d, %s", e.pod, e.code, e.text)
		}
	}
	r.wantResumed(10)
	return ends[:4], ends[4:]
}

// want ends the test unless that many pods ended, and all of them like that.
func (r *trial) want(pods, code int, verdict exitcodes.Verdict, reason string) []end {
	r.t.Helper()
	ends := r.ends()
	if len(ends) != pods {
		r.t.Errorf("%d pods came, not %d", len(ends), pods)
	}
	for _, e := range ends {
		if e.code != code || e.Verdict != verdict || e.Reason != reason {
			r.t.Errorf("%s: exit code %d, %s, %s; want %d, %s, %s: %s", e.pod, e.code, e.Verdict, e.Reason, code, verdict, reason, e.text)
		}
	}
	return ends
}
