package kubernetes_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/v1/pod"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// recipe decodes the piece of YAML in docs/kubernetes.md in which a word stands.
func recipe(t *testing.T, word string, into any) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		if bytes.Contains(block[1], []byte(word)) {
			if err := yaml.UnmarshalStrict(block[1], into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("docs/kubernetes.md has no piece of YAML with %q", word)
}

// TestPatternsOfTheJobSets tell the codes apart in the message that the Job controller writes.
func TestPatternsOfTheJobSets(t *testing.T) {
	var recipes []jobset.FailurePolicyRule
	recipe(t, "FailJobSet", &recipes)
	policies := map[string]*jobset.FailurePolicy{
		"the page":      {Rules: append(recipes, jobset.FailurePolicyRule{Action: jobset.RestartJobSet})},
		"jobset.yaml":   find[*jobset.JobSet](t, example(t, "jobset.yaml")).Spec.FailurePolicy,
		"trainjob.yaml": find[*trainer.ClusterTrainingRuntime](t, example(t, "trainjob.yaml")).Spec.Template.Spec.FailurePolicy,
	}
	for name, policy := range policies {
		for code := 1; code < 256; code++ {
			message := fmt.Sprintf("Container c for pod ns/p-137-x failed with exit code %d matching FailJob rule at index 3", code)
			i := slices.IndexFunc(policy.Rules, func(r jobset.FailurePolicyRule) bool {
				return len(r.OnJobFailureMessagePatterns) == 0 || regexp.MustCompile(r.OnJobFailureMessagePatterns[0]).MatchString(message)
			})
			want := jobset.RestartJobSet
			switch {
			case code < 128:
				want = jobset.FailJobSet
			case code == 211 && name != "the page":
				want = jobset.RestartJobSetAndIgnoreMaxRestarts
			}
			if got := policy.Rules[i].Action; got != want {
				t.Errorf("%s: %d: %s, not %s", name, code, got, want)
			}
		}
	}
}

// TestCodesOfTheJob are listed as their verdicts are.
func TestCodesOfTheJob(t *testing.T) {
	rules := find[*batchv1.Job](t, example(t, "job.yaml")).Spec.PodFailurePolicy.Rules
	for code := int32(1); code < 256; code++ {
		i := slices.IndexFunc(rules, func(r batchv1.PodFailurePolicyRule) bool {
			return r.OnExitCodes != nil && slices.Contains(r.OnExitCodes.Values, code)
		})
		var got batchv1.PodFailurePolicyAction
		if i >= 0 {
			got = rules[i].Action
		}
		var want batchv1.PodFailurePolicyAction
		switch {
		case code < 128:
			want = batchv1.PodFailurePolicyActionFailJob
		case code == 130 || code == 143:
			want = batchv1.PodFailurePolicyActionIgnore
		}
		if got != want {
			t.Errorf("%d: %q, not %q", code, got, want)
		}
	}
}

// TestRulesOfTheContainer asks the kubelet's own function.
func TestRulesOfTheContainer(t *testing.T) {
	c := corev1.Container{}
	recipe(t, "restartPolicyRules", &c)
	for code := range int32(256) {
		want := code == 137 || code == 143 || code == 213
		if got := pod.ContainerShouldRestart(c, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}, code); got != want {
			t.Errorf("%d: %v", code, got)
		}
	}
}

// inPlace is job.yaml with the recipe for restarts of a container in its pod.
func inPlace(t *testing.T) (kind, []client.Object) {
	t.Helper()
	k := kinds[0]
	objects := k.objects(t)
	c := k.container(t, objects)
	recipe(t, "restartPolicyRules", c)
	setting(c, "ON_EXHAUSTED", "fatal")
	k.fenceIsShort(t, objects)
	return k, objects
}

// TestContainerIsRestartedInItsPod kills gangrun itself: its container is started again in the pod, and joins the others.
func TestContainerIsRestartedInItsPod(t *testing.T) {
	t.Parallel()
	k, objects := inPlace(t)
	r := try(t, objects)
	r.killGangrun("2")
	if c := k.ended(r, objects); !c.succeeded {
		t.Errorf("%+v", c)
	}
	job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil })
	if job.Status.Failed != 0 {
		t.Errorf("%+v", job.Status)
	}
	for _, e := range r.want(4, 0, exitcodes.Success, "Succeeded") {
		if e.Restarts.Used > 1 {
			t.Errorf("%s: %s", e.pod, e.text)
		}
	}
	s := r.awaitPod("2", 0).last.ContainerStatuses[0]
	if s.RestartCount != 1 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != 137 {
		t.Errorf("%+v", s)
	}
	r.wantResumed(10)
}

