// Package trainingoperator_test runs jobs of Kubeflow's Training Operator v1: its own reconcilers decide, over an API that
// is in memory, and the pods that they make are run, with gangrun in them as it is shipped.
//
// What is not real: the API server (controller-runtime's fake client), the watch (a reconcile after every change), and the
// operator's init container, which waits until the master's name resolves: the test waits for that in its place. A module
// of its own keeps Kubernetes out of gangrun's.
package trainingoperator_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// limit is many times what anything here takes on an idle machine.
const limit = 2 * time.Minute

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	logrus.SetOutput(io.Discard)
	log.SetLogger(logr.Discard())
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	harness.Parallel(6) // most of the time these jobs wait for each other
	os.Exit(m.Run())
}
