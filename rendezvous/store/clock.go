package store

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells the time that has passed since some fixed moment. It must go on while the machine sleeps.
type Clock func() time.Duration

// Boottime is the Clock of the machine, CLOCK_BOOTTIME: a store at the other end does not stop when this machine is
// suspended, which Go's own monotonic clock does not see.
func Boottime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME: " + err.Error()) // on every Linux since 2.6.39
	}
	return time.Duration(ts.Nano())
}
