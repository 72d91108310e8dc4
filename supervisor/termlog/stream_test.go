package termlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func TestFullDevice(t *testing.T) {
	l := open(t, "/dev/full")
	for i := range 3 {
		err := l.Write(record(i))
		if _, ok := errors.AsType[*fs.PathError](err); !ok || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("record %d: %v, want a path error that says no space", i, err)
		}
	}
}

func TestNullDevice(t *testing.T) {
	write(t, open(t, "/dev/null"), record(1))
}

func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	l := open(t, path)
	lines := bufio.NewReader(reader)
	for i := range 5 {
		write(t, l, record(i))
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if want := append(record(i).Encode(size-1), '\n'); !bytes.Equal(line, want) {
			t.Errorf("got %q, want %q", line, want)
		}
	}

	// Nobody reads on: the pipe fills up, which must not hold up the writer.
	for i := range 1 << 16 {
		if err = l.Write(record(i)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("full FIFO: %v", err)
	}

	// And then the reader is gone, which must not kill the writer.
	reader.Close()
	if err := l.Write(record(1)); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("FIFO whose reader is gone: %v", err)
	}
}

// Standard output as the termination log must not be damaged, whatever it is.
func TestStandardOutput(t *testing.T) {
	want := "before\n" + string(record(1).Encode(size-1)) + "\n" + string(record(2).Encode(size-1)) + "\nafter\n"

	t.Run("file", func(t *testing.T) {
		for _, path := range []string{"/dev/stdout", "/dev/stderr", "/proc/self/fd/2"} {
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd := child(t, "stdout", path)
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			if got := string(read(t, out.Name())); got != want {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
	})
	t.Run("file by its own name", func(t *testing.T) {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd := child(t, "stdout", out.Name())
		cmd.Stdout = out
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if got := string(read(t, out.Name())); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("pipe", func(t *testing.T) {
		got, err := child(t, "stdout", "/dev/stdout").Output()
		if err != nil || string(got) != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	})
	t.Run("socket", func(t *testing.T) {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
		defer ours.Close()
		cmd := child(t, "stdout", "/dev/stdout")
		cmd.Stdout = theirs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		got, err := io.ReadAll(ours)
		if err := errors.Join(err, cmd.Wait()); err != nil || string(got) != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	})
}

// writeAround is the child of TestStandardOutput.
func writeAround(path string) error {
	fmt.Println("before")
	l, err := Open(path, size)
	if err != nil {
		return err
	}
	if err := errors.Join(l.Write(record(1)), l.Write(record(2)), l.Close()); err != nil {
		return err
	}
	_, err = fmt.Println("after")
	return err
}

// A session leader that opens a terminal gets it as its controlling one, and with it SIGHUP and Ctrl-C, unless it asks
// not to.
func TestTerminalDoesNotTakeControl(t *testing.T) {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("a pseudo-terminal (%v) is missing: mount devpts at /dev/pts, with /dev/ptmx", err)
	}
	defer control.Close()
	var locked, number int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, control.Fd(), request, uintptr(unsafe.Pointer(value)))
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	cmd := child(t, "terminal", fmt.Sprintf("/dev/pts/%d", number))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line, err := bufio.NewReader(control).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	holds(t, []byte(strings.TrimSpace(line)), record(1))
}

// writeTerminal is the child of TestTerminalDoesNotTakeControl.
func writeTerminal(path string) error {
	l, err := Open(path, size)
	if err != nil {
		return err
	}
	if err := l.Write(record(1)); err != nil {
		return err
	}
	if _, err := os.Open("/dev/tty"); !errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("the terminal controls this process now (%v)", err)
	}
	return nil
}

// child is this test binary again, in another role.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), childVar+"=1")
	return cmd
}
