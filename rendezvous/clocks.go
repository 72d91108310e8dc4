package rendezvous

import "time"

// Moved is the record with its times put forward, from the clock of the leader that wrote them to that of another
// machine: the difference is what that machine's clock showed when it first saw the record, less At. The times then
// tell how long ago things were, and clocks are compared with none but themselves. What only people read stays.
func (j *Job) Moved(by time.Duration) *Job {
	if j.At.IsZero() || by == 0 {
		return j
	}
	c := j.clone()
	for _, at := range []*time.Time{&c.At, &c.Since, &c.QuorumSince, &c.NotBefore} {
		*at = moved(*at, by)
	}
	if c.Save != nil {
		save := *c.Save
		save.At, save.By = moved(save.At, by), moved(save.By, by)
		c.Save = &save
	}
	if c.Stop != nil {
		c.Stop.At = moved(c.Stop.At, by)
	}
	if c.Clock -= Duration(by); by.Abs() > mostClock || c.Clock.of().Abs() > mostClock {
		c.Clock = 0 // no clock is that far ahead: it starts over
	}
	for i := range c.Bans {
		b := &c.Bans[i]
		b.Until, b.Last.At = moved(b.Until, by), moved(b.Last.At, by)
	}
	for i, at := range c.Budget.Recent {
		c.Budget.Recent[i] = moved(at, by)
	}
	return c
}

// mostClock bounds by how much clocks differ, so that adding it never overflows.
const mostClock = 100 * 365 * 24 * time.Hour

func moved(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(by)
}

// Same reports whether two records are the same one, read twice.
func (j *Job) Same(other *Job) bool {
	return other != nil && j.Store == other.Store && j.RunUID == other.RunUID && j.Seq == other.Seq
}

// pause is how much of the backoff was left when the record was written, or seen by whoever brings it.
func (j *Job) pause() time.Duration {
	if j.NotBefore.IsZero() {
		return 0
	}
	most := j.Spec.Restarts.BackoffMax.of()
	if most == 0 {
		most = DefaultBackoffMax
	}
	return min(max(0, j.NotBefore.Sub(j.At)), most)
}
