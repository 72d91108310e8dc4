package notify

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// eight are the sockets of eight ranks, and how those report.
func eight(t *testing.T, e *Ears) (sockets []*Socket, ranks []*net.UnixConn) {
	t.Helper()
	dir := t.TempDir()
	for i := range 8 {
		s, err := e.Listen(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		sockets, ranks = append(sockets, s), append(ranks, dial(t, s.Path))
	}
	return sockets, ranks
}

func tells(t *testing.T, c *net.UnixConn, step int) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "X_GANGRUN_STEP=%d", step); err != nil {
		t.Fatal(err)
	}
}

// TestCost: eight ranks that tell a step one after the other, until somebody reads, wake it once, and each is read once. What
// was heard is asked for without another read, and sockets to which nobody reports are not read.
func TestCost(t *testing.T) {
	changed := make(chan struct{}, 1)
	e := ears(t, changed)
	sockets, ranks := eight(t, e)
	silent, err := e.Listen(filepath.Join(t.TempDir(), "silent"))
	if err != nil {
		t.Fatal(err)
	}
	const steps = 5
	for step := range steps {
		for i, c := range ranks {
			tells(t, c, step)
			if i == 0 {
				<-changed // the others come once it is awake
			}
		}
		e.Hear()
		if !e.MayWait() {
			t.Error("one report each may lie")
		}
		time.Sleep(together)
		for i, s := range sockets {
			said := s.Said()
			if !s.Fresh() || s.Fresh() || said.Step == nil || *said.Step != int64(step) {
				t.Fatalf("step %d, socket %d: %+v", step, i, said)
			}
			s.Reports()
			s.TakeSteps()
			s.Told()
			s.Least()
		}
	}
	select {
	case <-changed:
		t.Error("woken though all was read")
	case <-time.After(50 * time.Millisecond):
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wakes != steps || e.reads != 8*steps || silent.fresh {
		t.Errorf("woken %d times, %d reads; want %d and %d", e.wakes, e.reads, steps, 8*steps)
	}
}

// TestNothingIsLost: whatever comes while the gate is shut, and however much at once, is read, and what is left by a reader
// wakes somebody again.
func TestNothingIsLost(t *testing.T) {
	changed := make(chan struct{}, 1)
	e := ears(t, changed)
	sockets, ranks := eight(t, e)
	const steps = 2000
	for _, c := range ranks {
		go func() {
			for step := range steps {
				fmt.Fprintf(c, "X_GANGRUN_STEP=%d", step)
			}
		}()
	}
	last := func() bool {
		for _, s := range sockets {
			if step, told := s.Least(); !told || step != steps-1 {
				return false
			}
		}
		return true
	}
	for deadline := time.After(30 * time.Second); !last(); {
		select {
		case <-changed:
			e.Hear()
		case <-deadline:
			t.Fatal("nobody is woken any more")
		}
	}
	for i, s := range sockets {
		if r := s.Reports(); r[0].Steps != steps {
			t.Errorf("socket %d: %d steps, want %d", i, r[0].Steps, steps)
		}
	}
	if e.MayWait() {
		t.Error("so many may not lie")
	}
}

// TestCame: a report came when it was sent, however late it is read.
func TestCame(t *testing.T) {
	e := ears(t, make(chan struct{}, 1))
	sockets, ranks := eight(t, e)
	const apart = 40 * time.Millisecond
	for _, c := range ranks[:3] {
		tells(t, c, 1)
		time.Sleep(apart)
	}
	e.Hear()
	at := func(i int) time.Time { return sockets[i].Reports()[0].At }
	for i := range 2 {
		if d := at(i + 1).Sub(at(i)); d < apart {
			t.Errorf("rank %d came %v after the one before, which was sent %v later", i+1, d, apart)
		}
	}
	if ago := time.Since(at(2)); ago < apart {
		t.Errorf("the last came %v ago, and was sent %v ago", ago, apart)
	}
}

// TestBurst: what comes one by one may lie; three within a moment may not, for a minute from then on.
func TestBurst(t *testing.T) {
	var b burst
	now := time.Unix(1000, 0)
	came := func(socket int, after time.Duration) *burst {
		now = now.Add(after)
		b.came(socket, now)
		return &b
	}
	for range 10 {
		came(3, together)
		came(3, together/2)
		if !came(4, 0).over(now) {
			t.Fatal("two a moment may lie")
		}
	}
	came(3, together)
	came(3, 0)
	if came(3, together-1).over(now) || b.over(now.Add(burstOver-1)) || !b.over(now.Add(burstOver)) {
		t.Errorf("%+v", b)
	}
}

// TestClosed: what is closed hears nothing, and is no trouble.
func TestClosed(t *testing.T) {
	e := ears(t, make(chan struct{}, 1))
	s, err := e.Listen(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Listen(s.Path); err == nil {
		t.Error("a second one at the same path")
	}
	s.Close()
	s.Close()
	s.CatchUp()
	e.Close()
	e.Close()
	e.Hear()
	if _, err := e.Listen(s.Path); err == nil {
		t.Error("a socket that nobody hears")
	}
	(*Ears)(nil).Hear()
	(*Ears)(nil).Close()
	if !(*Ears)(nil).MayWait() {
		t.Error("nothing is to be read")
	}
}
