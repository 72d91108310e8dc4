package trainingoperator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// TestStoreOutlivesThePods is a job with an etcd of its own, which knows more than any pod: nobody has to wait for the
// fence time when the master is lost, nor when all pods were gone. Another job of the same name is another run.
func TestStoreOutlivesThePods(t *testing.T) {
	t.Parallel()
	o := prepare(t)
	etcd := etcdserver.StartFor(t, o.cluster.Host(), 1, nil)
	job := pytorchJob(1, kubeflow.RestartPolicyExitCode, "--store", strings.Join(etcd.Endpoints(), ","), "--fence-timeout", "1m")
	o.run(job.DeepCopy())
	o.round(0, 2)
	quickly := func(what string, count int, do func()) []*worker {
		t.Helper()
		began := time.Now()
		do()
		list := o.round(count, 2)
		if took := time.Since(began); took > 50*time.Second {
			t.Errorf("%s took %v", what, took)
		}
		return list
	}
	quickly("the loss of the master", 1, func() { o.lose(o.newest("bert-master-0")) })
	before := o.all()
	o.suspend(true)
	for _, p := range before {
		o.until("the end of "+p.name, func() bool { return o.object(p) == nil })
	}
	finish(quickly("the return of the suspended job", 2, func() { o.suspend(false) }))
	o.becomes(kubeflow.JobSucceeded)
	if err := o.api.Delete(context.Background(), o.current()); err != nil {
		t.Fatal(err)
	}
	for _, p := range o.all() {
		o.until("the end of "+p.name, func() bool { return o.object(p) == nil })
	}
	last := len(o.all())
	again := job.DeepCopy()
	again.Namespace = namespace
	if err := o.api.Create(context.Background(), again); err != nil {
		t.Fatal(err)
	}
	finish(o.round(3, 2))
	o.becomes(kubeflow.JobSucceeded)
	for _, e := range o.ends()[last-1:] { // the lost one is not among the ends
		o.want(e, 0, exitcodes.Success, "Succeeded")
		if e.Restarts.Used != 0 {
			t.Errorf("%s: restarts %+v of another run", e.name, *e.Restarts)
		}
	}
	o.never(kubeflow.JobFailed)
}
