package trainingoperator_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/control"
	"github.com/kubeflow/training-operator/pkg/controller.v1/expectation"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/kubelet"
)

const namespace = "default"

// operator is one job, the operator's reconciler that looks after it, and the node on which its pods run.
type operator struct {
	t        *testing.T
	api      client.Client
	events   events
	job      client.Object // as it was handed over
	cluster  *kubelet.Cluster
	pods     []*pod // all there have ever been
	workers  *workers
	claims   string           // a directory with one for each volume claim
	mounts   []kubelet.Mount  // for every container
	changed  chan struct{}    // something was written
	again    <-chan time.Time // reconcile then without a cause
	reset    func()           // forgets what the operator expects to see: there is no watch by which it would
	control  reconcile.Reconciler
	mu       sync.Mutex // for what follows
	history  []string   // the job's conditions that are true, each time that they have changed
	failures []string   // of the reconciler
}

// run hands the job to the operator.
func run(t *testing.T, job client.Object) *operator {
	t.Helper()
	o := prepare(t)
	o.run(job)
	return o
}

// prepare makes an operator without a job so far.
func prepare(t *testing.T) *operator {
	t.Helper()
	o := &operator{t: t, cluster: kubelet.New(t), workers: listen(t), claims: t.TempDir(), changed: make(chan struct{}, 1)}
	o.mounts = []kubelet.Mount{{Host: o.workers.Dir, Path: "/test"}}
	o.api = newAPI(o.wrote)
	return o
}

// run hands the job to the operator.
func (o *operator) run(job client.Object) {
	o.t.Helper()
	o.job = job
	o.control = o.controller()
	job.SetNamespace(namespace)
	if err := o.api.Create(o.t.Context(), job); err != nil {
		o.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { o.loop(ctx) })
	o.t.Cleanup(func() {
		stop()
		running.Wait()
		if o.t.Failed() {
			o.t.Logf("conditions: %q\nerrors of the reconciler: %q\nevents:\n%s", o.history, o.failures, strings.Join(o.events.all, "\n"))
		}
	})
}

// controller is the operator's reconciler of jobs of this kind, which controls pods by its own code.
func (o *operator) controller() reconcile.Reconciler {
	manager := stub{api: o.api, events: &o.events}
	adapt := func(c *common.JobController) {
		c.PodControl = control.RealPodControl{KubeClient: clientset{api: o.api}, Recorder: &o.events}
		c.ServiceControl = control.RealServiceControl{KubeClient: clientset{api: o.api}, Recorder: &o.events}
		o.reset = func() { c.Expectations = expectation.NewControllerExpectations() }
	}
	switch o.job.(type) {
	case *kubeflow.PyTorchJob:
		r := pytorch.NewReconciler(manager, common.GenNonGangSchedulerSetupFunc())
		adapt(&r.JobController)
		return r
	case *kubeflow.TFJob:
		r := tensorflow.NewReconciler(manager, common.GenNonGangSchedulerSetupFunc())
		adapt(&r.JobController)
		return r
	}
	o.t.Fatalf("no reconciler for %T", o.job)
	return nil
}

// wrote is told of every change in the API.
func (o *operator) wrote(object client.Object) {
	if status := statusOf(object); status != nil {
		var now []string
		for _, c := range status.Conditions {
			if c.Status == corev1.ConditionTrue {
				now = append(now, string(c.Type))
			}
		}
		text := strings.Join(now, " ")
		o.mu.Lock()
		if len(o.history) == 0 || o.history[len(o.history)-1] != text {
			o.history = append(o.history, text)
		}
		o.mu.Unlock()
	}
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func statusOf(job client.Object) *kubeflow.JobStatus {
	switch job := job.(type) {
	case *kubeflow.PyTorchJob:
		return &job.Status
	case *kubeflow.TFJob:
		return &job.Status
	}
	return nil
}

// loop is the operator and the kubelet at work: after every change both look at everything.
func (o *operator) loop(ctx context.Context) {
	for {
		pods := o.cluster.Changed()
		o.reconcile(ctx)
		o.kubelet(ctx)
		select {
		case <-ctx.Done():
			return
		case <-pods:
		case <-o.changed:
		case <-o.again:
		}
	}
}

func (o *operator) reconcile(ctx context.Context) {
	o.reset()
	result, err := o.control.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.job)})
	o.again = nil
	switch {
	case err != nil:
		o.mu.Lock()
		o.failures = append(o.failures, err.Error())
		o.mu.Unlock()
		o.again = time.After(50 * time.Millisecond)
	case result.RequeueAfter > 0:
		o.again = time.After(result.RequeueAfter)
	}
}

// current is the job as it is now, or nil if it is gone.
func (o *operator) current() client.Object {
	o.t.Helper()
	job := o.job.DeepCopyObject().(client.Object)
	if err := o.api.Get(context.Background(), client.ObjectKeyFromObject(o.job), job); err != nil {
		o.written(err)
		return nil
	}
	return job
}

// is reports whether the condition is true now.
func (o *operator) is(condition kubeflow.JobConditionType) bool {
	job := o.current()
	return job != nil && slices.ContainsFunc(statusOf(job).Conditions, func(c kubeflow.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// becomes waits for a condition of the job.
func (o *operator) becomes(condition kubeflow.JobConditionType) {
	o.t.Helper()
	o.until("a job that is "+string(condition), func() bool { return o.is(condition) })
}

// ever reports whether the condition was ever true.
func (o *operator) ever(condition kubeflow.JobConditionType) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.history, func(now string) bool { return slices.Contains(strings.Fields(now), string(condition)) })
}

// never ends the test if the condition was ever true.
func (o *operator) never(condition kubeflow.JobConditionType) {
	o.t.Helper()
	if o.ever(condition) {
		o.t.Errorf("the job was %s", condition)
	}
}

// failed reports whether the reconciler has ever failed with that text.
func (o *operator) failed(text string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := 0
	for _, f := range o.failures {
		if strings.Contains(f, text) {
			count++
		}
	}
	return count
}

// change changes the job as a person does, whatever else changes it at the time.
func (o *operator) change(edit func(job client.Object)) {
	o.t.Helper()
	for {
		job := o.current()
		edit(job)
		if err := o.api.Update(context.Background(), job); err == nil {
			return
		} else if !errors.IsConflict(err) {
			o.t.Fatal(err)
		}
	}
}

// report writes a status that somebody else than the operator knows, whatever else changes at the time.
func (o *operator) report(edit func() client.Object) {
	o.t.Helper()
	for {
		if err := o.api.Status().Update(context.Background(), edit()); err == nil {
			return
		} else if !errors.IsConflict(err) {
			o.t.Fatal(err)
		}
	}
}

// until waits for something.
func (o *operator) until(what string, ok func() bool) {
	o.t.Helper()
	harness.Eventually(o.t, limit, what, ok)
}
