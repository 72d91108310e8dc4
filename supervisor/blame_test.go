package supervisor

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// TestExited: who has exited 0 before the others had come as far is what they wait for.
func TestExited(t *testing.T) {
	lines, err := progress.Custom(`step (\d+)`)
	if err != nil {
		t.Fatal(err)
	}
	made := func(rank int, stop exitcodes.Stop, step int64) *worker {
		w := &worker{spec: Worker{Rank: rank}, outcome: exitcodes.Outcome{Stop: stop}, progress: progress.NewReader(lines)}
		w.progress.Stream()(fmt.Appendf(nil, "step %d\n", step))
		return w
	}
	stays := made(0, exitcodes.StoppedByGang, 30)
	for want, left := range map[string]*worker{
		"": made(1, exitcodes.StoppedByGang, 3),
		"; rank 1 had exited 0, and the others may wait for it":                made(1, exitcodes.NotStopped, 30),
		"; rank 1, at step 20 of 30, had exited 0, and the others wait for it": made(1, exitcodes.NotStopped, 20),
	} {
		if got := exited([]*worker{stays, left}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSilentSince: what torch's watchdog has written in the silence counts, however long the workers took to end.
func TestSilentSince(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &Supervisor{
			log: slog.New(slog.DiscardHandler), inbox: make(chan func(), 1), done: make(chan struct{}),
			cfg: Config{HangDir: func() string { return dir }}, health: &health{lingers: -1},
		}
		s.round.start = &agent.Start{Round: &rendezvous.Round{}}
		if since := s.hangCase().silentSince; !since.IsZero() {
			t.Errorf("there is no hang, and it is silent since %v", since)
		}
		found := time.Now()
		s.hangs(s.health, &hang.Report{Silence: 4 * time.Second})
		<-s.inbox
		time.Sleep(5 * time.Second)
		if since := s.hangCase().silentSince; !since.Equal(found.Add(-4 * time.Second)) {
			t.Errorf("silent since %v, want 4s before %v", since, found)
		}
	})
}

// TestFailedSince: a rank that fails when half of the silence is over, as when those of another node are ended, is not what the
// others have waited for. One that has failed at its beginning may be.
func TestFailedSince(t *testing.T) {
	const (
		printed = "step 29\n"
		failed  = "Traceback (most recent call last):\n  File \"gang.py\", line 9, in <module>\n    dist.all_reduce(x)\nRuntimeError: [gloo] Connection closed by peer\n"
		noise   = "terminate called without an active exception\n"
		dump    = "Fatal Python error: Aborted\n\nCurrent thread 0x00007f41c2a32740 (most recent call first):\n  <no Python frame>\n"
	)
	stopped := time.Now()
	type part struct {
		ago  time.Duration // before the stop
		text string
	}
	for name, test := range map[string]struct {
		parts []part
		want  bool
	}{
		"right before the stop":         {[]part{{4 * time.Second, printed}, {300 * time.Millisecond, failed}, {-time.Second, dump}}, true},
		"at the beginning":              {[]part{{5 * time.Second, printed}, {4 * time.Second, failed}, {-time.Second, dump}}, false},
		"at the beginning, and a noise": {[]part{{4 * time.Second, printed + failed}, {-time.Millisecond, noise + dump}}, false},
		"as an answer":                  {[]part{{4 * time.Second, printed}, {-time.Millisecond, failed + dump}}, false},
		"it prints on":                  {[]part{{4 * time.Second, printed}, {1500 * time.Millisecond, failed}, {200 * time.Millisecond, "trying it again with what is left\n"}, {-time.Millisecond, dump}}, false},
		"it prints":                     {[]part{{4 * time.Second, printed}, {time.Second, printed}, {-time.Millisecond, dump}}, false},
		"nothing":                       {nil, false},
	} {
		var text []byte
		var arrived []exitcodes.Arrival
		for _, p := range test.parts {
			arrived = append(arrived, exitcodes.Arrival{Offset: len(text), At: stopped.Add(-p.ago), Stream: 1})
			text = append(text, p.text...)
		}
		o := exitcodes.Outcome{Stop: exitcodes.StoppedByGang, StoppedAt: stopped}
		for _, c := range []hangCase{{}, {report: &hang.Report{Silence: 4 * time.Second}}} {
			if got := failedSince(o, text, arrived, c.halfOver(stopped), exitcodes.BuiltinRules()); got != test.want {
				t.Errorf("%s, report %v: %t", name, c.report != nil, got)
			}
		}
	}
}
