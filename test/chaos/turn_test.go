package chaos_test

import (
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

func (j *job) over() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closed
}

// give gives the job up because the test itself cannot go on. It needs the lock.
func (j *job) give(err error) {
	if j.broken == nil {
		j.broken = err
	}
}

// later does something with the lock held, unless the job is over by then.
func (j *job) later(d time.Duration, do func()) {
	j.tasks.Go(func() {
		for until := time.Now().Add(d); time.Now().Before(until); {
			time.Sleep(min(20*time.Millisecond, time.Until(until)))
			if j.over() {
				return
			}
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		if !j.closed {
			do()
		}
	})
}

// notice writes down when this process got no processor time: then neither did those that are measured.
func (j *job) notice() {
	for last := history.Now(); !j.over(); {
		time.Sleep(50 * time.Millisecond)
		now := history.Now()
		if time.Duration(now-last) > 2*time.Second {
			from := last
			j.with(func() {
				j.past.Faults = append(j.past.Faults, history.Fault{Kind: history.Starved, From: from, To: now})
			})
		}
		last = now
	}
}

func (j *job) with(do func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do()
}

// sleep reports whether the job still goes on after that time.
func (j *job) sleep(d time.Duration) bool {
	for until := time.Now().Add(d); time.Now().Before(until); {
		time.Sleep(min(50*time.Millisecond, time.Until(until)))
		if j.over() {
			return false
		}
	}
	return true
}

// until waits for something that is read with the lock held. Of a time in which this process did not run only a part
// counts: those that are waited for did not run either.
func (j *job) until(limit time.Duration, ok func() bool) bool {
	const most = 200 * time.Millisecond // of a turn
	for last, waited := time.Now(), time.Duration(0); ; time.Sleep(20 * time.Millisecond) {
		j.mu.Lock()
		is, broken := ok(), j.broken != nil
		j.mu.Unlock()
		if is {
			return true
		}
		now := time.Now()
		waited, last = waited+min(now.Sub(last), most), now
		if broken || waited > limit {
			return false
		}
	}
}
