package trainingoperator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/gangrun/gangrun/test/harness/puppet"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
)

// workers are the training processes in the pods. They tell the test where they stand and do what it says.
type workers = puppet.Stage[worker, *worker]

// worker is one training process: testdata/worker.py.
type worker struct {
	puppet.Puppet
	Env  map[string]string
	Args []string
}

// listen waits for workers until the test ends.
func listen(t *testing.T) *workers {
	t.Helper()
	w := puppet.Open(t, func(*worker) {})
	script, err := os.ReadFile(filepath.Join("testdata", "worker.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Dir, "worker"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// pod is the name of the worker's pod.
func (w *worker) pod() string { return w.Env["HOSTNAME"] }

// round waits until that many workers live in the round, and returns them in the order of their pods' names.
func (o *operator) round(number, count int) (list []*worker) {
	o.t.Helper()
	o.until(fmt.Sprintf("%d workers of round %d", count, number), func() bool {
		if o.is(kubeflow.JobFailed) {
			o.t.Fatal("the job has failed")
		}
		list = o.living(number)
		return len(list) == count
	})
	return list
}

// living are the workers of the round that live, in the order of their pods' names.
func (o *operator) living(round int) (list []*worker) {
	all, _ := o.workers.Look()
	for _, one := range all {
		if one.Env["GANGRUN_ROUND"] == strconv.Itoa(round) && !one.Gone() {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *worker) int {
		switch {
		case a.pod() < b.pod():
			return -1
		case a.pod() > b.pod():
			return 1
		}
		return 0
	})
	return list
}

// of is the worker in that pod.
func (o *operator) of(list []*worker, pod string) *worker {
	o.t.Helper()
	i := slices.IndexFunc(list, func(w *worker) bool { return w.pod() == pod })
	if i < 0 {
		o.t.Fatalf("no worker in pod %s", pod)
	}
	return list[i]
}

// started is how many workers there have been.
func (o *operator) started() int {
	all, _ := o.workers.Look()
	return len(all)
}

// finish lets all workers succeed.
func finish(list []*worker) {
	for _, w := range list {
		w.Do("exit 0")
	}
}

// newestWorker is the worker that has come last.
func (o *operator) newestWorker() *worker {
	all, _ := o.workers.Look()
	return all[len(all)-1]
}
