package termlog

import (
	"fmt"
	"os"
	"testing"
)

const childVar = "TERMLOG_TEST_CHILD"

// TestMain lets the test binary be the program under test as well: one that is killed, has another standard output or
// lives in another mount namespace.
func TestMain(m *testing.M) {
	if os.Getenv(childVar) == "" {
		os.Exit(m.Run())
	}
	roles := map[string]func(path string) error{
		"stdout":   writeAround,
		"terminal": writeTerminal,
		"limited":  writeLimited,
		"loop":     writeForEver,
		"mounts":   writeOnMounts,
	}
	if err := roles[os.Args[1]](os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
