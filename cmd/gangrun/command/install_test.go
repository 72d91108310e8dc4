package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestInstall leaves the running program in the directory, whole and executable, and nothing else.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	path, err := install(dir)
	if err != nil || path != filepath.Join(dir, "gangrun") {
		t.Fatalf("%q, %v", path, err)
	}
	installed(t, dir)
}

// TestInstallOverRunning replaces a gangrun that runs, which may not be written to, and which runs on.
func TestInstallOverRunning(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "gangrun")
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, program, 0o755); err != nil {
		t.Fatal(err)
	}
	running := exec.Command(old)
	stdin, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	running.Stdout = &out
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := install(dir); err != nil {
		t.Error(err)
	}
	installed(t, dir)
	_, _ = stdin.Write([]byte("still there"))
	stdin.Close()
	if err := running.Wait(); err != nil || out.String() != "still there" {
		t.Errorf("what ran: %v, %q", err, out.String())
	}
}

// installed ends the test unless the directory has this very program in it, and only that.
func installed(t *testing.T, dir string) {
	t.Helper()
	want, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 1 || found[0].Name() != "gangrun" {
		t.Fatalf("%v, %v", found, err)
	}
	path := filepath.Join(dir, "gangrun")
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, or others: %v", len(got), len(want), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestInstallRefused leaves everything as it was, and says that it is the user's to put right.
func TestInstallRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "gangrun"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{
		"no directory named":     nil,
		"two directories":        {dir, dir},
		"a flag":                 {"--force", dir},
		"not there":              {filepath.Join(dir, "volume")},
		"a file":                 {file},
		"nothing can be made":    {"/proc/self"},
		"gangrun is a directory": {taken},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			want := exitcodes.CodeBadConfig
			if name == "not there" {
				want = codeNoInput
			}
			for _, command := range []string{"install", "install-torchrun"} {
				if command != "install" && name == "gangrun is a directory" { // where that makes another name
					continue
				}
				if code := Run(append([]string{"gangrun", command}, args...)); code != want {
					t.Errorf("%s: exit code %d, want %d", command, code, want)
				}
			}
		})
	}
	if found, _ := os.ReadDir(dir); len(found) != 2 {
		t.Errorf("%v", found)
	}
	if found, _ := os.ReadDir(taken); len(found) != 1 {
		t.Errorf("%v", found)
	}
}

// TestNotWritten names the directory and what helps, where it is the directory's fault, and never a temporary name.
func TestNotWritten(t *testing.T) {
	const advice = "the directory /bin cannot be written: "
	for cause, want := range map[error]string{
		unix.EACCES: advice + "permission denied; do this as", unix.EROFS: advice + "read-only file system; do this as",
		unix.ENOSPC: "/bin/gangrun: no space left on device",
	} {
		for _, err := range []error{&os.PathError{Op: "open", Path: "/bin/.tmp-1", Err: cause}, &os.LinkError{Op: "rename", Old: "/bin/.tmp-1", New: "x", Err: cause}} {
			if got := notWritten("/bin/gangrun", err).Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "tmp") {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
	if err := notWritten("/bin/gangrun", nil); err != nil {
		t.Error(err)
	}
}

// TestInstallTorchrunFlag is a mistake in the command line, not in gangrun.
func TestInstallTorchrunFlag(t *testing.T) {
	if code := Run([]string{"gangrun", "install-torchrun", "--force", t.TempDir()}); code != exitcodes.CodeBadConfig {
		t.Errorf("exit code %d", code)
	}
}
