package local_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/test/harness"
)

// terminal is a pseudo-terminal: the test is the person in front of it.
type terminal struct {
	t       *testing.T
	person  *os.File
	program *os.File
	before  string // its settings
	dir     string // of the run

	mu    sync.Mutex
	shown []byte
	seen  int           // so much of it has the test looked for
	more  chan struct{} // when there is something new; closed when no program has the terminal open any more
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, person: person, more: make(chan struct{}, 1)}
	number := 0
	term.control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if term.program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	term.before = term.settings()
	done := make(chan struct{})
	go func() {
		defer close(done)
		term.watch()
	}()
	t.Cleanup(func() {
		term.program.Close()
		person.Close()
		if <-done; t.Failed() {
			t.Logf("terminal: %q", term.shown)
		}
	})
	return term
}

func (term *terminal) control(do func(fd int) error) {
	term.t.Helper()
	conn, err := term.person.SyscallConn()
	if err != nil {
		term.t.Fatal(err)
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		term.t.Fatal(err, failed)
	}
}

// watch takes in everything that is shown, so that no program waits for a reader.
func (term *terminal) watch() {
	defer close(term.more)
	for buf := make([]byte, 4096); ; {
		n, err := term.person.Read(buf)
		term.mu.Lock()
		term.shown = append(term.shown, buf[:n]...)
		term.mu.Unlock()
		if err != nil {
			return // EIO: nobody has it open
		}
		select {
		case term.more <- struct{}{}:
		default:
		}
	}
}

// wait waits until something new is shown, and reports whether there ever will be.
func (term *terminal) wait() bool {
	term.t.Helper()
	select {
	case _, open := <-term.more:
		return open
	case <-time.After(limit):
		term.t.Fatal("nothing new on the terminal")
		return false
	}
}

// types types what a person would.
func (term *terminal) types(s string) {
	term.t.Helper()
	if _, err := term.person.WriteString(s); err != nil {
		term.t.Fatal(err)
	}
}

// sees waits until the text is shown, after what was seen before.
func (term *terminal) sees(text string) {
	term.t.Helper()
	for open := true; ; open = term.wait() {
		term.mu.Lock()
		at := strings.Index(string(term.shown[term.seen:]), text)
		if at >= 0 {
			term.seen += at + len(text)
		}
		term.mu.Unlock()
		if at >= 0 {
			return
		}
		if !open {
			term.t.Fatalf("the terminal ended without %q", text)
		}
	}
}

// settings describes how the terminal is set.
func (term *terminal) settings() (s string) {
	term.t.Helper()
	term.control(func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		s = fmt.Sprintf("%+v", modes)
		return err
	})
	return s
}

// start starts gangrun on the terminal, below a shell that leads the session: at its leader's end the kernel would put
// the terminal in order by itself, and whatever gangrun had left there would not be seen.
func (term *terminal) start(j job) {
	term.t.Helper()
	term.dir = folder(term.t)
	j.script(term.t, term.dir)
	// The keys that end gangrun must not end the shell; a handler, unlike "ignore", is not inherited.
	term.lead("/bin/sh", "-c", `trap : INT; sh "$1"; echo "code=$?"; read x`, "sh", term.dir+"/go")
}

// shell starts a shell with job control on the terminal, in which "sh go" is the job.
func (term *terminal) shell(j job) {
	term.t.Helper()
	term.dir = folder(term.t)
	j.script(term.t, term.dir)
	bash := harness.Program(term.t, "bash", "install bash")
	term.lead(bash, "--norc", "--noprofile", "-i")
}

// ends waits until gangrun has ended and its exit code is shown, and wants it to be this one, the terminal to be as it
// was, and nothing to be left of the run. It returns all that was shown.
func (term *terminal) ends(code int) string {
	term.t.Helper()
	term.sees("code=")
	got := term.rest()
	if got != fmt.Sprint(code) {
		term.t.Errorf("exit code %s, want %d", got, code)
	}
	if after := term.settings(); after != term.before {
		term.t.Errorf("the terminal's settings\nbefore %s\nafter  %s", term.before, after)
	}
	gone(term.t, term.dir)
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.shown)
}

// rest waits for the end of the line and returns what is left of it.
func (term *terminal) rest() string {
	term.t.Helper()
	term.mu.Lock()
	from := term.seen
	term.mu.Unlock()
	term.sees("\r\n")
	return strings.TrimSuffix(string(term.shown[from:term.seen]), "\r\n")
}

// script writes the job into a file called go in its folder, for a shell.
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.program, term.program, term.program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		term.t.Fatal(err)
	}
	term.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
}
