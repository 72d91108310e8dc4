package gang

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor"
)

// TestRoundEnded: a log has torchrun's line about each rank that failed by itself; who reads along has just been told of the
// one that caused it.
func TestRoundEnded(t *testing.T) {
	ended := func(pid int, stop exitcodes.Stop, status exitcodes.Status) supervisor.Ended {
		e := supervisor.Ended{PID: pid, Stop: stop, Status: status}
		e.Argv = []string{"python3"}
		return e
	}
	round := supervisor.Round{Cause: 1, Workers: []supervisor.Ended{
		ended(11, exitcodes.NotStopped, exitcodes.Status{Code: 1}),
		ended(12, exitcodes.NotStopped, exitcodes.Status{Signal: 9}),
		ended(13, exitcodes.StoppedByGang, exitcodes.Status{Signal: 15}),
		ended(14, exitcodes.NotStopped, exitcodes.Status{}),
	}}
	for brief, want := range map[bool][]string{false: {"(pid: 11)", "(pid: 12)"}, true: {"(pid: 11)"}} {
		var b bytes.Buffer
		g := Torchrun{Brief: brief, Log: slog.New(slog.NewTextHandler(&b, nil))}
		g.RoundEnded(round)
		if lines := strings.Count(b.String(), "\n"); lines != len(want) {
			t.Errorf("brief %v: %d lines: %s", brief, lines, b.String())
		}
		for _, pid := range want {
			if !strings.Contains(b.String(), pid) {
				t.Errorf("brief %v: nothing about %s: %s", brief, pid, b.String())
			}
		}
	}
}
