package serve

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/gangrun/gangrun/observe/account"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/observe/timeline"
)

// mostRounds is how many rounds are remembered with their members.
const mostRounds = 64

// Feed follows the events for those who look at the page. What it does for each event is little and never waits: what
// is shown is made when somebody looks.
type Feed struct {
	job func() *Job // may be nil

	mu      sync.Mutex
	line    timeline.Timeline
	rounds  []round
	version int64
	changed chan struct{} // closed at the next event
}

// round is who took part in one.
type round struct {
	Round   int      `json:"round"`
	Members []string `json:"members"` // those that are named
}

// NewFeed is a feed without events. job tells what the job's record says, at once; nil where that is unknown.
func NewFeed(job func() *Job) *Feed {
	if job == nil {
		job = func() *Job { return nil }
	}
	return &Feed{job: job, changed: make(chan struct{})}
}

// Take takes events as they come: it is an observe.Receiver.
func (f *Feed) Take(events []event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		f.line.Add(e)
		if e.Type == event.RoundBegan && e.Round != nil {
			f.took(*e.Round)
		}
	}
	f.version++
	close(f.changed)
	f.changed = make(chan struct{})
}

// took remembers who takes part in a round.
func (f *Feed) took(number int) {
	job := f.job()
	if job == nil || job.Round != number {
		return
	}
	r := round{Round: number}
	for _, m := range job.Members {
		r.Members = append(r.Members, m.Name)
	}
	if f.rounds = append(f.rounds, r); len(f.rounds) > mostRounds {
		f.rounds = append([]round(nil), f.rounds[1:]...)
	}
}

// state is which version there is, and what is closed when there is a newer one.
func (f *Feed) state() (version int64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.changed
}

// drawn is what the page draws, as of a version.
func (f *Feed) drawn() ([]byte, error) {
	f.mu.Lock()
	picture, rounds := f.line.Picture(), append([]round{}, f.rounds...)
	f.mu.Unlock()
	return json.Marshal(struct {
		timeline.Picture
		Rounds []round `json:"rounds"`
	}{picture, rounds})
}

// shown is what the page says besides: what /status does at that time, and the job's record.
func (f *Feed) shown(at func(time.Time) account.Summary, now time.Time) ([]byte, error) {
	return json.Marshal(struct {
		Status account.Summary `json:"status"`
		Job    *Job            `json:"job,omitempty"`
	}{at(now), f.job()})
}