// TestFatalIsNotRestartedInItsPod fails with a code that is not in the rules.
func TestFatalIsNotRestartedInItsPod(t *testing.T) {
	t.Parallel()
	k, objects := inPlace(t)
	r := try(t, objects, "--die-at=15", "--die-rank=2", "--how=exit:3")
	if c := k.ended(r, objects); c != (conclusion{false, "PodFailurePolicy"}) {
		t.Errorf("%+v", c)
	}
	r.want(4, 3, exitcodes.Fatal, "Error")
	for _, p := range r.seen() {
		if n := p.last.ContainerStatuses[0].RestartCount; n != 0 {
			t.Errorf("%s was restarted %d times", p.api.Name, n)
		}
	}
}

// TestPodIsReplaced kills gangrun itself where no container is restarted in its pod: the pod alone is replaced.
func TestPodIsReplaced(t *testing.T) {
	t.Parallel()
	k := kinds[1]
	objects := k.objects(t)
	k.fenceIsShort(t, objects)
	r := try(t, objects)
	r.killGangrun("2")
	if c := k.ended(r, objects); !c.succeeded {
		t.Errorf("%+v", c)
	}
	job := r.innerJob(k, "the Job is over", func(j *batchv1.Job) bool { return jobEnd(j) != nil })
	if job.Status.Failed != 1 {
		t.Errorf("%+v", job.Status)
	}
	if n := r.set().Status.Restarts; n != 0 {
		t.Errorf("%d restarts of the JobSet", n)
	}
	if ends := r.ends(); len(ends) != 5 {
		t.Errorf("%d pods came", len(ends))
	}
	r.wantResumed(10)
}

// killGangrun kills the first process of a pod's container in step 15.
func (r *trial) killGangrun(index string) {
	r.t.Helper()
	r.hold(15)
	r.awaitPod(index, 0).await("holding in step 15")
	killed := 0
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range processes {
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(environ, []byte(r.mark()+"\x00")) || !bytes.Contains(environ, []byte("JOB_COMPLETION_INDEX="+index+"\x00")) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err != nil || !regexp.MustCompile(`(?m)^NSpid:.*\t1$`).Match(status) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			r.t.Fatal(err)
		}
		if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
			killed++
		}
	}
	if killed != 1 {
		r.t.Fatalf("%d processes were killed", killed)
	}
	r.release(15)
}

// TestDefaultRuntime is what becomes of a fatal failure in the runtime that comes with Trainer: nothing, for ever.
func TestDefaultRuntime(t *testing.T) {
	t.Parallel()
	_, dir, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := readObjects(dir + "/manifests/base/runtimes/torch_distributed.yaml")
	if err != nil || len(raw) != 1 {
		t.Fatalf("%v, %v", raw, err)
	}
	job := find[*trainer.TrainJob](t, example(t, "trainjob.yaml"))
	job.Spec.RuntimeRef.Name = "torch-distributed"
	address := find[*trainer.ClusterTrainingRuntime](t, example(t, "trainjob.yaml")).Spec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Env
	job.Spec.Trainer.Env = slices.DeleteFunc(address, func(v corev1.EnvVar) bool { return v.Name != "GANGRUN_NODE_ADDRESS" })
	r := try(t, []client.Object{raw[0], job}, "--die-at=15", "--die-rank=2", "--how=exit:3")
	await(r, &corev1.Pod{ObjectMeta: named(r.namespace, r.awaitPod("1", 0).api.Name)}, &corev1.PodList{}, "the container is restarted twice", func(p *corev1.Pod) bool {
		if len(p.Status.ContainerStatuses) == 0 {
			return false
		}
		s := p.Status.ContainerStatuses[0]
		if s.RestartCount < 2 {
			return false
		}
		if m, err := exitcodes.ParseMessage([]byte(s.LastTerminationState.Terminated.Message)); err != nil || m.ExitCode != 3 || m.RootCause.Node != "llm-node-0-2" {
			t.Errorf("%+v, %v", m, err)
		}
		return true
	})
	var now trainer.TrainJob
	if err := r.plane.Get(t.Context(), client.ObjectKeyFromObject(job), &now); err != nil {
		t.Fatal(err)
	}
	if isTrue(now.Status.Conditions, "Complete", "Failed") != nil {
		t.Errorf("%+v", now.Status)
	}
	if len(r.seen()) != 4 {
		t.Errorf("%d pods came", len(r.seen()))
	}
}

