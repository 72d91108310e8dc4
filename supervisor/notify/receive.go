package notify

import (
	"encoding/binary"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiver receives datagrams. Its system calls never block, so Go's scheduler need not know of them: telling it would wake
// another thread, which costs more than all the rest.
type receiver struct {
	buf [maxDatagram + 1]byte
	// control has room for the timestamp alone: open files that a worker sends along would come behind it, and be gangrun's.
	control [unix.SizeofCmsghdr + stampSize]byte
}

const stampSize = 16 // bytes: two words of 64 bits

// receive takes one datagram, if there is one, and when it came, by the kernel where that stamps those of the socket.
func (r *receiver) receive(fd int, stamps bool) (datagram []byte, at time.Time, found bool) {
	iov := unix.Iovec{Base: &r.buf[0]}
	iov.SetLen(len(r.buf))
	msg := unix.Msghdr{Iov: &iov, Control: &r.control[0]}
	msg.SetIovlen(1)
	for {
		msg.SetControllen(0)
		if stamps {
			msg.SetControllen(len(r.control))
		}
		n, _, err := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT)
		switch err {
		case 0:
			return r.buf[:n], stamped(r.control[:msg.Controllen], time.Now()), true
		case unix.EINTR:
		default:
			return nil, time.Time{}, false
		}
	}
}

// stamped is when a datagram came, by the kernel's timestamp, which is of the wall clock. If that clock has been set since, or
// there is no timestamp, it came now.
func stamped(control []byte, now time.Time) time.Time {
	for len(control) >= unix.SizeofCmsghdr {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return now
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) == stampSize {
			seconds, nano := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			if ago := now.Sub(time.Unix(int64(seconds), int64(nano))); ago > 0 && ago < mostLate {
				return now.Add(-ago)
			}
			return now
		}
		control = rest
	}
	return now
}

// mostLate is the longest time that a datagram may lie before it is read.
const mostLate = 5 * time.Second

// pollNow says of which descriptors of a set there is something to read now.
func pollNow(set int, events []unix.EpollEvent) int {
	n, _, err := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(set), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	if err != 0 {
		return 0
	}
	return int(n)
}

// armed arms the gate again.
func armed(gate, set int) {
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(gate), unix.EPOLL_CTL_MOD, uintptr(set), uintptr(unsafe.Pointer(once(set))), 0, 0)
}
