package pid1_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// shellOn starts an interactive shell on the terminal, as a user has it, from which gangrun is then started by typing.
// What the shell starts has file descriptor 3 as well.
func (tt *terminalPair) shellOn() *job {
	tt.t.Helper()
	j := &job{t: tt.t, dir: tt.t.TempDir()}
	events, told, err := os.Pipe()
	if err != nil {
		tt.t.Fatal(err)
	}
	defer told.Close()
	j.listen(events)
	j.cmd = exec.Command("/bin/bash", "--norc", "-i")
	j.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.dir, "PS1=$ ", "TMPDIR=" + j.dir}
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = tt.slave, tt.slave, tt.slave
	j.cmd.ExtraFiles = []*os.File{told}
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := j.cmd.Start(); err != nil {
		tt.t.Fatal(err)
	}
	tt.t.Cleanup(j.end)
	tt.t.Cleanup(func() { killSession(j.cmd.Process.Pid) })
	tt.slave.Close()
	return j
}

// killSession leaves nothing of a failed test behind: what is stopped in a session outlives its shell.
func killSession(session int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if sid, err := unix.Getsid(pid); err == nil && sid == session {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// typed is the command line that starts gangrun from a shell.
func typed(t *testing.T, j *job, l launch) string {
	return "'" + strings.Join(l.argv(t, j.path("message")), "' '") + "'"
}

// TestShellStopAndContinue presses ^Z under a shell with job control: worker and gangrun stop, the shell has its prompt
// back; fg continues them, in the foreground.
func TestShellStopAndContinue(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"worker", "group"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			tt := openTerminal(t)
			j := tt.shellOn()
			tt.key(typed(t, j, launch{flags: []string{"--signal-scope=" + scope}, worker: probe("tty")}) + "\n")
			j.expect("foreground")
			for range 3 {
				tt.key("\x1a")
				tt.sees("Stopped")
				tt.key("echo shell >&3\n")
				j.expect("shell")
				tt.key("fg\n")
				tt.key("hello\n")
				j.expect("read hello")
			}
			tt.key("exit\n")
			tt.key("echo code $? >&3\n")
			j.expect("code 7")
			tt.key("cat >&3\nback in front\n")
			j.expect("back in front")
		})
	}
}

// TestShellBackground starts gangrun in the background, from where it must not take the terminal, and brings it to
// the front later.
func TestShellBackground(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	j := tt.shellOn()
	tt.key(typed(t, j, launch{worker: sh("echo ready >&3; read x; echo got $x >&3; exit 7")}) + " &\n")
	j.expect("ready")
	tt.key("echo shell >&3\n")
	j.expect("shell")
	tt.key("fg\n")
	tt.key("hello\n")
	j.expect("got hello")
	tt.key("echo code $? >&3\n")
	j.expect("code 7")
}

// TestShellInterrupt presses ^C under a shell.
func TestShellInterrupt(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	j := tt.shellOn()
	tt.key(typed(t, j, launch{restarts: true, worker: sh("echo ready >&3; exec sleep 100")}) + "\n")
	j.expect("ready")
	tt.key("\x03")
	tt.key("echo code $? >&3\n")
	j.expect("code 130")
}

// TestShellRestart restarts a worker on the terminal: the next one is in the foreground like the first.
func TestShellRestart(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	j := tt.shellOn()
	tt.key(typed(t, j, launch{
		restarts: true, flags: []string{"--max-restarts=1"}, worker: sh("read x; echo got $x >&3; exit 200"),
	}) + "\n")
	tt.key("one\n")
	j.expect("got one")
	tt.key("two\n")
	j.expect("got two")
	tt.key("echo code $? >&3\n")
	j.expect("code 200")
}
