package trainingoperator_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	pytorchwebhook "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	tensorflowwebhook "github.com/kubeflow/training-operator/pkg/webhooks/tensorflow"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/kubelet"
)

// manifest reads an example into the operator's own type. A field that it does not know is an error.
func manifest[T client.Object](t *testing.T, name string, job T) T {
	t.Helper()
	if err := yaml.UnmarshalStrict(example(t, name), job, yaml.DisallowUnknownFields); err != nil {
		t.Fatal(err)
	}
	return job
}

func example(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), "examples", "kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestExamplesAreValid holds the manifests against the operator's custom resource definitions, as an API server does with
// field validation Strict, and against its webhooks.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	pytorchJob := func() client.Object { return &kubeflow.PyTorchJob{} }
	for name, kind := range map[string]struct {
		definition string
		empty      func() client.Object
	}{
		"pytorchjob.yaml":         {"kubeflow.org_pytorchjobs.yaml", pytorchJob},
		"pytorchjob-elastic.yaml": {"kubeflow.org_pytorchjobs.yaml", pytorchJob},
		"pytorchjob-etcd.yaml":    {"kubeflow.org_pytorchjobs.yaml", pytorchJob},
		"tfjob.yaml":              {"kubeflow.org_tfjobs.yaml", func() client.Object { return &kubeflow.TFJob{} }},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			if err := yaml.Unmarshal(example(t, name), &object); err != nil {
				t.Fatal(err)
			}
			for _, err := range violations(t, kind.definition, object) {
				t.Error(err)
			}
			job := manifest(t, name, kind.empty())
			scheme.Default(job)
			var err error
			switch job := job.(type) {
			case *kubeflow.PyTorchJob:
				_, err = (&pytorchwebhook.Webhook{}).ValidateCreate(t.Context(), job)
			case *kubeflow.TFJob:
				_, err = (&tensorflowwebhook.Webhook{}).ValidateCreate(t.Context(), job)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestInvalidJobIsFound shows that the schemas find mistakes.
func TestInvalidJobIsFound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(text string) string{
		"a wrong type":             func(s string) string { return strings.Replace(s, "replicas: 3", `replicas: "3"`, 1) },
		"a wrong value":            func(s string) string { return strings.Replace(s, "memory: 128Gi", "memory: much", 1) },
		"an unknown field":         func(s string) string { return strings.Replace(s, "cleanPodPolicy:", "cleanPodsPolicy:", 1) },
		"an unknown field, deeper": func(s string) string { return strings.Replace(s, "terminationGracePeriodSeconds", "gracePeriod", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			text := string(example(t, "pytorchjob.yaml"))
			if change(text) == text {
				t.Fatal("nothing was changed")
			}
			var object map[string]any
			if err := yaml.Unmarshal([]byte(change(text)), &object); err != nil {
				t.Fatal(err)
			}
			if len(violations(t, "kubeflow.org_pytorchjobs.yaml", object)) == 0 {
				t.Error("the mistake was not found")
			}
		})
	}
}

// violations is what an API server finds wrong with a new object by its custom resource definition, whose other rules are
// about changes.
func violations(t *testing.T, definition string, object map[string]any) (list []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/training-operator").Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "manifests", "base", "crds", definition))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range pruning.PruneWithOptions(object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		list = append(list, "unknown field "+field)
	}
	for _, err := range validation.ValidateCustomResource(nil, object, validator) {
		list = append(list, err.Error())
	}
	return list
}

// standIn puts the worker of these tests where the images of the examples have their launcher.
func (o *operator) standIn() *operator {
	for _, name := range []string{"torchrun", "python"} {
		o.mounts = append(o.mounts, kubelet.Mount{Host: filepath.Join(o.workers.Dir, "worker"), Path: "/usr/local/sbin/" + name, ReadOnly: true})
	}
	return o
}

// TestExamples runs the manifests as they are. What they need of an image is a stand-in: torchrun and python are the worker
// of these tests. The resources are not asked for, the volume claims are directories, and in the one with an etcd of
// its own the etcd's address is another one.
func TestExamples(t *testing.T) {
	training := []string{"/workspace/train.py", "--checkpoint-dir=/mnt/train/checkpoints"}
	succeed := func(t *testing.T, o *operator) {
		t.Helper()
		first := o.round(0, 4)
		for _, w := range first {
			if given := len(w.Args) - len(training); given < 1 || !slices.Equal(w.Args[given:], training) {
				t.Errorf("%s: %q, want %q at the end", w.pod(), w.Args, training)
			}
		}
		first[1].Do("kill 9")
		finish(o.round(1, 4))
		o.succeeds()
	}
	for _, name := range []string{"pytorchjob.yaml", "pytorchjob-elastic.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := prepare(t).standIn()
			o.run(manifest(t, name, &kubeflow.PyTorchJob{}))
			succeed(t, o)
		})
	}
	t.Run("pytorchjob-etcd.yaml", func(t *testing.T) {
		t.Parallel()
		o := prepare(t).standIn()
		etcd := etcdserver.StartFor(t, o.cluster.Host(), 1, nil)
		job := manifest(t, "pytorchjob-etcd.yaml", &kubeflow.PyTorchJob{})
		for _, spec := range job.Spec.PyTorchReplicaSpecs {
			command := spec.Template.Spec.Containers[0].Command
			i := slices.Index(command, "--store=http://etcd.storage.svc:2379")
			if i < 0 {
				t.Fatal("no etcd in ", command)
			}
			command[i] = "--store=" + strings.Join(etcd.Endpoints(), ",")
		}
		o.run(job)
		succeed(t, o)
	})
	t.Run("tfjob.yaml", func(t *testing.T) {
		t.Parallel()
		o := prepare(t).standIn()
		o.run(manifest(t, "tfjob.yaml", &kubeflow.TFJob{}))
		first := o.round(0, 6)
		for _, w := range first {
			if !slices.Equal(w.Args[1:], training) {
				t.Errorf("%s: %q", w.pod(), w.Args)
			}
		}
		o.of(first, "mnist-evaluator-0").Do("kill 9")
		o.of(first, "mnist-chief-0").Do("exit 0")
		o.succeeds()
	})
}

// TestExampleGraces compares what is said twice in the examples: the pod's grace period, and that which gangrun is told.
func TestExampleGraces(t *testing.T) {
	t.Parallel()
	pods := map[string]corev1.PodSpec{}
	for _, name := range []string{"pytorchjob.yaml", "pytorchjob-elastic.yaml", "pytorchjob-etcd.yaml"} {
		for kind, spec := range manifest(t, name, &kubeflow.PyTorchJob{}).Spec.PyTorchReplicaSpecs {
			pods[name+" "+string(kind)] = spec.Template.Spec
		}
	}
	for kind, spec := range manifest(t, "tfjob.yaml", &kubeflow.TFJob{}).Spec.TFReplicaSpecs {
		pods["tfjob.yaml "+string(kind)] = spec.Template.Spec
	}
	for name, pod := range pods {
		flag := fmt.Sprintf("--pod-grace=%ds", *pod.TerminationGracePeriodSeconds)
		if !slices.Contains(pod.Containers[0].Command, flag) {
			t.Errorf("%s: %q has no %s", name, pod.Containers[0].Command, flag)
		}
	}
}
