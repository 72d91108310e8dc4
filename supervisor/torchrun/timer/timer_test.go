package timer

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/internal/shared"
)

func TestTimers(t *testing.T) {
	now := time.Unix(1000, 0)
	line := func(pid int, scope string, at float64, signal int) string {
		return fmt.Sprintf(`{"version": 1, "pid": %d, "scope_id": %q, "expiration_time": %v, "signal": %d}`, pid, scope, at, signal)
	}
	alive := func(pid int) (uint64, bool) { return uint64(pid) * 10, true }
	for name, test := range map[string]struct {
		lines []string
		want  []Expired
	}{
		"none":                      {},
		"one that runs":             {[]string{line(7, "a", 1001, 9)}, nil},
		"one that has run out":      {[]string{line(7, "a", 999.5, 9)}, []Expired{{7, 9, "a", 500 * time.Millisecond, 70}}},
		"taken back":                {[]string{line(7, "a", 999, 9), line(7, "a", -1, 0)}, nil},
		"set again":                 {[]string{line(7, "a", 999, 9), line(7, "a", 1009, 9)}, nil},
		"another scope":             {[]string{line(7, "a", 999, 9), line(7, "b", -1, 0)}, []Expired{{7, 9, "a", time.Second, 70}}},
		"the first with a signal":   {[]string{line(7, "a", 990, 0), line(7, "b", 995, 15), line(7, "c", 996, 9)}, []Expired{{7, 15, "b", 5 * time.Second, 70}}},
		"no signal":                 {[]string{line(7, "a", 990, -1)}, []Expired{{7, 0, "a", 10 * time.Second, 70}}},
		"two processes":             {[]string{line(8, "a", 999, 9), line(7, "a", 999, 9)}, []Expired{{7, 9, "a", time.Second, 70}, {8, 9, "a", time.Second, 80}}},
		"what was never set":        {[]string{line(7, "a", -1, 0)}, nil},
		"our own process group":     {[]string{line(0, "a", 1, 9), line(-1, "a", 1, 9)}, nil},
		"a signal that is none":     {[]string{line(7, "a", 1, 65)}, nil},
		"a name without measure":    {[]string{line(7, strings.Repeat("x", 201), 1, 9)}, nil},
		"what cannot be read":       {[]string{"", "{", `{"pid":"7"}`, "\x00"}, nil},
		"a time that cannot be one": {[]string{`{"pid":7,"expiration_time":1e300,"signal":9}`}, nil},
	} {
		running := newTimers(alive)
		for _, l := range test.lines {
			_ = running.take([]byte(l))
		}
		if got := running.expired(now); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v", name, got)
		}
		if again := running.expired(now); again != nil {
			t.Errorf("%s: once more %+v", name, again)
		}
	}
	many := newTimers(alive)
	for i := range 2 * mostTimers {
		_ = many.take([]byte(line(i+1, "a", 1, 9)))
		_ = many.take([]byte(line(1, fmt.Sprint(i), 1, 9)))
	}
	if len(many.of[1].scopes) < 2 || many.all != mostTimers || kept(many) != mostTimers {
		t.Errorf("%d processes, %d timers, of which %d are counted", len(many.of), kept(many), many.all)
	}
	if err := many.take([]byte(line(1, "a", 2000, 9))); err != nil || many.of[1].scopes["a"].At != 2000 {
		t.Errorf("one that runs is not set again: %v", err)
	}
	if err := many.take([]byte(line(1, "new", 2000, 9))); err == nil {
		t.Error("one more is kept")
	}
	_ = many.take([]byte(line(2, "a", -1, 0)))
	if err := many.take([]byte(line(1, "new", 2000, 9))); err != nil || many.of[2] != nil {
		t.Errorf("there is no place for one that was taken back: %v", err)
	}
	many.expired(now)
	if many.all != 0 || kept(many) != 0 {
		t.Errorf("%d timers left, of which %d are counted", kept(many), many.all)
	}
}

// kept is how many timers there are.
func kept(t *timers) (n int) {
	for _, p := range t.of {
		n += len(p.scopes)
	}
	return n
}

