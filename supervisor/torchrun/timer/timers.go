package timer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// What a worker may make us remember.
const (
	mostTimers = 4096
	mostScope  = 200 // bytes of a scope's name
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
}

// timers are those that run, by process and scope.
type timers map[int]map[string]request

// take reads one line.
func (t timers) take(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("a request for a timer cannot be read: %w", err)
	}
	switch {
	case r.PID <= 0 || r.PID > math.MaxInt32 || r.Signal > 64 || len(r.Scope) > mostScope || r.At > 1<<40:
		return fmt.Errorf("a request for a timer is invalid: %.200q", line)
	case r.At < 0:
		delete(t[r.PID], r.Scope)
		return nil
	case len(t) >= mostTimers || len(t[r.PID]) >= mostTimers:
		return errors.New("too many timers")
	}
	if t[r.PID] == nil {
		t[r.PID] = map[string]request{}
	}
	t[r.PID][r.Scope] = r
	return nil
}

// expired are the processes of which a timer has run out, and forgets theirs. As under torchrun the signal is that of the
// first timer that has one.
func (t timers) expired(now time.Time) (list []Expired) {
	for pid, scopes := range t {
		var over []request
		for _, r := range scopes {
			if !now.Before(at(r)) {
				over = append(over, r)
			}
		}
		if len(over) == 0 {
			continue
		}
		slices.SortFunc(over, func(a, b request) int { return at(a).Compare(at(b)) })
		first := over[0]
		if i := slices.IndexFunc(over, func(r request) bool { return r.Signal > 0 }); i >= 0 {
			first = over[i]
		}
		list = append(list, Expired{PID: pid, Signal: max(first.Signal, 0), Scope: first.Scope, Late: now.Sub(at(first))})
		delete(t, pid)
	}
	slices.SortFunc(list, func(a, b Expired) int { return a.PID - b.PID })
	return list
}

func at(r request) time.Time { return time.UnixMilli(int64(r.At * 1000)) }