// TestRefusals are the mistakes that the API refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	p := shared.get(t)
	namespace := p.namespace(t)
	rules := func(objects []client.Object) []batchv1.PodFailurePolicyRule {
		return find[*batchv1.Job](t, objects).Spec.PodFailurePolicy.Rules
	}
	for _, test := range []struct {
		name, file string
		change     func([]client.Object)
		complaint  string // empty for none
	}{
		{"a Job as it is", "job.yaml", func([]client.Object) {}, ""},
		{"a JobSet as it is", "jobset.yaml", func([]client.Object) {}, ""},
		{"a TrainJob as it is", "trainjob.yaml", func([]client.Object) {}, ""},
		{"a short list of codes", "job.yaml", func(o []client.Object) {
			var short []batchv1.PodFailurePolicyRule
			recipe(t, "NotIn", &short)
			find[*batchv1.Job](t, o).Spec.PodFailurePolicy.Rules = append(rules(o)[:2], short...)
		}, ""},
		{"a container's own rules", "job.yaml", func(o []client.Object) { recipe(t, "restartPolicyRules", kinds[0].container(t, o)) }, ""},
		{"rules without the container's policy", "job.yaml", func(o []client.Object) {
			recipe(t, "restartPolicyRules", kinds[0].container(t, o))
			kinds[0].container(t, o).RestartPolicy = nil
		}, "restartPolicy"},
		{"OnFailure", "job.yaml", func(o []client.Object) {
			find[*batchv1.Job](t, o).Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}, `only "Never" is supported`},
		{"codes out of order", "job.yaml", func(o []client.Object) { rules(o)[1].OnExitCodes.Values = []int32{143, 130} }, "must be ordered"},
		{"0 in a list", "job.yaml", func(o []client.Object) { rules(o)[1].OnExitCodes.Values = []int32{0, 143} }, "must not be 0 for the In operator"},
		{"another container", "job.yaml", func(o []client.Object) { *rules(o)[1].OnExitCodes.ContainerName = "pytorch" }, "must be one of the container"},
		{"a name that is no rule's", "jobset.yaml", func(o []client.Object) {
			find[*jobset.JobSet](t, o).Spec.FailurePolicy.Rules[0].Name = "1st"
		}, "name"},
		{"one of Trainer's variables", "trainjob.yaml", func(o []client.Object) {
			find[*trainer.TrainJob](t, o).Spec.Trainer.Env = []corev1.EnvVar{{Name: "PET_NNODES", Value: "4"}}
		}, "must not have reserved envs"},
		{"no such runtime", "trainjob.yaml", func(o []client.Object) {
			find[*trainer.TrainJob](t, o).Spec.RuntimeRef.Name = "torch"
		}, "not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := example(t, test.file)
			apart(objects, "refusals")
			test.change(objects)
			var errs []string
			for _, o := range objects {
				if _, is := o.(*trainer.ClusterTrainingRuntime); is { // the TrainJob has to find it
					p.runtime(t, o)
					continue
				}
				o.SetNamespace(namespace)
				if err := p.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
					errs = append(errs, err.Error())
				}
			}
			all := strings.Join(errs, "\n")
			if (all == "") != (test.complaint == "") || !strings.Contains(all, test.complaint) {
				t.Errorf("%q, not %q", all, test.complaint)
			}
		})
	}
}

// TestUnknownFields has no unknown field for the API server either, in the files as they are.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	p := shared.get(t)
	namespace := p.namespace(t)
	for _, k := range kinds {
		objects, err := readObjects(filepath.Join(harness.Root(), "examples", "kubernetes", k.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.GetKind() != "ClusterTrainingRuntime" {
				o.SetNamespace(namespace)
			} else {
				o.SetName(o.GetName() + "-dry")
			}
			if o.GetKind() == "TrainJob" {
				continue // its runtime is not there
			}
			if err := p.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", k.file, err)
			}
		}
	}
}