// TestGone: the timers of a process that has ended are nobody's, also where another one has got its PID.
func TestGone(t *testing.T) {
	now := time.Unix(1000, 0)
	lives := map[int]uint64{}
	running := newTimers(func(pid int) (uint64, bool) { began, found := lives[pid]; return began, found })
	take := func(pid int, scope string, at int) {
		t.Helper()
		line := fmt.Sprintf(`{"pid":%d,"scope_id":%q,"expiration_time":%d,"signal":9}`, pid, scope, at)
		if err := running.take([]byte(line)); err != nil {
			t.Error(err)
		}
	}
	wants := func(what string, processes int, pids ...int) {
		t.Helper()
		var got []int
		for _, e := range running.expired(now) {
			got = append(got, e.PID)
		}
		if !slices.Equal(got, pids) || len(running.of) != processes || running.all != kept(running) {
			t.Errorf("%s: %v, %d processes, %d timers", what, got, len(running.of), running.all)
		}
	}
	take(7, "a", 1)
	wants("one that is gone when its line is read", 0)
	lives[7] = 1
	take(7, "a", 1)
	delete(lives, 7)
	wants("one that has ended meanwhile", 0)
	lives[7] = 1
	take(7, "a", 1)
	lives[7] = 2
	wants("another one has its PID", 0)
	lives[7], lives[8] = 1, 5
	take(7, "old", 1)
	lives[7] = 2
	take(7, "new", 1001)
	take(8, "a", 1001)
	wants("another one has set one, too", 2)
	delete(lives, 7)
	running.forgetGone()
	wants("one of them is gone", 1)
	now = now.Add(time.Minute)
	wants("the other one has run out", 0, 8)
}

// TestEnd: a process that has only got the PID is not sent the signal of the one before.
func TestEnd(t *testing.T) {
	ours := exec.Command("sleep", "1000")
	if err := ours.Start(); err != nil {
		t.Fatal(err)
	}
	defer ours.Process.Kill()
	pid := ours.Process.Pid
	when, lives := began(pid)
	if !lives {
		t.Error("it lives")
	}
	if err := end(Expired{PID: pid, Signal: 9, Began: when + 1}); err == nil {
		t.Error("another one was ended")
	}
	if err := end(Expired{PID: pid, Signal: 15, Began: when}); err != nil {
		t.Error(err)
	}
	if _ = ours.Wait(); ours.ProcessState.String() != "signal: terminated" {
		t.Errorf("%v", ours.ProcessState)
	}
	if _, lives := began(pid); lives {
		t.Error("it has ended")
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte(`{"version": 1, "pid": 7, "scope_id": "a", "expiration_time": 5, "signal": 9}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		running := newTimers(func(int) (uint64, bool) { return 1, true })
		_ = running.take(line)
		for _, e := range running.expired(time.Unix(1<<41, 0)) {
			if e.PID <= 0 || e.Signal < 0 || e.Signal > 64 {
				t.Errorf("%+v", e)
			}
		}
	})
}

// TestServer ends the process below this one that has overrun its timer, and no other.
func TestServer(t *testing.T) {
	log := &shared.Buffer{}
	s, err := Make(filepath.Join(t.TempDir(), "timer"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(s.Path); err == nil {
		t.Error("what is there is taken over")
	}
	s.Serve(slog.New(slog.NewTextHandler(log, nil)))
	defer s.Close()
	ours := exec.Command("sleep", "1000")
	if err := ours.Start(); err != nil {
		t.Fatal(err)
	}
	defer ours.Process.Kill()
	for _, line := range []string{
		"garbage\n", fmt.Sprintf(`{"pid":%d,"scope_id":"x","expiration_time":1,"signal":9}`+"\n", os.Getppid()),
		fmt.Sprintf(`{"pid":%d,"scope_id":"mine","expiration_time":1,"signal":9}`+"\n", ours.Process.Pid),
	} {
		if err := os.WriteFile(s.Path, []byte(line), 0); err != nil { // opened, written, closed, as torch's client does
			t.Fatal(err)
		}
	}
	if err := ours.Wait(); err == nil || ours.ProcessState.String() != "signal: killed" {
		t.Errorf("%v", ours.ProcessState)
	}
	for limit := time.Now().Add(20 * time.Second); strings.Count(log.String(), "\n") < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			break
		}
	}
	for _, want := range []string{"could not be kept", "it is none of the workers", "ending its process, as torchrun would", "scope=mine", "SIGKILL"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	s.Close()
	if _, err := os.Stat(s.Path); !os.IsNotExist(err) {
		t.Errorf("the pipe is left: %v", err)
	}
}
