// Package checkpoint_test proves on the real libraries that gangrun never takes a torn checkpoint for a whole one:
// each saves in a loop and is killed somewhere in a save, 200 times and more in all. What gangrun then calls whole, the
// library has to load, with every tensor of one and the same save; and what was finished before the kill, gangrun has
// to call whole. The libraries run in testdata/server.py.
//
// GANGRUN_TEST_SEED repeats the moments of an earlier run; GANGRUN_TEST_KILLS=10 kills ten times as often.
package checkpoint_test

import (
	"os"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// limit is many times what one request takes on an idle machine.
const limit = 5 * time.Minute

// parallel lets the test run beside one other: each library takes hundreds of megabytes.
var parallel = harness.Turns(2)

func TestMain(m *testing.M) {
	harness.ClearEnvironment()
	os.Exit(m.Run())
}
