package process

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a/tool", "#!/bin/sh\n", 0o755)
	write(t, dir+"/b/tool", "#!/bin/sh\n", 0o755)
	write(t, dir+"/noexec/tool", "#!/bin/sh\n", 0o644)
	write(t, dir+"/here", "#!/bin/sh\n", 0o755)
	tests := []struct {
		name, command, path string
		want                string
		code                int
	}{
		{"the first directory wins", "tool", dir + "/a:" + dir + "/b", dir + "/a/tool", 0},
		{"one that cannot be executed is passed over", "tool", dir + "/noexec:" + dir + "/b", dir + "/b/tool", 0},
		{"only one that cannot be executed", "tool", dir + "/noexec", "", 126},
		{"a file for a directory", "tool", dir + "/here:" + dir + "/b", dir + "/b/tool", 0},
		{"only a file for a directory", "tool", dir + "/here", "", 127},
		{"nowhere", "tool", dir + "/none", "", 127},
		{"an empty element is the working directory", "here", "/nowhere:", "./here", 0},
		{"a name with a slash is itself", dir + "/a/tool", "", dir + "/a/tool", 0},
		{"relative to the working directory", "a/tool", "", "a/tool", 0},
		{"a directory", dir, "", "", 126},
		{"a file as a directory", dir + "/here/x", "", "", 126},
		{"an empty name", "", "/bin", "", 127},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Find(tt.command, dir, tt.path)
			code := 0
			if se := (*StartError)(nil); errors.As(err, &se) {
				code = se.Code
			}
			if got != tt.want && tt.code == 0 || code != tt.code {
				t.Errorf("got %q, %v (code %d); want %q, code %d", got, err, code, tt.want, tt.code)
			}
		})
	}
}

// TestNotFoundButHere: who types a script without python3 before it is told that it is there.
func TestNotFoundButHere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/train.py", "", 0o644)
	for name, want := range map[string]string{
		"train.py": "cannot start train.py: not found in PATH, but ./train.py is there",
		"nowhere":  "cannot start nowhere: not found in PATH",
		"..":       "cannot start ..: not found in PATH",
	} {
		if _, err := Find(name, dir, dir+"/none"); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Find("true", dir, ""); err == nil || err.Error() != "cannot start true: not found: PATH is not set, or empty" {
		t.Errorf("without a PATH: %v", err)
	}
}

// TestUnreadableDirectory: what is in a directory that cannot be searched is unknown, so a command is not found there, and
// the error names the directory. Root may search everything, so this looks with the rights of an ordinary user.
func TestUnreadableDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root is missing: run the tests as root")
	}
	dir := t.TempDir()
	write(t, dir+"/closed/tool", "#!/bin/sh\n", 0o755)
	write(t, dir+"/noexec/tool", "#!/bin/sh\n", 0o644)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir+"/closed", 0o700)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	_, closed := Find("tool", dir, dir+"/closed:/nowhere")
	_, noexec := Find("tool", dir, dir+"/closed:"+dir+"/noexec")
	if err := syscall.Setfsuid(0); err != nil {
		t.Fatal(err) // with the thread locked, so that it ends with the test
	}
	runtime.UnlockOSThread()
	missing, there := (*StartError)(nil), (*StartError)(nil)
	want := "cannot start tool: not found in PATH; cannot look into " + dir + "/closed: permission denied"
	if !errors.As(closed, &missing) || missing.Code != 127 || missing.Error() != want {
		t.Errorf("%v, want %q with 127", closed, want)
	}
	if !errors.As(noexec, &there) || there.Code != 126 || there.Path != dir+"/noexec/tool" {
		t.Errorf("%v, want 126 for the one that is there", noexec)
	}
}

// TestScripts: by whatever path a script is named, the shell runs one without "#!", and an interpreter that is missing is
// named.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/gone", "#!/no/such/python -u\n", 0o755)
	write(t, dir+"/windows", "#!/bin/sh\r\ntrue\r\n", 0o755)
	write(t, dir+"/plain", "exit 0\n", 0o755)
	for name, want := range map[string]string{
		"gone":    "its interpreter /no/such/python: ",
		"windows": "ends with a carriage return",
		"plain":   "",
	} {
		for _, path := range []string{dir + "/" + name, "./" + name} {
			pid, err := forkExec(Spec{Path: path, Argv: []string{path}, Dir: dir})
			if want == "" {
				if err != nil {
					t.Errorf("%s: %v", path, err)
					continue
				}
				var status syscall.WaitStatus
				if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status != 0 {
					t.Errorf("%s: %v, %v", path, status, err)
				}
				continue
			}
			se := (*StartError)(nil)
			if !errors.As(err, &se) || se.Code != 127 || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		}
	}
}
