// Package kubernetes_test runs the jobs of examples/kubernetes as a cluster does. The programs that make and judge the pods
// are the real ones: kube-apiserver, kube-controller-manager, JobSet's and Kubeflow Trainer's, with their webhooks, built
// from their modules. The pods are run by package kubelet. Stand-ins are the image, the trainer and its launcher.
//
// It is a module of its own, so that gangrun's stays free of Kubernetes. Building the programs takes some minutes the first
// time, and is best done before the tests: go tool -n kube-apiserver, and so on for those that go.mod names.
package kubernetes_test

import (
	"os"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	harness.Parallel(8) // most of the time these tests wait for controllers
	code := m.Run()
	shared.end()
	os.Exit(code)
}
