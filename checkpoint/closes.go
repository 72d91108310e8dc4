package checkpoint

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// maxCloses bounds the names that are counted.
const maxCloses = 1 << 16

// closes counts how often files of one directory were closed after they had been written, by a watch of the kernel. A
// file that was cut in its first save was closed once, when the one who wrote it died; one that was written over before
// was closed before. It is read when somebody asks, and by one goroutine at a time. Writers on other machines are not
// seen.
type closes struct {
	fd   int
	n    map[string]int
	lost bool // there were more events than the kernel keeps
}

// watchCloses begins to count, nil where that cannot be.
func watchCloses(dir string) *closes {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MODIFY|unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	return &closes{fd: fd, n: make(map[string]int)}
}

// drain records what has happened.
func (c *closes) drain() {
	var b [64 << 10]byte
	for {
		size, err := unix.Read(c.fd, b[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || size <= 0 {
			return
		}
		for rest := b[:size]; len(rest) >= unix.SizeofInotifyEvent; {
			mask := binary.NativeEndian.Uint32(rest[4:])
			length := int(binary.NativeEndian.Uint32(rest[12:]))
			if length > len(rest)-unix.SizeofInotifyEvent {
				return
			}
			name := string(bytes.TrimRight(rest[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length], "\x00"))
			c.lost = c.lost || mask&unix.IN_Q_OVERFLOW != 0 || len(c.n) >= maxCloses
			// The kernel makes one of two equal events that follow one another: what was written between two closes keeps them apart.
			if name != "" && !c.lost && mask&(unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO) != 0 {
				if c.n[name]++; mask&unix.IN_MOVED_TO != 0 {
					c.n[name]++ // what is moved to its place is whole
				}
			}
			rest = rest[unix.SizeofInotifyEvent+length:]
		}
	}
}

// first reports whether a file was closed no more than once, and whether that is known.
func (c *closes) first(name string) (first, known bool) {
	if c == nil {
		return false, false
	}
	c.drain()
	n := c.n[name]
	return n <= 1, n > 0 && !c.lost
}
