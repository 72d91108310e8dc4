package manager

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
)

// TestStatus is what a manager is told of a run, line by line.
func TestStatus(t *testing.T) {
	var told []string
	teller := &teller{log: slog.New(slog.DiscardHandler)}
	teller.send = func(s string) error { told = append(told, s); return nil }
	round, step := 1, int64(7)
	for _, e := range []event.Event{
		{Type: event.RunStarted},
		{Type: event.RoundBegan, Round: &round},
		{Type: event.RoundRunning, Round: &round},
		{Type: event.Progress, Round: &round, Step: &step},
		{Type: event.CheckpointSaved, Round: &round, Step: &step, Checkpoint: &event.Checkpoint{Step: 5}},
		{Type: event.SavingBegan, Round: &round, Step: &step},
		{Type: event.Leaving, Round: &round, Step: &step, Leave: &event.Leave{Why: "SIGTERM"}},
		{Type: event.SavingEnded, Round: &round, Step: &step},
		{Type: event.RoundStopping, Round: &round, Stopping: &event.Stopping{
			Why: "a\nREADY=0\x1b" + strings.Repeat("x", 500),
		}},
		{Type: event.RunEnded, Round: &round, End: &event.End{Verdict: exitcodes.Preempted, Reason: "Preempted"}},
	} {
		teller.take(e)
	}
	want := []string{
		"STATUS=waiting for the first round",
		"STATUS=round 1, starting",
		"STATUS=round 1, training",
		"STATUS=round 1, step 7, training",
		"STATUS=round 1, step 7, checkpoint of step 5, training",
		"STATUS=round 1, step 7, checkpoint of step 5, saving a checkpoint",
		"STOPPING=1\nSTATUS=round 1, step 7, checkpoint of step 5, leaving: SIGTERM",
		"EXTEND_TIMEOUT_USEC=15000000",
		"STATUS=round 1, step 7, checkpoint of step 5, leaving: SIGTERM",
		"", // below
		"STOPPING=1\nSTATUS=round 1, checkpoint of step 5, preempted, Preempted",
	}
	long := told[9]
	if strings.Contains(long, "\n") || len(long) > mostStatus+len("STATUS=") ||
		!strings.Contains(long, "stopping: a READY=0 x") {
		t.Errorf("%q", long)
	}
	told[9] = ""
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q\nwant\n%q", told, want)
	}
}

// TestWatchdog is fed while gangrun does its work, and not when it does not.
func TestWatchdog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	read := func() string {
		buf := make([]byte, 4096)
		_ = socket.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := socket.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	if !Wanted() {
		t.Fatal("nobody is there")
	}
	var alive atomic.Bool
	var asked atomic.Int32
	alive.Store(true)
	m := New(Config{Alive: func() bool { asked.Add(1); return alive.Load() }, Log: slog.New(slog.DiscardHandler)})
	if first := read(); first != "READY=1" {
		t.Errorf("first %q", first)
	}
	for range 3 {
		if said := read(); said != "WATCHDOG=1" {
			t.Errorf("%q", said)
		}
	}
	alive.Store(false)
	m.Take([]event.Event{{Type: event.RunStarted}})
	for read() != "STATUS=waiting for the first round" {
	}
	for before := asked.Load(); asked.Load() < before+5; {
		time.Sleep(time.Millisecond)
	}
	m.Take([]event.Event{{Type: event.RoundEnded}})
	m.Close(time.Minute)
	fed := 0
	for said := read(); said != "STATUS=waiting for the next round"; said = read() {
		fed++
	}
	if fed > 2 { // one that was on its way, and one more
		t.Errorf("fed %d times by a gangrun that does nothing", fed)
	}
}
