package rendezvous

import "time"

// Guard is a node's own half of the fence. The leader takes a silent node for gone after the fence time; the guard has
// stopped its workers long before. Times are readings of a clock that goes on while the machine sleeps
// (CLOCK_BOOTTIME).
type Guard struct {
	// Sent is when the last renewal was sent that the store has answered. Not when the answer came: the store may
	// have counted from any moment between the two.
	Sent time.Duration
	// Fence and Lease are the job's fence time and the lease's time to live, StopTime how long it takes at most until
	// the last process of the workers is gone.
	Fence, Lease, StopTime time.Duration
}

// GoneBy is when the workers must be gone unless a renewal succeeds: at half of the fence time. The other half, and the
// lease, are what a pause may take that nobody has noticed.
func (g Guard) GoneBy() time.Duration { return g.Sent + g.Fence/2 }

// StopAt is when to begin to stop the workers for that, never before the renewal itself.
func (g Guard) StopAt() time.Duration { return max(g.GoneBy()-g.StopTime, g.Sent) }

// Expired reports whether workers must be stopped now, and none may be started. A process that has been paused asks
// this before anything else.
func (g Guard) Expired(at time.Duration) bool { return at >= g.StopAt() }

// Overlap is how long another round may have run at the same time when the workers were gone only at the given time:
// 0 if none can have.
func (g Guard) Overlap(at time.Duration) time.Duration {
	return max(at-(g.Sent+g.Lease+g.Fence), 0)
}
