// Package systemd_test runs the unit of examples/systemd under a real systemd, which is the first process of a container
// of its own. Only root can run these tests.
package systemd_test

import (
	"os"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	code := m.Run()
	shared.stop()
	os.Exit(code)
}
