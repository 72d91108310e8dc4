// Package compose_test reads the files of examples/compose as compose itself does, and runs their services in containers
// with networks of their own, by package kubelet. Stand-ins are the image, the trainer and its launcher, the GPUs, and
// the etcd service, which is an etcd of the tests.
//
// It is a module of its own, so that gangrun's stays free of compose.
package compose_test

import (
	"os"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// limit is far more than any of the jobs takes.
const limit = 2 * time.Minute

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	harness.Parallel(4) // most of the time these tests wait
	os.Exit(m.Run())
}
