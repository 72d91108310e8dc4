// Package notify receives what a worker reports about itself, by the protocol of sd_notify(3): datagrams to the socket that
// NOTIFY_SOCKET names.
package notify

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	maxDatagram = 4 << 10 // bytes; what is longer is refused
	maxRanks    = 4096    // that may report to one socket
	mostSteps   = 1024    // that are kept until somebody takes them
)

// Socket is where one worker and its descendants report to.
type Socket struct {
	// Path is the socket's, for NOTIFY_SOCKET.
	Path string

	ears   *Ears
	fd     int  // -1: it is closed
	stamps bool // the kernel says when a datagram came

	mu      sync.Mutex
	fresh   bool         // something was heard since somebody asked
	ranks   map[int]rank // -1 for a worker that does not say which it is
	steps   []Report     // since somebody took them, the oldest first
	total   *int64       // steps of the training run, as told last
	problem error
}

// rank is what one rank has said last.
type rank struct {
	step    *int64
	steps   int // that were told, each another than the one before
	phase   string
	stepped bool // since the phase was told
	looks   bool
	own     time.Duration
	at      time.Time // the step was told
}

// heard takes a datagram that came at that time.
func (s *Socket) heard(datagram []byte, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = true
	if err := s.hear(datagram, at); err != nil && s.problem == nil {
		s.problem = err
	}
}

func (s *Socket) hear(datagram []byte, at time.Time) error {
	if len(datagram) > maxDatagram {
		return fmt.Errorf("a message of more than %d bytes", maxDatagram)
	}
	m, err := Parse(datagram)
	if err != nil {
		return err
	}
	if m.Total != nil {
		s.total = m.Total
	}
	if m.Step == nil && m.Phase == "" && !m.Looks {
		return nil
	}
	r, known := s.ranks[m.Rank]
	if !known && len(s.ranks) >= maxRanks {
		return errors.New("too many ranks on one socket")
	}
	if m.Step != nil {
		if r.step == nil || *r.step != *m.Step {
			r.steps++
		}
		r.step, r.stepped, r.own, r.at = m.Step, true, m.Own, at
	}
	if m.Phase != "" {
		r.phase, r.stepped = m.Phase, false
	}
	r.looks = r.looks || m.Looks
	s.ranks[m.Rank] = r
	if m.Step != nil {
		if len(s.steps) >= mostSteps {
			s.steps = append(s.steps[:0], s.steps[mostSteps/2:]...)
		}
		s.steps = append(s.steps, r.report(m.Rank))
	}
	return nil
}

// Least is the step that every rank which reports here has finished, by what was heard.
func (s *Socket) Least() (step int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.least()
}

func (s *Socket) least() (step int64, known bool) {
	for _, r := range s.ranks {
		if r.step != nil && (!known || *r.step < step) {
			step, known = *r.step, true
		}
	}
	return step, known
}

// Said is what the ranks that report here have said.
type Said struct {
	Stopping
	Step   *int64    // that every rank which reports here has finished; nil: none was told
	At     time.Time // when the newest step of any rank came
	Saving bool      // one is saving a checkpoint
	Total  *int64    // how many steps the training run has in all, as told last; nil while nobody has told
}

// Fresh reports whether anything was heard since it was called last.
func (s *Socket) Fresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.fresh
	s.fresh = false
	return fresh
}

// Said is what was heard so far; CatchUp before it takes along what was sent right before.
func (s *Socket) Said() (said Said) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if step, known := s.least(); known {
		said.Step = &step
	}
	said.Stopping, said.Total = s.stopping(), s.total
	for _, r := range s.ranks {
		said.Saving = said.Saving || r.phase == PhaseCheckpoint
		if r.at.After(said.At) {
			said.At = r.at
		}
	}
	return said
}

// Report is what one rank has said last.
type Report struct {
	Rank  int    // -1 for a worker that does not say which it is
	Step  *int64 // nil when it has told none
	Steps int    // that it has told so far, each another than the one before
	Phase string // "" when it has told none
	// Stepped tells that the step came after the phase.
	Stepped bool
	// Own is how much of the step the rank has spent without waiting for others; 0 when it has not told. At is when it came.
	Own time.Duration
	At  time.Time
}

// Reports are what the ranks that report here have said last, in no order.
func (s *Socket) Reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Report, 0, len(s.ranks))
	for n, r := range s.ranks {
		list = append(list, r.report(n))
	}
	return list
}

func (r rank) report(n int) Report {
	return Report{Rank: n, Step: r.step, Steps: r.steps, Phase: r.phase, Stepped: r.stepped, Own: r.own, At: r.at}
}

// TakeSteps are the steps that were told since the last call, one after the other as they came. Of very many the oldest are
// missing.
func (s *Socket) TakeSteps() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := s.steps
	s.steps = nil
	return steps
}

// Told reports whether any rank has told a step here.
func (s *Socket) Told() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.ranks {
		if r.step != nil {
			return true
		}
	}
	return false
}

// CatchUp reads what was sent before the call.
func (s *Socket) CatchUp() { s.ears.Hear() }

// Problem is the first message that could not be understood, once: nil until there is one, and after it was told.
func (s *Socket) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.problem
	if err != nil {
		s.problem = errTold
	}
	if err == errTold {
		return nil
	}
	return err
}

var errTold = errors.New("told already")

// Close ends the socket and removes it. What was heard before stays.
func (s *Socket) Close() {
	s.ears.forget(s)
	_ = os.Remove(s.Path) // or the directory's owner does it
}
