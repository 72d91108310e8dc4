// Package manager tells whoever has started gangrun how it is, in the protocol of sd_notify(3): systemd, or podman
// for a container. It is told nothing where NOTIFY_SOCKET is not set.
package manager

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/observe/event"
)

const (
	extendEvery = 5 * time.Second  // while a checkpoint is saved in a stop
	extendBy    = 15 * time.Second // from then on
	mostStatus  = 200              // characters
)

// Wanted reports whether there is somebody to tell.
func Wanted() bool { return os.Getenv("NOTIFY_SOCKET") != "" }

// Manager is who has started gangrun.
type Manager struct {
	said chan []event.Event
	tell task.Task
}

// Config is what the manager is told by.
type Config struct {
	// Alive reports whether gangrun does its work: without it the watchdog is not fed. It may take a moment.
	Alive func() bool
	Log   *slog.Logger
}

// New tells that gangrun is ready: it can do its part from the start, which is to find the other nodes. The watchdog is
// fed from then on, if there is one, until Close.
func New(cfg Config) *Manager {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		cfg.Log.Warn("cannot feed the watchdog of gangrun's manager", "err", err)
	}
	m := &Manager{said: make(chan []event.Event, 64)}
	t := &teller{send: func(state string) error { _, err := daemon.SdNotify(false, state); return err }, log: cfg.Log}
	m.tell = task.Begin(func() { m.run(t, watchdog, cfg.Alive) })
	return m
}

// Take hears of events. It never waits: what a manager that does not read misses is a status.
func (m *Manager) Take(events []event.Event) {
	select {
	case m.said <- events:
	default:
	}
}

// Close ends it, for no longer than limit.
func (m *Manager) Close(limit time.Duration) {
	close(m.said)
	m.tell.EndsWithin(limit)
}

func (m *Manager) run(t *teller, watchdog time.Duration, alive func() bool) {
	var feed <-chan time.Time
	if watchdog > 0 {
		ticker := time.NewTicker(watchdog / 2)
		defer ticker.Stop()
		feed = ticker.C
	}
	extend := time.NewTicker(extendEvery)
	defer extend.Stop()
	t.tell("READY=1")
	for {
		select {
		case events, more := <-m.said:
			if !more {
				return
			}
			for _, e := range events {
				t.take(e)
			}
		case <-feed:
			if alive() {
				t.tell("WATCHDOG=1")
			}
		case <-extend.C:
			if t.leaving && t.saving && alive() {
				t.extend()
			}
		}
	}
}

// teller makes of events what a manager understands.
type teller struct {
	send            func(string) error
	log             *slog.Logger
	complained      bool
	leaving, saving bool
	checkpoint      *int64
	phase           string
}

func (t *teller) tell(lines ...string) {
	if err := t.send(strings.Join(lines, "\n")); err != nil && !t.complained {
		t.complained = true
		t.log.Warn("cannot notify gangrun's manager", "err", err)
	}
}

func (t *teller) extend() {
	t.tell(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extendBy.Microseconds()))
}

func (t *teller) take(e event.Event) {
	switch e.Type {
	case event.RunStarted:
		t.phase = "waiting for the first round"
	case event.RoundBegan:
		t.phase = "starting"
	case event.RoundRunning, event.Progress, event.SavingEnded:
		t.saving = t.saving && e.Type == event.Progress
		if !t.leaving {
			t.phase = "training"
		}
	case event.SavingBegan:
		t.saving = true
		if t.leaving {
			t.extend()
		} else {
			t.phase = "saving a checkpoint"
		}
	case event.CheckpointSaved:
		t.checkpoint = &e.Checkpoint.Step
	case event.RoundStopping:
		t.phase = "stopping: " + e.Stopping.Why
	case event.RoundEnded:
		t.phase, t.saving = "waiting for the next round", false
	case event.Leaving:
		t.leaving, t.phase = true, "leaving: "+e.Leave.Why
		t.tell("STOPPING=1", t.status(e))
		if t.saving {
			t.extend()
		}
		return
	case event.RunEnded:
		t.phase = fmt.Sprintf("%s, %s", e.End.Verdict, e.End.Reason)
		t.tell("STOPPING=1", t.status(e))
		return
	default:
		return
	}
	t.tell(t.status(e))
}

// status is one line, whatever a worker may have put into it.
func (t *teller) status(e event.Event) string {
	var parts []string
	if e.Round != nil {
		parts = append(parts, fmt.Sprintf("round %d", *e.Round))
	}
	if e.Step != nil {
		parts = append(parts, fmt.Sprintf("step %d", *e.Step))
	}
	if t.checkpoint != nil {
		parts = append(parts, fmt.Sprintf("checkpoint of step %d", *t.checkpoint))
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.Join(append(parts, cmp.Or(t.phase, "running")), ", "))
	if runes := []rune(text); len(runes) > mostStatus {
		text = string(runes[:mostStatus])
	}
	return "STATUS=" + text
}
