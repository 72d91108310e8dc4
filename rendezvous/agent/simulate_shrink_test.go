package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// shrink makes a job that goes wrong shorter as long as it still breaks the same promise: fewer faults, fewer nodes,
// nothing that does not matter, whole seconds.
func shrink(t *testing.T, c simConfig, wrong *sim) (simConfig, *sim) {
	until := time.Now().Add(*simShrink)
	for found := true; found; {
		found = false
		for _, less := range shorter(c) {
			if time.Now().After(until) {
				return c, wrong
			}
			if s := breaks(t, &less, wrong.promise()); s != nil {
				c, wrong, found = less, s, true
				break
			}
		}
	}
	return c, wrong
}

// promise is which one was broken.
func (s *sim) promise() string {
	what, _, _ := strings.Cut(strings.TrimSpace(s.wrong[min(10, len(s.wrong)):]), ":")
	return what
}

// breaks is fails for one promise, with other random numbers each time: a shorter job draws others anyway.
func breaks(t *testing.T, c *simConfig, promise string) *sim {
	for range attempts {
		if s := run(t, *c); s.wrong != "" && s.promise() == promise {
			return s
		}
		c.seed++
	}
	return nil
}

// shorter lists jobs that are a little simpler, what saves most first.
func shorter(c simConfig) (list []simConfig) {
	with := func(change func(*simConfig)) {
		less := c
		less.faults = slices.Clone(c.faults)
		change(&less)
		list = append(list, less)
	}
	for i := range c.faults {
		with(func(less *simConfig) { less.faults = slices.Delete(less.faults, i, i+1) })
	}
	for n := 2; n < c.n; n++ {
		with(func(less *simConfig) { less.n, less.min = n, min(c.min, n) })
	}
	for _, is := range []func(*simConfig) *bool{
		func(c *simConfig) *bool { return &c.unique }, func(c *simConfig) *bool { return &c.pinned },
		func(c *simConfig) *bool { return &c.volatile }, func(c *simConfig) *bool { return &c.nameless },
		func(c *simConfig) *bool { return &c.saves }, func(c *simConfig) *bool { return &c.looks },
		func(c *simConfig) *bool { return &c.fatal }, func(c *simConfig) *bool { return &c.side },
	} {
		if *is(&c) {
			with(func(less *simConfig) { *is(less) = false })
		}
	}
	if !c.calm {
		with(func(less *simConfig) { less.calm = true })
	}
	if c.skew > 0 {
		with(func(less *simConfig) { less.skew = 0 })
	}
	if c.min < c.n {
		with(func(less *simConfig) { less.min = c.n })
	}
	for i, f := range c.faults {
		if at := f.at.Truncate(time.Second); at != f.at {
			with(func(less *simConfig) { less.faults[i].at = at })
		}
		if long := f.long.Truncate(time.Second); long != f.long {
			with(func(less *simConfig) { less.faults[i].long = long })
		}
		if f.long > 0 {
			with(func(less *simConfig) { less.faults[i].long = 0 })
		}
		if f.node > 0 {
			with(func(less *simConfig) { less.faults[i].node = f.node % c.n / 2 })
		}
	}
	return list
}
