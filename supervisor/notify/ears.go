package notify

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

const (
	atOnce   = 4096 // datagrams that are read of one socket before somebody else gets a turn
	mostHere = 64   // sockets of which the kernel tells at once
)

// Ears are the sockets of all workers. The first report to any of them wakes the reader; those that come before all are read
// do not, so that ranks which report a step at almost the same time cost as much as one.
//
// Two epoll sets do that: one of the sockets, and one of that set alone, which fires once and then has to be armed again. Go's
// own poller knows only the second.
type Ears struct {
	changed chan<- struct{}
	gate    *os.File // the second set
	raw     syscall.RawConn
	done    chan struct{}

	mu      sync.Mutex
	set     int             // the first set; -1: they are closed
	sockets map[int]*Socket // by descriptor
	closed  bool            // the gate: what comes wakes nobody until Hear
	burst   burst
	in      receiver
	wakes   int // for tests: they are what a report costs
	reads   int // of the sockets, likewise
}

// NewEars begins to listen. A value is put into changed, without blocking, when a report has come. It fails where the process
// may have no more open files.
func NewEars(changed chan<- struct{}) (*Ears, error) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	gate, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		unix.Close(set)
		return nil, fmt.Errorf("notify: %w", err)
	}
	_ = unix.SetNonblock(gate, true) // else Go would wait for it in a thread of its own
	e := &Ears{
		changed: changed, gate: os.NewFile(uintptr(gate), "reports"), set: set, sockets: map[int]*Socket{}, done: make(chan struct{}),
	}
	e.raw, err = e.gate.SyscallConn()
	if err == nil {
		err = unix.EpollCtl(gate, unix.EPOLL_CTL_ADD, set, once(set))
	}
	if err != nil {
		unix.Close(set)
		e.gate.Close()
		return nil, fmt.Errorf("notify: %w", err)
	}
	crash.Go(e.listen)
	return e, nil
}

// once tells of a descriptor once, and then not until it is armed again.
func once(fd int) *unix.EpollEvent {
	return &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(fd)}
}

func (e *Ears) listen() {
	defer close(e.done)
	_ = e.raw.Read(func(fd uintptr) bool { // until it is closed
		if e.woken(int(fd)) {
			select {
			case e.changed <- struct{}{}:
			default:
			}
		}
		return false
	})
}

// woken reports whether the gate tells of something.
func (e *Ears) woken(gate int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	var events [1]unix.EpollEvent
	if pollNow(gate, events[:]) == 0 {
		return false
	}
	e.closed = true
	e.wakes++
	return true
}

// Listen makes the socket at path, which must not exist. The error is the system's.
func (e *Ears) Listen(path string) (*Socket, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("notify: %s: %w", path, err)
	}
	s := &Socket{Path: path, ears: e, fd: fd, ranks: map[int]rank{}}
	s.stamps = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) == nil // without, a report came when it was read
	e.mu.Lock()
	defer e.mu.Unlock()
	err = os.ErrClosed
	if e.set >= 0 {
		err = unix.EpollCtl(e.set, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
	if err != nil {
		unix.Close(fd)
		_ = os.Remove(path)
		return nil, fmt.Errorf("notify: %w", err)
	}
	e.sockets[fd] = s
	return s, nil
}

// forget closes a socket.
func (e *Ears) forget(s *Socket) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.fd < 0 {
		return
	}
	delete(e.sockets, s.fd)
	unix.Close(s.fd) // which takes it out of the set
	s.fd = -1
}

// Hear reads what was sent to any of the sockets before the call, of a flood no more than a share, and lets the next report wake
// the reader again.
func (e *Ears) Hear() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.set < 0 {
		return
	}
	var events [mostHere]unix.EpollEvent
	for total, each := 0, 1; total < atOnce; total, each = total+each, min(2*each, 256) {
		n := pollNow(e.set, events[:])
		if n == 0 {
			break
		}
		for _, event := range events[:n] {
			e.read(e.sockets[int(event.Fd)], each)
		}
	}
	if e.closed { // what is left wakes somebody at once
		e.closed = false
		_ = e.raw.Control(func(gate uintptr) { armed(int(gate), e.set) })
	}
}

// read reads so many datagrams of a socket at most.
func (e *Ears) read(s *Socket, most int) {
	if s == nil {
		return
	}
	for range most {
		e.reads++
		datagram, at, found := e.in.receive(s.fd, s.stamps)
		if !found {
			return
		}
		e.burst.came(s.fd, at)
		s.heard(datagram, at)
	}
}

// MayWait reports whether reports may lie for a moment until more have come: few come to each socket. A socket's queue holds as
// few as ten, and a rank that reports to a full one blocks.
func (e *Ears) MayWait() bool {
	if e == nil {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.burst.over(time.Now())
}

// Close ends all of it.
func (e *Ears) Close() {
	if e == nil {
		return
	}
	_ = e.gate.SetReadDeadline(time.Unix(1, 0))
	_ = e.gate.Close()
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.set >= 0 {
		unix.Close(e.set)
		e.set = -1
	}
}
