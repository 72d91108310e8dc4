package command

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/signals"
)

func (o *options) parseGrace(s string) error {
	o.graceGiven = true
	return duration(&o.Grace)(s)
}

// parseNotice reads the signal that gives notice of the end, and how long before.
func (o *options) parseNotice(s string) error {
	name, ahead, timed := strings.Cut(s, "@")
	n, err := exitcodes.ParseSignal(name)
	switch {
	case err != nil:
		return err
	case !signals.Passes(unix.Signal(n)):
		return fmt.Errorf("%s cannot be caught", exitcodes.SignalName(n))
	}
	o.Notice.Signal, o.notice = unix.Signal(n), 0
	if !timed {
		return nil
	}
	return positive(&o.notice)(ahead)
}

// adaptGrace keeps the grace below the pod's and the time limit. A default adapts to what the pod leaves, and to a quarter
// of the time limit, so that most of it is for training.
func (o *options) adaptGrace() error {
	for _, limit := range []struct {
		flag    string
		time    time.Duration
		or      string
		instead time.Duration
	}{
		{"--pod-grace", o.podGrace, "the pod is killed before its message is written", beforeKill(o.podGrace)},
		{"--time-limit", o.TimeLimit, "there is no time to train", o.TimeLimit / 4},
	} {
		switch {
		case limit.time == 0:
		case !o.graceGiven:
			o.Grace = min(o.Grace, limit.instead)
		case o.Grace >= limit.time:
			return &configError{fmt.Sprintf("--grace %v has to be below %s %v, or %s", o.Grace, limit.flag, limit.time, limit.or)}
		}
	}
	o.SaveGrace, o.Notice.Grace = beforeKill(o.podGrace), o.Grace
	if o.notice != 0 {
		o.Notice.Grace = beforeKill(o.notice)
	}
	return o.checkNotice()
}

// beforeKill is the workers' share of the time until everything is killed from outside: the rest is for their leftovers and
// the message.
func beforeKill(d time.Duration) time.Duration { return d - min(5*time.Second, d/4) }

// checkNotice refuses a signal that cannot be a notice.
func (o *options) checkNotice() error {
	sig := o.Notice.Signal
	mapped, found := o.SignalMap[sig]
	switch {
	case sig == 0:
	case slices.Contains(o.StopSignals, sig):
		return &configError{fmt.Sprintf("--notice-signal %[1]s: %[1]s is a stop signal already", exitcodes.SignalName(int(sig)))}
	case found && mapped == 0:
		return &configError{fmt.Sprintf("--notice-signal %[1]s: --signal-map drops %[1]s", exitcodes.SignalName(int(sig)))}
	}
	return nil
}
