package trainingoperator_test

import (
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestEvaluatorFails lets the evaluator of a job fail in ways that would fail the whole TFJob by themselves. The others
// train on, and so does it where that is of use.
func TestEvaluatorFails(t *testing.T) {
	for name, failure := range map[string]struct {
		do    string
		again bool
	}{"by a signal": {"kill 9", true}, "for good": {"exit 1", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(t, tfJob(map[kubeflow.ReplicaType]int32{
				kubeflow.TFJobReplicaTypeChief: 1, kubeflow.TFJobReplicaTypeWorker: 1, kubeflow.TFJobReplicaTypeEval: 1,
			}))
			first := o.round(0, 3)
			evaluator := o.of(first, "mnist-evaluator-0")
			evaluator.Do(failure.do)
			o.until("the evaluator's end", evaluator.Gone)
			if failure.again {
				o.until("the evaluator's return", func() bool { return len(o.living(0)) == 3 })
			}
			for _, pod := range []string{"mnist-chief-0", "mnist-worker-0"} {
				if o.of(first, pod).Gone() {
					t.Errorf("%s was stopped", pod)
				}
				o.of(first, pod).Do("exit 0")
			}
			o.succeeds()
		})
	}
}

// TestEvaluatorIsNeeded says of the evaluator that its failure is the job's.
func TestEvaluatorIsNeeded(t *testing.T) {
	t.Parallel()
	o := run(t, tfJob(map[kubeflow.ReplicaType]int32{kubeflow.TFJobReplicaTypeChief: 1, kubeflow.TFJobReplicaTypeEval: 1}, "--roles", "evaluator=never"))
	o.of(o.round(0, 2), "mnist-evaluator-0").Do("exit 3")
	o.becomes(kubeflow.JobFailed)
	for _, e := range o.ends() {
		o.want(e, 3, exitcodes.Fatal, "Error")
	}
}

// TestParameterServersNeverEnd is a job of parameter servers, which never end by themselves and nor do their workers. When
// the chief has succeeded gangrun stops them, and they exit with 0.
func TestParameterServersNeverEnd(t *testing.T) {
	t.Parallel()
	o := run(t, tfJob(map[kubeflow.ReplicaType]int32{
		kubeflow.TFJobReplicaTypeChief: 1, kubeflow.TFJobReplicaTypePS: 2, kubeflow.TFJobReplicaTypeWorker: 2,
	}))
	first := o.round(0, 5)
	lost := o.of(first, "mnist-worker-1")
	lost.Do("kill 9")
	o.until("the worker's end", lost.Gone)
	o.until("the worker's return", func() bool { return len(o.living(0)) == 5 })
	for _, w := range first {
		if w != lost && w.Gone() {
			t.Errorf("%s was stopped for a worker's sake", w.pod())
		}
	}
	o.of(first, "mnist-chief-0").Do("exit 0")
	o.succeeds()
}

// TestParameterServerFails: with a parameter server its variables are gone, so that all start again.
func TestParameterServerFails(t *testing.T) {
	t.Parallel()
	o := run(t, tfJob(map[kubeflow.ReplicaType]int32{
		kubeflow.TFJobReplicaTypeChief: 1, kubeflow.TFJobReplicaTypePS: 1, kubeflow.TFJobReplicaTypeWorker: 1,
	}))
	o.of(o.round(0, 3), "mnist-ps-0").Do("kill 9")
	second := o.round(1, 3)
	o.of(second, "mnist-chief-0").Do("exit 0")
	o.succeeds()
}

// TestWorkerOfManyFails kills a worker of MultiWorkerMirroredStrategy, whose peers cannot continue without it nor with
// another in its place: all start again. It is worker 0 by whose end the operator knows success.
func TestWorkerOfManyFails(t *testing.T) {
	t.Parallel()
	o := run(t, tfJob(map[kubeflow.ReplicaType]int32{kubeflow.TFJobReplicaTypeWorker: 3}))
	first := o.round(0, 3)
	first[2].Do("kill 9")
	second := o.round(1, 3)
	for i, w := range second {
		if !first[i].Gone() {
			t.Errorf("%s's worker of round 0 lives on", w.pod())
		}
		if w.Env["TF_CONFIG"] == "" || w.Env["TF_CONFIG"] != first[i].Env["TF_CONFIG"] {
			t.Errorf("%s: TF_CONFIG is %s, was %s", w.pod(), w.Env["TF_CONFIG"], first[i].Env["TF_CONFIG"])
		}
	}
	finish(second)
	o.succeeds()
}
