package notify

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	step := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		datagram string
		rank     int
		step     *int64
		phase    string
		err      string
	}{
		{"", -1, nil, "", ""},
		{"READY=1\nSTATUS=warming up", -1, nil, "", ""},
		{"X_GANGRUN_STEP=12", -1, step(12), "", ""},
		{"X_GANGRUN_STEP=12\nX_GANGRUN_RANK=3\n", 3, step(12), "", ""},
		{"X_GANGRUN_STEP=1\nX_GANGRUN_STEP=2", -1, step(2), "", ""},
		{"X_GANGRUN_STEP=-1", 0, nil, "", "X_GANGRUN_STEP"},
		{"X_GANGRUN_STEP=1.5", 0, nil, "", "X_GANGRUN_STEP"},
		{"X_GANGRUN_STEP", 0, nil, "", "X_GANGRUN_STEP"},
		{"X_GANGRUN_STOP_FILE=1\nX_GANGRUN_RANK=3", 3, nil, "", ""},
		{"X_GANGRUN_STOP_FILE=yes", 0, nil, "", "X_GANGRUN_STOP_FILE"},
		{"X_GANGRUN_STEPS=100", -1, nil, "", ""},
		{"X_GANGRUN_STEPS=many", 0, nil, "", "X_GANGRUN_STEPS"},
		{"X_GANGRUN_RANK=9999999999", 0, nil, "", "X_GANGRUN_RANK"},
		{"\x00\xff=\n\n=", -1, nil, "", ""},
		{"X_GANGRUN_PHASE=checkpoint", -1, nil, "checkpoint", ""},
		{"X_GANGRUN_PHASE=train_2-B\nX_GANGRUN_STEP=5\nX_GANGRUN_RANK=1", 1, step(5), "train_2-B", ""},
		{"X_GANGRUN_OWN_USEC=-1", 0, nil, "", "X_GANGRUN_OWN_USEC"},
		{"X_GANGRUN_OWN_USEC=0.2", 0, nil, "", "X_GANGRUN_OWN_USEC"},
		{"X_GANGRUN_OWN_USEC=9223372036854775807", 0, nil, "", "X_GANGRUN_OWN_USEC"},
		{"X_GANGRUN_STEP=1\nX_GANGRUN_OWN_USEC=9223372036854775", -1, step(1), "", ""},
		{"STOPPING=1", -1, nil, "exit", ""},
		{"STOPPING=0", -1, nil, "", ""},
		{"X_GANGRUN_PHASE=" + strings.Repeat("x", 32), -1, nil, strings.Repeat("x", 32), ""},
		{"X_GANGRUN_PHASE=" + strings.Repeat("x", 33), 0, nil, "", "X_GANGRUN_PHASE"},
		{"X_GANGRUN_PHASE=", 0, nil, "", "X_GANGRUN_PHASE"},
		{"X_GANGRUN_PHASE=check point", 0, nil, "", "X_GANGRUN_PHASE"},
		{"X_GANGRUN_PHASE=checkpoint ", 0, nil, "", "X_GANGRUN_PHASE"},
		{"X_GANGRUN_PHASE=\u0455ave", 0, nil, "", "X_GANGRUN_PHASE"}, // a letter that only looks like an s
		{"X_GANGRUN_STEP=5\nX_GANGRUN_PHASE=\x00", 0, nil, "", "X_GANGRUN_PHASE"},
	} {
		m, err := Parse([]byte(test.datagram))
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: error %v, want one about %s", test.datagram, err, test.err)
			}
		case err != nil:
			t.Errorf("%q: %v", test.datagram, err)
		case m.Rank != test.rank || m.Phase != test.phase || (m.Step == nil) != (test.step == nil) || m.Step != nil && *m.Step != *test.step:
			t.Errorf("%q: %+v", test.datagram, m)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("X_GANGRUN_STEP=12\nX_GANGRUN_RANK=3"))
	f.Add([]byte("X_GANGRUN_PHASE=checkpoint\nX_GANGRUN_RANK=3"))
	phase := regexp.MustCompile(`^([A-Za-z0-9_-]{1,32})?$`)
	f.Fuzz(func(t *testing.T, datagram []byte) {
		m, err := Parse(datagram)
		if err == nil && (m.Rank < -1 || m.Rank > maxRank || m.Step != nil && *m.Step < 0 || !phase.MatchString(m.Phase)) {
			t.Errorf("%q: %+v", datagram, m)
		}
	})
}

