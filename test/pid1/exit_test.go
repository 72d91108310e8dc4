package pid1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// TestExitCodes passes every exit code through. PID 1 does so in the same way, so a part of them will do there.
func TestExitCodes(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		for code := range 256 {
			if m == asPID1 && code%5 > 0 || harness.Brief() && code%20 > 0 {
				continue
			}
			launch{mode: m, worker: sh(fmt.Sprint("exit ", code))}.start(t).exits(code)
		}
	})
}

// TestDeathBySignal reports 128+n for each signal that can end a process, whether or not gangrun could have been sent
// it. 32 and 33 are the C library's own: a parent that uses threads may have left them ignored.
func TestDeathBySignal(t *testing.T) {
	harmless := map[syscall.Signal]bool{
		syscall.SIGCHLD: true, syscall.SIGCONT: true, syscall.SIGSTOP: true, syscall.SIGTSTP: true,
		syscall.SIGTTIN: true, syscall.SIGTTOU: true, syscall.SIGURG: true, syscall.SIGWINCH: true,
		32: true, 33: true,
	}
	inBothModes(t, func(t *testing.T, m mode) {
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			if harmless[sig] {
				continue
			}
			launch{mode: m, worker: sh(fmt.Sprintf("ulimit -c 0; kill -%d $$", sig))}.start(t).exits(128 + int(sig))
		}
	})
}

// TestCannotStart is the exec that fails: 127 for what is not there, 126 for what is there and cannot be run, no
// restart, and a message that names the file at fault. A script without "#!" is the shell's, as execvp has it.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, perm os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), perm); err != nil {
			t.Fatal(err)
		}
		return path
	}
	noShebang := file("bin/no-shebang", "echo told $0 $1 >&3\nexit $1\n", 0o755)
	file("shadow/no-shebang", "exit 99\n", 0o644)
	corrupt := file("corrupt", "\x7fELF\x02\x01\x01\x00nothing of use\x00\x01", 0o755)
	plain := file("plain", "#!/bin/sh\nexit 0\n", 0o644)
	noInterpreter := file("no-interpreter", "#!/opt/no/such/interpreter -x\nexit 0\n", 0o755)
	empty := file("empty", "", 0o755)
	tests := []struct {
		name   string
		worker []string
		code   int
		reason string
		says   string // on standard error
	}{
		{"missing path", []string{"/no/such/program", "arg"}, 127, "NotFound", "/no/such/program"},
		{"missing name", []string{"no-such-program"}, 127, "NotFound", "no-such-program"},
		{"missing interpreter", []string{noInterpreter}, 127, "NotFound", "/opt/no/such/interpreter"},
		{"not executable", []string{plain}, 126, "NotExecutable", plain},
		{"a directory", []string{dir}, 126, "NotExecutable", dir},
		{"corrupt ELF", []string{corrupt}, 126, "NotExecutable", corrupt},
		{"no shebang", []string{noShebang, "7"}, 7, "Error", ""},
		{"no shebang on PATH", []string{"no-shebang", "8"}, 8, "Error", ""},
		{"empty", []string{empty}, 126, "NotExecutable", empty}, // a shell would call it a success
	}
	path := "PATH=" + filepath.Join(dir, "shadow") + ":" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{mode: m, worker: tt.worker, restarts: true, env: []string{path}}.start(t)
				j.exits(tt.code)
				if tt.says == "" {
					j.expect(fmt.Sprint("told ", noShebang, " ", tt.code))
				} else if !strings.Contains(j.errors(), tt.says) {
					t.Errorf("stderr does not name %s", tt.says)
				}
				if msg := j.message(); msg.Reason != tt.reason || msg.ExitCode != tt.code {
					t.Errorf("message says %s, exit code %d", msg.Reason, msg.ExitCode)
				}
			})
		})
	}
}

// TestRelativeCommands finds a command as execvp does: by its path from the working directory, which is the worker's
// and not the one that gangrun has moved to, and in the current directory where PATH says so.
func TestRelativeCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\nexit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ command, path string }{
		{"./here", os.Getenv("PATH")},
		{"here", ".:" + os.Getenv("PATH")},
		{"here", ":" + os.Getenv("PATH")},
	}
	for _, tt := range tests {
		launch{mode: asChild, dir: dir, env: []string{"PATH=" + tt.path}, worker: []string{tt.command}}.start(t).exits(9)
	}
}

// TestVerdicts checks that the termination message agrees with the exit code.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script  string
		code    int
		verdict exitcodes.Verdict
		signal  string
	}{
		{"exit 0", 0, exitcodes.Success, ""},
		{"exit 3", 3, exitcodes.Fatal, ""},
		{"exit 200", 200, exitcodes.Retry, ""},
		{"kill -KILL $$", 137, exitcodes.Retry, "SIGKILL"},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				j := launch{mode: m, worker: sh(tt.script)}.start(t)
				j.exits(tt.code)
				j.gone()
				msg := j.message()
				if msg.Verdict != tt.verdict || msg.ExitCode != tt.code || msg.Signal != tt.signal {
					t.Errorf("message says %s, exit code %d, signal %q", msg.Verdict, msg.ExitCode, msg.Signal)
				}
			})
		})
	}
}
