package time

import (
	"syscall"
	"unsafe"
)

// ahead is by how many seconds the clock of the day of this program is wrong: the first eight bytes of a file, which
// whoever started it may change at any time. The monotonic clock is everybody's.
var ahead = func() *int64 {
	name, _ := syscall.Getenv("CHAOS_CLOCK")
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return new(int64)
	}
	defer syscall.Close(fd)
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return new(int64)
	}
	return (*int64)(unsafe.Pointer(&page[0]))
}()
