package local_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// terminal is a terminal that gangrun is started on.
type terminal struct {
	*harness.Terminal
	t      *testing.T
	before string // its settings
	dir    string // of the run
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	term := harness.OpenTerminal(t, limit)
	return &terminal{Terminal: term, t: t, before: term.Settings()}
}

// start starts gangrun on the terminal, below a shell that leads the session: at its leader's end the kernel would put
// the terminal in order by itself, and whatever gangrun had left there would not be seen.
func (term *terminal) start(j job) {
	term.t.Helper()
	term.dir = directory(term.t)
	j.script(term.t, term.dir)
	// The keys that end gangrun must not end the shell; a handler, unlike "ignore", is not inherited.
	term.lead("/bin/sh", "-c", `trap : INT; sh "$1"; echo "code=$?"; read x`, "sh", term.dir+"/go")
}

// shell starts a shell with job control on the terminal, in which "sh go" is the job.
func (term *terminal) shell(j job) {
	term.t.Helper()
	term.dir = directory(term.t)
	j.script(term.t, term.dir)
	bash := harness.Program(term.t, "bash", "install bash")
	term.lead(bash, "--norc", "--noprofile", "-i")
}

// ends waits until gangrun has ended and its exit code is shown, and wants it to be this one, the terminal to be as it
// was, and nothing to be left of the run. It returns all that was shown.
func (term *terminal) ends(code int) string {
	term.t.Helper()
	term.Sees("code=")
	if got := term.Line(); got != fmt.Sprint(code) {
		term.t.Errorf("exit code %s, want %d", got, code)
	}
	if after := term.Settings(); after != term.before {
		term.t.Errorf("the terminal's settings\nbefore %s\nafter  %s", term.before, after)
	}
	gone(term.t, term.dir)
	return term.Shown()
}

// script writes the job into a file called go in its directory, for a shell.
func (j job) script(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "cd %s\nexec env", dir)
	for _, word := range append(j.environment(dir), j.argv(t, dir)...) {
		fmt.Fprintf(&b, " '%s'", strings.ReplaceAll(word, "'", `'\''`))
	}
	if err := os.WriteFile(dir+"/go", []byte(b.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lead starts a program that leads the session on the terminal.
func (term *terminal) lead(argv ...string) {
	term.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "PS1=$ ", "TERM=xterm", "HISTFILE=", "INPUTRC=/dev/null")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Program, term.Program, term.Program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		term.t.Fatal(err)
	}
	term.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}
