// Package rounds_test runs jobs of several nodes: several gangruns on this machine, with an etcd or a store of their
// own, whose workers fail, whose nodes are killed, stopped and cut off. Whatever happens, workers of two rounds never
// run at once, and all nodes end alike.
package rounds_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// limit is many times what a gangrun here takes on an idle machine.
const limit = 100 * time.Second

func TestMain(m *testing.M) {
	if spec := os.Getenv(serveVariable); spec != "" {
		if err := serve(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Where an operator's variables are set, what is tested would think itself in its job.
	for _, name := range []string{"TF_CONFIG", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "PET_NNODES"} {
		os.Unsetenv(name)
	}
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = flag.Set("test.parallel", "16") // most of the time these tests wait for a fence or a lease
	}
	code := m.Run()
	shared.end()
	os.Exit(code)
}
