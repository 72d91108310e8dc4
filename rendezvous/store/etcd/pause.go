package etcd

import (
	"context"
	"math/rand/v2"
	"time"
)

// pause is the time between attempts: none, then longer and longer, up to a second or so, never the same for all.
type pause struct{ next time.Duration }

func newPause() *pause { return &pause{} }

func (p *pause) reset() { p.next = 0 }

func (p *pause) wait(ctx context.Context) {
	now := p.next
	p.next = min(max(2*now, 50*time.Millisecond), time.Second)
	if now == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(now/2 + rand.N(now)):
	}
}
