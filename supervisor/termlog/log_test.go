package termlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

const size = exitcodes.DefaultMessage

// record is the i-th of a series of messages of very different lengths, each of which can be told from its number.
func record(i int) exitcodes.Message {
	return exitcodes.Message{
		V: 1, Verdict: exitcodes.Retry, Reason: "Test", ExitCode: i, Round: &i,
		LogTail: strings.Repeat(string(rune('a'+i%26)), i*37%1700),
	}
}

func open(t *testing.T, path string) *Log {
	t.Helper()
	l, err := Open(path, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func write(t *testing.T, l *Log, m exitcodes.Message) {
	t.Helper()
	if err := l.Write(m); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// holds fails the test unless b is the record of m.
func holds(t *testing.T, b []byte, m exitcodes.Message) {
	t.Helper()
	got, err := exitcodes.ParseMessage(b)
	if err != nil {
		t.Fatalf("%v: %q", err, b)
	}
	if !reflect.DeepEqual(got, m) {
		t.Fatalf("got %+v, want %+v", got, m)
	}
}

func TestWriteInPlace(t *testing.T) {
	for name, old := range map[string]string{
		"no file":            "",
		"empty":              "",
		"shorter":            `{"v":1,"verdict":"fatal","exitCode":3}`,
		"longer":             strings.Repeat("old ", 5000),
		"as long":            strings.Repeat("=", size),
		"longer by one byte": strings.Repeat("=", size+1),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "termination-log")
			if name != "no file" {
				if err := os.WriteFile(path, []byte(old), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			l := open(t, path)
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); string(got) != old {
				t.Fatalf("opening changed the file to %q", got)
			}
			for i := range 60 {
				write(t, l, record(i))
				b := read(t, path)
				holds(t, b, record(i))
				padding := b[bytes.LastIndexByte(b, '}')+1:]
				if len(b) != size || string(padding) != strings.Repeat(" ", len(padding)-1)+"\n" {
					t.Fatalf("%d bytes, want %d; padded with %q", len(b), size, padding)
				}
			}
			if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("the file was replaced, or is gone: %v", err)
			}
		})
	}
}

func TestWriteSizes(t *testing.T) {
	m := record(3)
	m.Message, m.LogTail = strings.Repeat("why ", 5000), strings.Repeat("log\n", 5000)
	for _, size := range []int{exitcodes.MinMessage, 1024, exitcodes.MaxMessage} {
		path := filepath.Join(t.TempDir(), "log")
		l, err := Open(path, size)
		if err != nil {
			t.Fatal(err)
		}
		write(t, l, m)
		if b := read(t, path); len(b) != size || b[size-1] != '\n' {
			t.Errorf("%d bytes, want %d and a newline at the end: %q", len(b), size, b)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A reader between two system calls would find half a record, so there must be only one.
func TestWriteIsOneCall(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	calls := func() (n int) {
		b, err := os.ReadFile("/proc/thread-self/io")
		if err != nil {
			t.Skipf("a count of system calls (%v) is missing: run the tests on a kernel with task I/O accounting", err)
		}
		_, after, _ := strings.Cut(string(b), "syscw: ")
		if _, err := fmt.Sscan(after, &n); err != nil {
			t.Fatalf("%v: %q", err, b)
		}
		return n
	}
	l := open(t, filepath.Join(t.TempDir(), "log"))
	least := math.MaxInt
	for i := range 10 {
		before := calls()
		write(t, l, record(i))
		least = min(least, calls()-before) // Go's own write to wake its poller comes on top, now and then
	}
	if least != 1 {
		t.Errorf("no record took fewer than %d calls", least)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path string
		size int
		want error
	}{
		"no directory":        {filepath.Join(dir, "none", "log"), size, fs.ErrNotExist},
		"a directory":         {dir, size, syscall.EISDIR},
		"FIFO without reader": {fifo, size, syscall.ENXIO},
		"no path":             {"", size, fs.ErrNotExist},
		"too small":           {filepath.Join(dir, "log"), exitcodes.MinMessage - 1, nil},
		"too large":           {filepath.Join(dir, "log"), exitcodes.MaxMessage + 1, nil},
	} {
		l, err := Open(tc.path, tc.size)
		if err == nil || l != nil || (tc.want != nil && !errors.Is(err, tc.want)) {
			t.Errorf("%s: log %v, error %v", name, l, err)
		}
		if err != nil && !strings.Contains(err.Error(), tc.path) {
			t.Errorf("%s: %q does not name the path", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
		t.Error("a refused size left a file behind")
	}
}

func TestClosed(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "log"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(record(1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if err := l.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

func TestNilLog(t *testing.T) {
	var l *Log
	if err := errors.Join(l.Write(record(1)), l.Close()); err != nil {
		t.Error(err)
	}
}

func TestShortWrite(t *testing.T) {
	if out, err := child(t, "limited", filepath.Join(t.TempDir(), "log")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// writeLimited is the child of TestShortWrite: it may not make files as long as a record.
func writeLimited(path string) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size / 2, Max: size / 2}); err != nil {
		return err
	}
	l, err := Open(path, size)
	if err != nil {
		return err
	}
	if err := l.Write(record(1)); !errors.Is(err, io.ErrShortWrite) {
		return fmt.Errorf("%w, want %w", err, io.ErrShortWrite)
	}
	return nil
}

// A worker must not inherit the log.
func TestCloseOnExec(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "log"))
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(l.fd), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Errorf("descriptor flags %#x, %v", flags, errno)
	}
}

// Root may write everything, so this opens the file with the rights of an ordinary user.
func TestReadOnlyFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root is missing: run the tests as root")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.WriteFile(path, []byte("old"), 0o444)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	_, readErr := os.ReadFile(path)
	_, openErr := Open(path, size)
	if err := syscall.Setfsuid(0); err != nil {
		t.Fatal(err) // with the thread locked, so that it ends with the test
	}
	runtime.UnlockOSThread()
	if readErr != nil || !errors.Is(openErr, fs.ErrPermission) {
		t.Errorf("reading: %v; opening: %v, want that it is not permitted", readErr, openErr)
	}
}
