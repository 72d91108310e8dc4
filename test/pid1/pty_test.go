package pid1_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalPair is a pseudo-terminal: what the test holds, and what gangrun is started on.
type terminalPair struct {
	t     *testing.T
	user  *os.File
	slave *os.File

	mu    sync.Mutex
	shown strings.Builder // what the user sees
	seen  int             // so much of it has the test looked for
	more  chan struct{}   // when there is something new to see; closed when nobody has the terminal open any more
}

func openTerminal(t *testing.T) *terminalPair {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tt := &terminalPair{t: t, user: user, more: make(chan struct{}, 1)}
	var number int
	tt.control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if tt.slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tt.watch()
	}()
	t.Cleanup(func() {
		tt.slave.Close()
		user.Close()
		if <-ended; t.Failed() {
			t.Logf("terminal: %q", tt.shown.String())
		}
	})
	return tt
}

func (tt *terminalPair) control(do func(fd int) error) {
	tt.t.Helper()
	conn, err := tt.user.SyscallConn()
	if err != nil {
		tt.t.Fatal(err)
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		tt.t.Fatal(err, failed)
	}
}

// key types what a user would.
func (tt *terminalPair) key(s string) {
	tt.t.Helper()
	if _, err := tt.user.WriteString(s); err != nil {
		tt.t.Fatal(err)
	}
}

// settings describes how the terminal is set.
func (tt *terminalPair) settings() (s string) {
	tt.t.Helper()
	tt.control(func(fd int) error {
		attr, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		s = fmt.Sprintf("%+v", attr)
		return err
	})
	return s
}

// on puts gangrun on the terminal, as its session's leader.
func (tt *terminalPair) on(l launch) *job {
	tt.t.Helper()
	l.tty, l.stdin, l.stdout, l.stderr = true, tt.slave, tt.slave, tt.slave
	j := l.start(tt.t)
	tt.slave.Close() // so that the terminal ends with those that have it
	return j
}

// watch takes in all that is shown, whether or not the test looks, so that nobody waits for it to be read.
func (tt *terminalPair) watch() {
	defer close(tt.more)
	for buf := make([]byte, 4096); ; {
		n, err := tt.user.Read(buf)
		tt.mu.Lock()
		tt.shown.Write(buf[:n])
		tt.mu.Unlock()
		if err != nil {
			return // EIO: nobody has it open
		}
		select {
		case tt.more <- struct{}{}:
		default:
		}
	}
}

// wait waits until there is something new to see, and reports whether there ever will be.
func (tt *terminalPair) wait() bool {
	tt.t.Helper()
	select {
	case _, open := <-tt.more:
		return open
	case <-time.After(limit):
		tt.t.Fatal("nothing new on the terminal")
		return false
	}
}

// sees waits until the text appears, after what was seen before.
func (tt *terminalPair) sees(text string) {
	tt.t.Helper()
	for open := true; ; open = tt.wait() {
		tt.mu.Lock()
		at := strings.Index(tt.shown.String()[tt.seen:], text)
		if at >= 0 {
			tt.seen += at + len(text)
		}
		tt.mu.Unlock()
		if at >= 0 {
			return
		}
		if !open {
			tt.t.Fatalf("the terminal ended without %q", text)
		}
	}
}

// all is what has been written to the terminal, to its end.
func (tt *terminalPair) all() string {
	tt.t.Helper()
	for tt.wait() {
	}
	return tt.shown.String()
}
