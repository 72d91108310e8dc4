package harness

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo-terminal: the test is the person in front of it.
type Terminal struct {
	// Program is the end for programs. Whoever gives it away closes it here, so that the terminal ends with those that
	// have it.
	Program *os.File

	t      testing.TB
	limit  time.Duration
	person *os.File

	mu    sync.Mutex
	shown []byte
	seen  int           // so much of it has the test looked for
	more  chan struct{} // when there is something new; closed when no program has the terminal open any more
}

// OpenTerminal opens a terminal, which is closed when the test ends. limit is how long the test waits for something new
// to be shown.
func OpenTerminal(t testing.TB, limit time.Duration) *Terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil { // a container without devpts
		Missing(t, "a pseudo-terminal ("+err.Error()+")", "mount devpts at /dev/pts, with /dev/ptmx")
	}
	term := &Terminal{t: t, limit: limit, person: person, more: make(chan struct{}, 1)}
	number := 0
	term.Control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if term.Program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		term.watch()
	}()
	t.Cleanup(func() {
		term.Program.Close()
		person.Close()
		if <-done; t.Failed() {
			t.Logf("terminal: %q", term.shown)
		}
	})
	return term
}

// Control does something with the person's end, and ends the test if that fails.
func (term *Terminal) Control(do func(fd int) error) {
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

// watch reads everything that is shown, whether or not the test looks, so that no program waits for a reader.
func (term *Terminal) watch() {
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

// Wait waits until something new is shown, and reports whether there ever will be.
func (term *Terminal) Wait() bool {
	term.t.Helper()
	select {
	case _, open := <-term.more:
		return open
	case <-time.After(term.limit):
		term.t.Fatal("nothing new on the terminal")
		return false
	}
}

// Type types what a person would.
func (term *Terminal) Type(s string) {
	term.t.Helper()
	if _, err := term.person.WriteString(s); err != nil {
		term.t.Fatal(err)
	}
}

// HangUp takes the person's end away, as a lost connection does.
func (term *Terminal) HangUp() { term.person.Close() }

// Settings describes how the terminal is set.
func (term *Terminal) Settings() (s string) {
	term.t.Helper()
	term.Control(func(fd int) error {
		modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		s = fmt.Sprintf("%+v", modes)
		return err
	})
	return s
}

// Shown is all that was shown so far.
func (term *Terminal) Shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.shown)
}

// All is all that is shown, to the terminal's end.
func (term *Terminal) All() string {
	term.t.Helper()
	for term.Wait() {
	}
	return term.Shown()
}

// Sees waits until the text is shown, after what was seen before.
func (term *Terminal) Sees(text string) {
	term.t.Helper()
	term.until(text)
}

// Line waits for the end of the line and returns what is left of it, after what was seen before.
func (term *Terminal) Line() string {
	term.t.Helper()
	return term.until("\r\n")
}

// until waits until the text is shown, and returns what comes before it and was not seen before.
func (term *Terminal) until(text string) string {
	term.t.Helper()
	for open := true; ; open = term.Wait() {
		term.mu.Lock()
		before, _, found := strings.Cut(string(term.shown[term.seen:]), text)
		if found {
			term.seen += len(before) + len(text)
		}
		term.mu.Unlock()
		if found {
			return before
		}
		if !open {
			term.t.Fatalf("the terminal ended without %q", text)
		}
	}
}
