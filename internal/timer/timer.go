// Package timer has timers that cost little where a program sleeps most of the time. One of Go's own wakes two threads, and
// one of them several times: the one that waits for it, and the runtime's watcher, in case that is late. A timer of the
// kernel's is a descriptor like any other.
package timer

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// Timer is as one of package time: after Reset and Stop nothing comes of what it was set to before.
type Timer struct {
	C <-chan time.Time

	soft *time.Timer // nil where it is the kernel's
	c    chan time.Time
	file *os.File
	raw  syscall.RawConn

	mu sync.Mutex
	on bool
}

// New is a timer of the kernel's, which goes by the time that has really passed. Where there is none it is one of Go's.
func New(d time.Duration) *Timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return Soft(d)
	}
	t := &Timer{c: make(chan time.Time, 1), file: os.NewFile(uintptr(fd), "timer")}
	if t.raw, err = t.file.SyscallConn(); err != nil {
		t.file.Close()
		return Soft(d)
	}
	t.C = t.c
	t.Reset(d)
	crash.Go(func() {
		_ = t.raw.Read(func(fd uintptr) bool { // until it is closed
			t.ring(fd)
			return false
		})
	})
	return t
}

// Soft is one of Go's own, which a test can have a clock of its own for.
func Soft(d time.Duration) *Timer {
	soft := time.NewTimer(d)
	return &Timer{C: soft.C, soft: soft}
}

// Stopped is New without a time yet.
func Stopped() *Timer {
	t := New(time.Hour)
	t.Stop()
	return t
}

// Reset has it ring once when d is over, and not when it would have.
func (t *Timer) Reset(d time.Duration) {
	if t.soft != nil {
		t.soft.Reset(d)
		return
	}
	t.set(max(d, 1))
}

// Stop has it not ring.
func (t *Timer) Stop() {
	if t.soft != nil {
		t.soft.Stop()
		return
	}
	t.set(0)
}

// set has it ring when d is over; 0: never. None of the calls of the kernel here waits, so Go's scheduler need not be told of them,
// which would wake its watcher.
func (t *Timer) set(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.c:
	default:
	}
	t.on = d > 0
	value := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_ = t.raw.Control(func(fd uintptr) {
		_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&value)), 0, 0, 0)
	})
}

// ring tells that the time is over, if it is.
func (t *Timer) ring(fd uintptr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var times [8]byte
	n, _, _ := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times[0])), uintptr(len(times)))
	if int(n) != len(times) || !t.on {
		return
	}
	t.on = false
	t.c <- time.Now() // there is room: whoever set it has emptied it
}

// Close gives it back. It does not ring any more.
func (t *Timer) Close() {
	t.Stop()
	if t.soft == nil {
		_ = t.file.SetReadDeadline(time.Unix(1, 0))
		_ = t.file.Close()
	}
}
