package port

import (
	"fmt"
	"math/rand/v2"
)

// Range is a range of ports, for networks in which others do not pass. The ports are tried one after the other, round
// about from a place of chance, so that a round does not meet at the port of the one before it. One goroutine at a time
// may use it.
type Range struct {
	Low, High int // both within the range
	tried     int // how many
	from      int
}

// Reserve keeps the port of this number, or for 0 the next in the range that is free. The error is the system's about that
// port, or says that none of the range is free.
func (r *Range) Reserve(number int) (*Port, error) {
	if number != 0 {
		return Reserve(number)
	}
	size := r.High - r.Low + 1
	if r.tried == 0 {
		r.from = rand.IntN(size)
	}
	var err error
	for range size {
		port := r.Low + (r.from+r.tried)%size
		r.tried++
		var p *Port
		if p, err = Reserve(port); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("none of the ports %d to %d is free: %w", r.Low, r.High, err)
}
