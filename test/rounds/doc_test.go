// Package rounds_test runs jobs of several nodes: several gangruns on this machine, with an etcd or a store of their
// own, whose workers fail, whose nodes are killed, stopped and cut off. Whatever happens, workers of two rounds never
// run at once, and all nodes end alike.
package rounds_test

import (
	"os"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

// limit is many times what a gangrun here takes on an idle machine.
const limit = 100 * time.Second

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	harness.Parallel(16) // most of the time these tests wait for a fence or a lease
	code := m.Run()
	shared.end()
	os.Exit(code)
}
