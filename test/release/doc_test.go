// Package release_test makes a release, as make release does, and uses each artefact as a person would: pip in a clean
// environment, dpkg and rpm in a clean root, the program for another processor in an emulator.
package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// version is what the release is called: a version that this checkout does not have, so that each artefact shows that
// it was told.
const version = "v0.9.8-rc.7"

// packaged is the same in the names of the files.
const packaged = "0.9.8rc7"

var made = struct {
	once sync.Once
	dir  string
	err  string
}{}

// dist is the directory of the release, which is made once.
func dist(t *testing.T) string {
	t.Helper()
	if testing.Short() && os.Getenv("CI") == "" {
		harness.Missing(t, "two minutes to make a release", "make test-long")
	}
	made.once.Do(func() {
		dir, err := os.MkdirTemp("", "gangrun-dist-")
		if err != nil {
			made.err = err.Error()
			return
		}
		made.dir = dir
		made.err = release(harness.Root(), dir)
	})
	if made.err != "" {
		t.Fatal(made.err)
	}
	return made.dir
}

// release makes the release of a checkout; what went wrong, or "".
func release(checkout, dir string) string {
	cmd := exec.Command("go", "run", "./packaging/release", "-version", version, "-out", dir)
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		return err.Error() + "\n" + string(out)
	}
	return ""
}

func TestMain(m *testing.M) {
	code := m.Run()
	if made.dir != "" {
		os.RemoveAll(made.dir)
	}
	os.Exit(code)
}

// file is the one artefact whose name fits.
func file(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// do runs a command that has to succeed and returns what it has printed.
func do(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// works uses an installed gangrun: it says its version, runs something, knows why it died, and explains.
func works(t *testing.T, prefix []string, succeeds, fails []string) {
	t.Helper()
	argv := func(args ...string) []string { return append(prefix[:len(prefix):len(prefix)], args...) }
	if got := do(t, argv("version")...); got != "gangrun version "+version+"\n" {
		t.Errorf("%q", got)
	}
	do(t, argv(append([]string{"run", "--"}, succeeds...)...)...)
	failing := argv(append([]string{"run", "--"}, fails...)...)
	out, err := exec.Command(failing[0], failing[1:]...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not restarted: ") {
		t.Errorf("%q: %v\n%s", fails, err, out)
	}
	if got := do(t, argv("explain", "OOMKilled")...); !strings.Contains(got, "what to do: ") {
		t.Errorf("%q", got)
	}
}
