package pid1_test

import (
	"strings"
	"testing"
)

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
			tt.Type(typed(t, j, launch{flags: []string{"--signal-scope=" + scope}, worker: probe("tty")}) + "\n")
			j.expect("foreground")
			for range 3 {
				tt.Type("\x1a")
				tt.Sees("Stopped")
				tt.Type("echo shell >&3\n")
				j.expect("shell")
				tt.Type("fg\n")
				tt.Type("hello\n")
				j.expect("read hello")
			}
			tt.Type("exit\n")
			tt.Type("echo code $? >&3\n")
			j.expect("code 7")
			tt.Type("cat >&3\nback in front\n")
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
	tt.Type(typed(t, j, launch{worker: sh("echo ready >&3; read x; echo got $x >&3; exit 7")}) + " &\n")
	j.expect("ready")
	tt.Type("echo shell >&3\n")
	j.expect("shell")
	tt.Type("fg\n")
	tt.Type("hello\n")
	j.expect("got hello")
	tt.Type("echo code $? >&3\n")
	j.expect("code 7")
}

// TestShellInterrupt presses ^C under a shell.
func TestShellInterrupt(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	j := tt.shellOn()
	tt.Type(typed(t, j, launch{restarts: true, worker: sh("echo ready >&3; exec sleep 100")}) + "\n")
	j.expect("ready")
	tt.Type("\x03")
	tt.Type("echo code $? >&3\n")
	j.expect("code 130")
}

// TestShellRestart restarts a worker on the terminal: the next one is in the foreground like the first.
func TestShellRestart(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	j := tt.shellOn()
	tt.Type(typed(t, j, launch{
		restarts: true, flags: []string{"--max-restarts=1"}, worker: sh("read x; echo got $x >&3; exit 200"),
	}) + "\n")
	tt.Type("one\n")
	j.expect("got one")
	tt.Type("two\n")
	j.expect("got two")
	tt.Type("echo code $? >&3\n")
	j.expect("code 200")
}
