package supervisor

import (
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/process"
)

// TestLateEvidence: what was gathered of an earlier suspicion tells nothing of the next one.
func TestLateEvidence(t *testing.T) {
	s := &Supervisor{log: slog.New(slog.DiscardHandler), inbox: make(chan func(), 2), done: make(chan struct{}), cfg: Config{Alone: true}}
	s.round.workers = []*worker{{}}
	h := &health{log: s.log, detector: hang.New(hang.Policy{}, 1, time.Now())}
	s.suspected(h, &hang.Report{})
	first := <-s.inbox
	s.suspected(h, &hang.Report{})
	if first(); h.state != nil {
		t.Error("it counts")
	}
	if second := <-s.inbox; h.state == nil {
		if second(); h.state == nil {
			t.Error("that of the newest does not")
		}
	}
}

// TestStateOfTheEnded: on a busy machine the evidence may be seen only when the workers are being held, or ended, already. That
// they and their launchers are stopped then is gangrun's doing, and not why they hang.
func TestStateOfTheEnded(t *testing.T) {
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = sleeper.Process.Kill(), sleeper.Wait() }()
	if err := sleeper.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for now := process.Look(sleeper.Process.Pid); now[0].State != 'T'; now = process.Look(sleeper.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	ends := map[string]func(*Supervisor){"held": (*Supervisor).hold, "ended": (*Supervisor).dump}
	for how, end := range ends {
		for _, before := range []bool{false, true} {
			s := &Supervisor{log: slog.New(slog.DiscardHandler), inbox: make(chan func(), 2), done: make(chan struct{}), cfg: Config{Alone: true}}
			s.round.workers = []*worker{{pid: sleeper.Process.Pid}}
			s.health = &health{log: s.log, detector: hang.New(hang.Policy{}, 1, time.Now())}
			if before {
				end(s)
				<-s.inbox
			}
			s.suspected(s.health, &hang.Report{})
			gathered := <-s.inbox
			if !before {
				end(s)
			}
			gathered()
			state := s.health.state
			if state == nil || (state.trouble[0] == "") != before || !strings.Contains(state.shown, "(sleep) state T") {
				t.Errorf("%s before it was seen: %v, and it tells %+v", how, before, state)
			}
		}
	}
}
