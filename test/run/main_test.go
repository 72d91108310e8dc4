package run_test

import (
	"os"
	"testing"

	"github.com/gangrun/gangrun/test/harness/etcdserver"
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	os.Exit(m.Run())
}
