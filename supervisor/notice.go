package supervisor

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
)

// Notice is the signal by which a scheduler says that the end is near.
type Notice struct {
	Signal unix.Signal   // 0: there is none
	Grace  time.Duration // from it to SIGKILL
}

// outside is a call for the end of this node from outside: a stop signal, the notice of one, the time limit.
type outside struct {
	kind   string      // for the log
	what   string      // has come, for a person
	signal unix.Signal // with which the workers were stopped, as the exit code tells
	until  time.Time   // the workers, and then their leftovers, have time
	saveBy time.Time   // so long has a worker that saves a checkpoint; not before until
	waits  bool        // for one that does: until is saveBy by now
}

// called is what a signal that asks for the end means when it comes now.
func (s *Supervisor) called(sig unix.Signal, now time.Time) *outside {
	o := &outside{kind: "signal from outside", what: exitcodes.SignalName(int(sig)) + " from outside", signal: sig}
	grace := s.cfg.Grace
	switch {
	case s.isNotice(sig):
		o.kind, o.what, o.signal = "notice from outside", "the notice "+o.what, unix.SIGTERM
		grace = s.cfg.Notice.Grace
	case s.outside != nil && sig == unix.SIGINT: // a person who has waited long enough
		o.until, o.saveBy = now, now
		return o
	}
	o.until, o.saveBy = s.times(now, grace)
	return o
}

// times says until when workers have time that may save what they have, and until when if they are saving a checkpoint
// by then.
func (s *Supervisor) times(now time.Time, grace time.Duration) (until, saveBy time.Time) {
	until, saveBy = now.Add(grace), now.Add(max(grace, s.cfg.SaveGrace))
	return earlier(until, s.overBy()), earlier(saveBy, s.overBy())
}

// shorten takes in a later call: no worker gets more time by it.
func (o *outside) shorten(later *outside) {
	o.until, o.saveBy = earlier(o.until, later.until), earlier(o.saveBy, later.saveBy)
	if o.waits {
		o.until = o.saveBy
	}
}

// named puts what has come in the place of the signal that the workers got because of it.
func (o *outside) named(text string) string {
	return strings.Replace(text, exitcodes.SignalName(int(o.signal))+" from outside", o.what, 1)
}

func (s *Supervisor) isNotice(sig unix.Signal) bool { return sig == s.cfg.Notice.Signal }

// passedOn is what a worker gets when sig comes; 0 for nothing. A notice is for us: what a worker knows is SIGTERM.
func (s *Supervisor) passedOn(sig unix.Signal) unix.Signal {
	if mapped, found := s.cfg.SignalMap[sig]; found {
		return mapped
	}
	if s.isNotice(sig) {
		return unix.SIGTERM
	}
	return sig
}

// overBy is when the run on this node has to be over; zero when nobody has said.
func (s *Supervisor) overBy() time.Time {
	if s.cfg.TimeLimit == 0 {
		return time.Time{}
	}
	return s.startedAt.Add(s.cfg.TimeLimit)
}

// doneBy is when everything that is left to do has to be done; zero when there is all the time.
func (s *Supervisor) doneBy() time.Time {
	if s.outside != nil {
		return s.outside.until
	}
	return s.overBy()
}

// limitAt is when the time limit gives notice; zero when it does not, or the end was called for before.
func (s *Supervisor) limitAt() time.Time {
	if s.cfg.TimeLimit == 0 || s.outside != nil {
		return time.Time{}
	}
	return s.overBy().Add(-s.cfg.Grace)
}

// limitDue stops the node when its time limit is near.
func (s *Supervisor) limitDue(now time.Time) {
	if at := s.limitAt(); s.phase == ended || at.IsZero() || now.Before(at) {
		return
	}
	s.stopFromOutside(&outside{
		kind: "time limit", what: fmt.Sprintf("the time limit of %v", s.cfg.TimeLimit), signal: unix.SIGTERM,
		until: s.overBy(), saveBy: s.overBy(),
	}, unix.SIGTERM)
}

// earlier is the earlier of two times of which either may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
