package supervisor

import (
	"log/slog"
	"testing"
	"time"

	"github.com/gangrun/gangrun/supervisor/hang"
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
