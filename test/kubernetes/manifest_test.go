package kubernetes_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/gangrun/gangrun/test/harness"
)

// example reads one of the files of examples/kubernetes into its operators' own types. A field that they do not have ends
// the test.
func example(t *testing.T, name string) []client.Object {
	t.Helper()
	documents, err := split(filepath.Join(harness.Root(), "examples", "kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, document := range documents {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		o := map[string]client.Object{
			"v1/Service": &corev1.Service{}, "batch/v1/Job": &batchv1.Job{}, "jobset.x-k8s.io/v1alpha2/JobSet": &jobset.JobSet{},
			"trainer.kubeflow.org/v1alpha1/ClusterTrainingRuntime": &trainer.ClusterTrainingRuntime{},
			"trainer.kubeflow.org/v1alpha1/TrainJob":               &trainer.TrainJob{},
		}[kind.APIVersion+"/"+kind.Kind]
		if o == nil {
			t.Fatalf("%s: no type for %+v", name, kind)
		}
		if err := yaml.UnmarshalStrict(document, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		objects = append(objects, o)
	}
	return objects
}

// readObjects reads a file of any objects.
func readObjects(file string) ([]*unstructured.Unstructured, error) {
	documents, err := split(file)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			return nil, err
		}
		if o.Object != nil { // not a comment alone
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// split reads the documents of a file.
func split(file string) (documents [][]byte, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
}

// find is the one object of that type.
func find[T client.Object](t *testing.T, objects []client.Object) T {
	t.Helper()
	for _, o := range objects {
		if found, ok := o.(T); ok {
			return found
		}
	}
	var none T
	t.Fatalf("no %T", none)
	return none
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func sanitized(name string) string {
	return regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
}
