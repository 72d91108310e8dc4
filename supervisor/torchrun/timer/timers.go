package timer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// What the workers may make us remember.
const (
	mostTimers = 4096 // of all processes together
	mostScope  = 200  // bytes of a scope's name
)

// request is what torch's FileTimerClient writes: one JSON object on a line.
type request struct {
	PID    int     `json:"pid"`
	Scope  string  `json:"scope_id"`
	At     float64 `json:"expiration_time"` // seconds since 1970; negative: the timer is taken back
	Signal int     `json:"signal"`
}

// Expired is a process of which a timer has run out.
type Expired struct {
	PID    int
	Signal int // 0: it is not to be ended
	Scope  string
	Late   time.Duration
	Began  uint64 // when the process did, by which it is told from another one with its PID
}

// timers are those that run.
type timers struct {
	of  map[int]*process
	all int // timers
	// began is when a process did; false: it has ended.
	began func(pid int) (uint64, bool)
}

// process is one that has set timers.
type process struct {
	began  uint64
	scopes map[string]request
}

func newTimers(began func(pid int) (uint64, bool)) *timers {
	return &timers{of: map[int]*process{}, began: began}
}

// forget drops all timers of a process.
func (t *timers) forget(pid int) {
	if p := t.of[pid]; p != nil {
		t.all -= len(p.scopes)
		delete(t.of, pid)
	}
}

// lives reports whether a process is still the one that has set its timers.
func (t *timers) lives(pid int) bool {
	began, lives := t.began(pid)
	return lives && began == t.of[pid].began
}

// forgetGone drops the timers of processes that have ended, since these do not cancel them.
func (t *timers) forgetGone() {
	for pid := range t.of {
		if !t.lives(pid) {
			t.forget(pid)
		}
	}
}

// take reads one line.
func (t *timers) take(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("a request for a timer cannot be read: %w", err)
	}
	switch {
	case r.PID <= 0 || r.PID > math.MaxInt32 || r.Signal > 64 || len(r.Scope) > mostScope || r.At > 1<<40:
		return fmt.Errorf("a request for a timer is invalid: %.200q", line)
	case r.At < 0:
		t.takeBack(r)
		return nil
	}
	began, lives := t.began(r.PID)
	if p := t.of[r.PID]; p != nil && (!lives || p.began != began) {
		t.forget(r.PID)
	}
	if !lives {
		return nil // nobody is left to be ended
	}
	p := t.of[r.PID]
	if p != nil {
		if _, again := p.scopes[r.Scope]; again {
			p.scopes[r.Scope] = r
			return nil
		}
	}
	if t.all >= mostTimers {
		return errors.New("too many timers")
	}
	if p == nil {
		p = &process{began: began, scopes: map[string]request{}}
		t.of[r.PID] = p
	}
	p.scopes[r.Scope] = r
	t.all++
	return nil
}

// takeBack drops one timer.
func (t *timers) takeBack(r request) {
	p := t.of[r.PID]
	if p == nil {
		return
	}
	if _, found := p.scopes[r.Scope]; found {
		delete(p.scopes, r.Scope)
		t.all--
	}
	if len(p.scopes) == 0 {
		delete(t.of, r.PID)
	}
}

// expired are the processes that live and of which a timer has run out, and forgets theirs. As under torchrun the
// signal is that of the first timer that has one.
func (t *timers) expired(now time.Time) (list []Expired) {
	for pid, p := range t.of {
		var over []request
		for _, r := range p.scopes {
			if !now.Before(at(r)) {
				over = append(over, r)
			}
		}
		if len(over) == 0 {
			continue
		}
		if !t.lives(pid) {
			t.forget(pid)
			continue
		}
		slices.SortFunc(over, func(a, b request) int { return at(a).Compare(at(b)) })
		first := over[0]
		if i := slices.IndexFunc(over, func(r request) bool { return r.Signal > 0 }); i >= 0 {
			first = over[i]
		}
		list = append(list, Expired{
			PID: pid, Signal: max(first.Signal, 0), Scope: first.Scope, Late: now.Sub(at(first)), Began: p.began,
		})
		t.forget(pid)
	}
	slices.SortFunc(list, func(a, b Expired) int { return a.PID - b.PID })
	return list
}

func at(r request) time.Time { return time.UnixMilli(int64(r.At * 1000)) }
