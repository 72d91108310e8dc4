package supervisor

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// raised is what Python prints of an exception that nobody caught.
const raised = `printf 'Traceback (most recent call last):\n  File "/train.py", line 3, in <module>\n    f()\nValueError: no such column\n' >&2; `

// TestLingering: what has failed by its last words and does nothing then has failed.
func TestLingering(t *testing.T) {
	for _, test := range []struct {
		mode hang.Mode
		last string
		code int
		says string
	}{
		{hang.Auto, "sleep 60", 1, "rank 1 has failed and does not end; it does nothing for "},
		{hang.Observe, "sleep 4", 0, "a worker appears to hang at its exit"},
		{hang.Off, "sleep 2", 0, ""},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			r := newTrial(t, shell("exec "+test.last, raised+"exec "+test.last))
			r.cfg.Hang = hang.Policy{Mode: test.mode, ExitTimeout: 400 * time.Millisecond}
			r.cfg.PythonStacks, r.cfg.HangDir = true, t.TempDir
			if code := r.run(t); code != test.code {
				t.Errorf("exits with %d, want %d: %s", code, test.code, &r.err)
			}
			if !strings.Contains(r.err.String(), test.says) {
				t.Errorf("%q is not in %s", test.says, &r.err)
			}
			const failed = "rank 1 had failed, and did not end: ValueError: no such column"
			if m := r.message; test.code != 0 && (m.Verdict != exitcodes.Fatal || !strings.Contains(m.Message, failed)) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestLivesAfterAll: a worker that prints something while its state is read is not ended for what it did not do before.
func TestLivesAfterAll(t *testing.T) {
	for _, prints := range []bool{false, true} {
		s := &Supervisor{log: slog.New(slog.DiscardHandler), inbox: make(chan func(), 1), done: make(chan struct{}), cfg: Config{Alone: true}}
		w := &worker{progress: progress.NewReader(nil)}
		s.round.workers = []*worker{w}
		now := time.Now().Add(-time.Hour)
		h := &health{
			log: s.log, detector: hang.New(hang.Policy{}, 1, now), endings: hang.NewEndings(400*time.Millisecond, 1, now),
			signs: make([]progress.Sign, 1), final: map[int]string{}, lingers: -1,
		}
		s.health = h
		for over := false; !over; now = now.Add(100 * time.Millisecond) {
			do := h.endings.Tick(now)
			for range do.Read {
				h.endings.Said(0, h.endings.Since(0), true)
			}
			for range do.Sample {
				h.endings.Used(0, hang.Usage{}, now)
			}
			over = do.Over == 0
		}
		s.lingers(h, 0)
		goOn := <-s.inbox
		if prints {
			w.progress.Stream()([]byte("it goes on\n"))
		}
		func() {
			defer func() { _ = recover() }() // there is no node that could end it
			goOn()
		}()
		if ends := h.lingers == 0; ends == prints {
			t.Errorf("prints: %v, is ended: %v", prints, ends)
		}
	}
}

// TestLiving: none of these does nothing, however its last words look.
func TestLiving(t *testing.T) {
	const busy = "timeout 4 nice -n 19 sh -c 'while :; do :; done'; "
	r := newTrial(t, shell(
		raised+busy+"exit 0",
		raised+"sleep 0.2; "+busy+"exit 0",
		raised+"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.2; done; exit 0",
		raised+"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.2; echo it goes on; done; exit 0",
		strings.Replace(raised, "Traceback", `ERROR:root:skipped\nTraceback`, 1)+"exec sleep 4",
		raised+"sleep 0.1; echo it goes on; exec sleep 4",
	))
	r.cfg.Hang = hang.Policy{ExitTimeout: 400 * time.Millisecond}
	if code := r.run(t); code != 0 {
		t.Errorf("exits with %d: %s", code, &r.err)
	}
}
