package pid1_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// pipe is a pipe whose ends the test closes, or not.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// TestReaderGone closes the other end of gangrun's output while the worker has plenty to say, as a log collector does
// that crashes. Training goes on, and its result counts.
func TestReaderGone(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		lock, key := pipe(t)
		out, stdout := pipe(t)
		err, stderr := pipe(t)
		j := launch{mode: m, stdin: lock, stdout: stdout, stderr: stderr, worker: probe("chatter", "1000000")}.start(t)
		j.expect("ready")
		for _, end := range []*os.File{stdout, stderr, out, err} {
			end.Close()
		}
		key.Write([]byte{'\n'})
		j.expect("said it all")
		j.exits(7)
	})
}

// TestReaderGoneQuietly ends a run whose output nobody ever read.
func TestReaderGoneQuietly(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		for code, script := range map[int]string{0: "exit 0", 7: "exit 7", 137: "kill -KILL $$"} {
			out, stdout := pipe(t)
			out.Close()
			launch{mode: m, stdout: stdout, stderr: stdout, worker: sh(script)}.start(t).exits(code)
		}
	})
}

// TestReaderStuck stops reading gangrun's output without closing it, and then wants gangrun to stop. Its own log goes
// nowhere either, which must not keep it.
func TestReaderStuck(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		lock, _ := pipe(t)
		_, stdout := pipe(t)
		fill(t, stdout)
		j := launch{mode: m, stdin: lock, stdout: stdout, stderr: stdout, worker: probe("log", "-on=15=0")}.start(t)
		if line, err := j.next(limit); err != nil || !strings.HasPrefix(line, "worker ready") {
			t.Fatal(line, err)
		}
		j.signal(syscall.SIGTERM)
		j.expect("worker 15", "worker done")
		j.exits(143)
	})
}

// fill writes to a pipe until it is full.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	conn, err := pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	conn.Write(func(fd uintptr) bool {
		for err == nil {
			_, err = syscall.Write(int(fd), make([]byte, 4096))
		}
		return true
	})
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
}

// TestStandardInput hands standard input through, whatever it is.
func TestStandardInput(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		in, text := pipe(t)
		j := launch{mode: m, stdin: in, worker: []string{"cat"}}.start(t)
		fmt.Fprint(text, "one\ntwo")
		text.Close()
		j.exits(0)
		if got := j.output(); got != "one\ntwo" {
			t.Errorf("cat says %q", got)
		}
		launch{mode: m, worker: sh("read x && exit 1; exit 6")}.start(t).exits(6) // nothing to read
	})
}

// TestClosedDescriptors starts gangrun without standard input, output and error.
func TestClosedDescriptors(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		before := append(sh(`exec "$@" <&- >&- 2>&-`), "sh")
		j := launch{mode: m, before: before, worker: sh("echo out; echo err >&2; echo here >&3; exit 7")}.start(t)
		j.expect("here")
		j.exits(7)
	})
}

// TestOutput carries output to its end, all of it and nothing else, on the stream that it came on.
func TestOutput(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, flags: []string{"--quiet"},
			worker: sh("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i + 1)); done; printf end; echo err >&2; exit 7"),
		}.start(t)
		j.exits(7)
		var want strings.Builder
		for i := range 20000 {
			fmt.Fprintln(&want, "line", i)
		}
		want.WriteString("end")
		if got := j.output(); got != want.String() {
			t.Errorf("%d bytes of output, want %d", len(got), want.Len())
		}
		if got := j.errors(); got != "err\n" {
			t.Errorf("stderr %q", got)
		}
	})
}

// TestQuiet says nothing, whatever happens.
func TestQuiet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		launch
		sig  syscall.Signal
		code int
	}{
		"success":   {launch{worker: sh("echo worker ready 0 >&3")}, 0, 0},
		"failure":   {launch{worker: sh("echo worker ready 0 >&3; exit 7")}, 0, 7},
		"signal":    {launch{worker: sh("echo worker ready 0 >&3; kill -KILL $$")}, 0, 137},
		"restarts":  {launch{worker: sh("echo worker ready 0 >&3; exit 200"), restarts: true}, 0, 200},
		"stop":      {launch{worker: probe("log", "-on=15=0")}, syscall.SIGTERM, 143},
		"grace":     {launch{worker: probe("log")}, syscall.SIGTERM, 143},
		"leftovers": {launch{worker: probe("log", "-exit=7", "-session=-name=worker")}, 0, 7},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				l := tt.launch
				l.mode = m
				l.flags = []string{"--quiet", "--grace=10ms"}
				if l.restarts {
					l.flags = append(l.flags, "--restart-backoff=1ms:1ms", "--max-restarts=2")
				}
				j := l.start(t)
				j.ready("worker")
				if tt.sig != 0 {
					j.signal(tt.sig)
				}
				j.exits(tt.code)
				if got := strings.ReplaceAll(j.output(), "ready\n", "") + j.errors(); got != "" {
					t.Errorf("it said %q", got)
				}
			})
		})
	}
}

// TestOutputOfLeftovers carries what is said after the worker's end.
func TestOutputOfLeftovers(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		inTime(t, func() error {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			j := launch{mode: m, worker: append(sh(`
				( trap 'echo last words; exit' TERM; echo up >"$0"; while :; do sleep 0.01; done ) &
				read up <"$0"; exit 7`), fifo)}.start(t)
			j.exits(7)
			if got := j.output(); got != "last words\n" {
				return fmt.Errorf("output %q", got)
			}
			return nil
		})
	})
}