func dial(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// listen makes a socket that is read as soon as something comes, as by a supervisor of a job that has not told a step yet.
func listen(t *testing.T) *Socket {
	t.Helper()
	changed := make(chan struct{}, 1)
	e := ears(t, changed)
	s, err := e.Listen(filepath.Join(t.TempDir(), "notify"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		for {
			select {
			case <-changed:
				e.Hear()
			case <-over:
				return
			}
		}
	}()
	return s
}

func ears(t *testing.T, changed chan<- struct{}) *Ears {
	t.Helper()
	e, err := NewEars(changed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// stepOf is the step that all have finished, including what was sent right before the call.
func stepOf(s *Socket) (step int64, known bool) {
	s.CatchUp()
	return s.Least()
}

func TestSocket(t *testing.T) {
	s := listen(t)
	if step, known := stepOf(s); known {
		t.Errorf("step %d from nobody", step)
	}
	c := dial(t, s.Path)
	// What was sent before the question is in the answer: nothing is awaited here.
	for i := range 100 {
		fmt.Fprintf(c, "X_GANGRUN_STEP=%d\nX_GANGRUN_RANK=0", i)
	}
	fmt.Fprint(c, "X_GANGRUN_STEP=7\nX_GANGRUN_RANK=1")
	if step, known := stepOf(s); !known || step != 7 {
		t.Errorf("step %d (%v), want 7: the slowest rank's", step, known)
	}
	fmt.Fprint(c, "X_GANGRUN_STEP=99\nX_GANGRUN_RANK=0\nX_GANGRUN_OWN_USEC=1500")
	stepOf(s)
	for _, r := range s.Reports() {
		if want := map[int]time.Duration{0: 1500 * time.Microsecond}[r.Rank]; r.Own != want || time.Since(r.At) > time.Minute {
			t.Errorf("rank %d: own %v at %v, want %v", r.Rank, r.Own, r.At, want)
		}
	}
	if err := s.Problem(); err != nil {
		t.Error(err)
	}
	fmt.Fprint(c, "X_GANGRUN_STEP=fast")
	c.Write(make([]byte, maxDatagram+1))
	if step, _ := stepOf(s); step != 7 {
		t.Errorf("step %d after a message that makes no sense", step)
	}
	if err := s.Problem(); err == nil || !strings.Contains(err.Error(), "fast") {
		t.Errorf("the first problem is told: %v", err)
	}
	if err := s.Problem(); err != nil {
		t.Errorf("and told once: %v", err)
	}
	fmt.Fprint(c, "X_GANGRUN_STEP=8\nX_GANGRUN_RANK=1")
	if s.Said().Total != nil {
		t.Error("a total from nobody")
	}
	fmt.Fprint(c, "X_GANGRUN_STEPS=500")
	if step, _ := stepOf(s); step != 7 && step != 8 || s.Said().Total == nil || *s.Said().Total != 500 {
		t.Errorf("step %d of %v: how many there are is no step", step, s.Said().Total)
	}
	s.Close()
	if step, _ := stepOf(s); step != 7 && step != 8 {
		t.Errorf("step %d after the end", step)
	}
	if _, err := os.Stat(s.Path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

// TestSaving is true from the moment in which the first rank says so until the last has said something else. What a
// rank says of its steps meanwhile changes nothing.
func TestSaving(t *testing.T) {
	s := listen(t)
	c := dial(t, s.Path)
	for i, said := range []struct {
		datagram string
		saving   bool
	}{
		{"X_GANGRUN_STEP=1", false},
		{"X_GANGRUN_PHASE=train", false},
		{"X_GANGRUN_PHASE=checkpoint\nX_GANGRUN_RANK=0\nX_GANGRUN_STEP=2", true},
		{"X_GANGRUN_PHASE=checkpoint\nX_GANGRUN_RANK=1", true},
		{"X_GANGRUN_STEP=3\nX_GANGRUN_RANK=0", true},
		{"X_GANGRUN_PHASE=train\nX_GANGRUN_RANK=0", true},
		{"X_GANGRUN_PHASE=no word\nX_GANGRUN_RANK=1", true},
		{"X_GANGRUN_PHASE=train\nX_GANGRUN_RANK=1\nX_GANGRUN_STEP=4", false},
	} {
		fmt.Fprint(c, said.datagram)
		if s.CatchUp(); s.Said().Saving != said.saving {
			t.Errorf("after message %d, %q: saving %v", i, said.datagram, !said.saving)
		}
	}
	if step, known := stepOf(s); !known || step != 1 {
		t.Errorf("step %d (%v), want 1: of whoever did not say its rank", step, known)
	}
}

func TestManyRanksAreBounded(t *testing.T) {
	s := listen(t)
	c := dial(t, s.Path)
	for i := range maxRanks + 10 {
		fmt.Fprintf(c, "X_GANGRUN_STEP=1\nX_GANGRUN_RANK=%d", i)
	}
	stepOf(s)
	if err := s.Problem(); err == nil {
		t.Error("no word about too many ranks")
	}
}

// TestFlood is 100,000 datagrams of garbage among which there are real ones: those count, and nothing is kept of the rest.
func TestFlood(t *testing.T) {
	s := listen(t)
	c := dial(t, s.Path)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 100_000 {
		if _, err := fmt.Fprintf(c, "X_GANGRUN_RANK=%d\nX_GANGRUN_PHASE=\x01%d", i, i); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 {
			fmt.Fprintf(c, "X_GANGRUN_STEP=%d", i/1000)
		}
	}
	if step, _ := stepOf(s); step != 99 {
		t.Errorf("step %d, want 99", step)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := len(s.Reports()); n != 1 {
		t.Errorf("%d ranks, want 1", n)
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 1<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// TestReports tells whether the step came after the phase: it ends a checkpoint that nobody has ended.
func TestReports(t *testing.T) {
	s := listen(t)
	c := dial(t, s.Path)
	for _, test := range []struct {
		datagram string
		stepped  bool
	}{{"X_GANGRUN_PHASE=checkpoint", false}, {"X_GANGRUN_STEP=1", true}, {"X_GANGRUN_STEP=2\nX_GANGRUN_PHASE=eval", false}} {
		fmt.Fprint(c, test.datagram)
		stepOf(s)
		if got := s.Reports(); len(got) != 1 || got[0].Stepped != test.stepped || got[0].Rank != -1 {
			t.Errorf("%q: %+v", test.datagram, got)
		}
	}
}

// TestTakeSteps: each step that was told is there once, in the order in which they came, with what was its own and when it
// came; of very many the newest are.
func TestTakeSteps(t *testing.T) {
	s := listen(t)
	c := dial(t, s.Path)
	for i := range 3 {
		fmt.Fprintf(c, "X_GANGRUN_STEP=%d\nX_GANGRUN_RANK=%d\nX_GANGRUN_OWN_USEC=%d", i, i%2, 1000+i)
		fmt.Fprint(c, "X_GANGRUN_PHASE=eval\nX_GANGRUN_RANK=0")
	}
	s.CatchUp()
	steps := s.TakeSteps()
	for i, r := range steps {
		if *r.Step != int64(i) || r.Rank != i%2 || r.Own != time.Duration(1000+i)*time.Microsecond || i > 0 && r.At.Before(steps[i-1].At) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if again := s.TakeSteps(); len(steps) != 3 || len(again) != 0 {
		t.Errorf("%d steps, then %d", len(steps), len(again))
	}
	for i := range 10 * mostSteps {
		fmt.Fprintf(c, "X_GANGRUN_STEP=%d", i)
		fmt.Fprintf(c, "X_GANGRUN_STEP=%d", i) // again
	}
	s.CatchUp()
	for _, r := range s.Reports() {
		if want := map[int]int{-1: 10 * mostSteps, 0: 2, 1: 1}[r.Rank]; r.Steps != want {
			t.Errorf("rank %d has told %d steps, want %d", r.Rank, r.Steps, want)
		}
	}
	if steps = s.TakeSteps(); len(steps) > mostSteps || *steps[len(steps)-1].Step != 10*mostSteps-1 {
		t.Errorf("%d steps, to %d", len(steps), *steps[len(steps)-1].Step)
	}
}
