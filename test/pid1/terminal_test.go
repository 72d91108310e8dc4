package pid1_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTerminalForeground gives the terminal to the worker: it is in the foreground and can read.
func TestTerminalForeground(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"worker", "group", "session"} {
		t.Run(scope, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				tt := openTerminal(t)
				j := tt.on(launch{mode: m, flags: []string{"--signal-scope=" + scope}, worker: probe("tty")})
				j.expect("foreground")
				tt.Type("hello\n")
				j.expect("read hello")
				tt.Control(func(fd int) error {
					return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 90})
				})
				j.expect("signal 28")
				tt.Type("\x04")
				j.expect("end of input")
				j.exits(0)
			})
		})
	}
}

// TestTerminalInterrupt presses ^C: the worker gets one SIGINT, straight from the terminal. If it dies of it, that is
// 130, and what the user wanted: no restart.
func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"worker", "session"} {
		t.Run(scope, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				tt := openTerminal(t)
				l := launch{mode: m, restarts: true, flags: []string{"--signal-scope=" + scope}, worker: probe("tty")}
				j := tt.on(l)
				j.expect("foreground")
				tt.Type("log\n")
				j.expect("read log")
				tt.Type("\x03")
				j.expect("signal 2")
				tt.Type("more\n")
				j.expect("read more")
				tt.Type("exit\n")
				j.exits(7)

				tt = openTerminal(t)
				l.worker = sh("echo ready >&3; exec sleep 100")
				j = tt.on(l)
				j.expect("ready")
				tt.Type("\x03")
				j.exits(130)
				if lines := j.rest(); len(lines) > 0 {
					t.Errorf("started again: %q", lines)
				}
			})
		})
	}
}

// TestTerminalStopWithoutShell presses ^Z where no shell could bring anything back: the worker goes on.
func TestTerminalStopWithoutShell(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		tt := openTerminal(t)
		j := tt.on(launch{mode: m, worker: probe("tty")})
		j.expect("foreground")
		tt.Type("\x1a")
		tt.Type("hello\n")
		j.expect("read hello")
		tt.Type("exit\n")
		j.exits(7)
	})
}

// TestTerminalExact writes through the terminal and reads the same bytes, with nothing of gangrun's own.
func TestTerminalExact(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		tt := openTerminal(t)
		tt.Control(func(fd int) error {
			attr, err := unix.IoctlGetTermios(fd, unix.TCGETS)
			if err != nil {
				return err
			}
			attr.Oflag &^= unix.OPOST
			attr.Lflag &^= unix.ECHO
			return unix.IoctlSetTermios(fd, unix.TCSETS, attr)
		})
		j := tt.on(launch{mode: m, flags: []string{"--quiet"}, worker: []string{"tac"}})
		tt.Type("1\n2\n3\n\x04")
		if got := tt.All(); got != "3\n2\n1\n" {
			t.Errorf("got %q", got)
		}
		j.exits(0)
	})
}

// TestTerminalIsTerminal lets the worker see the terminal on its standard output and error too, so that it draws its
// progress bars.
func TestTerminalIsTerminal(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	j := tt.on(launch{mode: asChild, worker: sh(`
		for fd in 0 1 2; do [ -t $fd ] && echo $fd >&3; done; [ -w /dev/tty ] && : >/dev/tty && echo ctty >&3`)})
	if got := strings.Join(j.rest(), " "); got != "0 1 2 ctty" {
		t.Errorf("terminals: %s", got)
	}
	j.exits(0)
}

// TestTerminalShell runs a shell with job control inside.
func TestTerminalShell(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"worker", "session"} {
		t.Run(scope, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				tt := openTerminal(t)
				j := tt.on(launch{
					mode: m, flags: []string{"--signal-scope=" + scope, "--quiet"}, worker: []string{"/bin/bash", "--norc", "-i"},
				})
				tt.Type(`[[ $- == *m* ]] && echo "job control" >&3` + "\n")
				j.expect("job control")
				tt.Type("sh -c 'echo up >&3; read x; echo got $x >&3'\n")
				j.expect("up")
				tt.Type("\x1a")
				tt.Sees("Stopped")
				tt.Type("fg\nhello\n")
				j.expect("got hello")
				tt.Type("exit 7\n")
				j.exits(7)
			})
		})
	}
}

// TestTerminalHangup closes the terminal, as a lost connection does.
func TestTerminalHangup(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		tt := openTerminal(t)
		j := tt.on(launch{mode: m, restarts: true, worker: sh("echo ready >&3; exec sleep 100")})
		j.expect("ready")
		tt.HangUp()
		j.exits(129)
		j.gone()
	})
}

// TestTerminalRestored has a worker that leaves the terminal in a mess as it dies, which a person can then not even
// see what they type in.
func TestTerminalRestored(t *testing.T) {
	t.Parallel()
	tt := openTerminal(t)
	before := tt.Settings()
	keep, err := os.OpenFile(tt.Program.Name(), os.O_RDWR|unix.O_NOCTTY, 0) // the settings end with the last user
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	j := tt.on(launch{mode: asChild, worker: probe("tty")})
	j.expect("foreground")
	tt.Type("raw\n")
	j.exits(137)
	if after := tt.Settings(); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}
