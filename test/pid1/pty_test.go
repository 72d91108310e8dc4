package pid1_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// terminal is a terminal that gangrun, or the shell from which it is started, leads a session on.
type terminal struct {
	*harness.Terminal
	t *testing.T
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	return &terminal{harness.OpenTerminal(t, limit), t}
}

// on puts gangrun on the terminal, as its session's leader.
func (tt *terminal) on(l launch) *job {
	tt.t.Helper()
	l.tty, l.stdin, l.stdout, l.stderr = true, tt.Program, tt.Program, tt.Program
	j := l.start(tt.t)
	tt.Program.Close()
	return j
}

// shellOn starts an interactive shell on the terminal, as a user has it, from which gangrun is then started by typing.
// What the shell starts has file descriptor 3 as well.
func (tt *terminal) shellOn() *job {
	tt.t.Helper()
	j := &job{t: tt.t, dir: tt.t.TempDir()}
	events, told, err := os.Pipe()
	if err != nil {
		tt.t.Fatal(err)
	}
	defer told.Close()
	j.listen(events)
	j.cmd = exec.Command("/bin/bash", "--norc", "-i")
	j.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "PS1=$ ", "TMPDIR=" + j.dir, harness.Mark(j.dir),
	}
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = tt.Program, tt.Program, tt.Program
	j.cmd.ExtraFiles = []*os.File{told}
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := j.cmd.Start(); err != nil {
		tt.t.Fatal(err)
	}
	tt.t.Cleanup(j.end)
	tt.Program.Close()
	return j
}
