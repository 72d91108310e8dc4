package output

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// screen is a console's far end. Before each write it does what before says, when set: it may wait, or fail.
type screen struct {
	before func() error
	part   int  // how much of a failing write still gets through
	short  bool // writes that part and does not say why

	mu     sync.Mutex
	shown  bytes.Buffer
	writes []int
}

func (s *screen) Write(p []byte) (int, error) {
	var err error
	if s.before != nil {
		err = s.before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.short {
		p = p[:min(s.part, len(p))]
	}
	s.writes = append(s.writes, len(p))
	s.shown.Write(p)
	return len(p), err
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// after returns a channel that is closed when the time is over.
func after(d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(d, func() { close(over) })
	return over
}

func closeInTime(t *testing.T, c *Console) {
	t.Helper()
	if err := c.Close(time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// numbered returns lines of 100 bytes with the numbers from..to-1.
func numbered(from, to int) []byte {
	var p []byte
	for i := from; i < to; i++ {
		p = fmt.Appendf(p, "%-99d\n", i)
	}
	return p
}

func TestConsoleEndsLinesOfOthers(t *testing.T) {
	a, b, raw := new(source), new(source), &source{raw: true}
	type step struct {
		src       *source // nil: the program itself
		text      string
		continues bool
	}
	for _, test := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"whole lines", []step{{a, "a\n", false}, {b, "b\n", false}}, "a\nb\n"},
		{"unfinished, nothing follows", []step{{a, "a", false}}, "a"},
		{"unfinished, another follows", []step{{a, "a", false}, {b, "b\n", false}}, "a\nb\n"},
		{"unfinished, own message", []step{{a, "a", false}, {nil, "b\n", false}}, "a\nb\n"},
		{"updates of one", []step{{a, "1\r", false}, {a, "2\r", false}}, "1\r2\r"},
		{"updates of two", []step{{a, "1\r", false}, {b, "2\r", false}, {a, "3\r", false}}, "1\r\n2\r\n3\r"},
		{"end of an update", []step{{a, "1\r", false}, {a, "\n", true}, {b, "2\n", false}}, "1\r\n2\n"},
		{"end of an update too late",
			[]step{{a, "1\r", false}, {b, "2\n", false}, {a, "\n", true}, {a, "3\n", false}}, "1\r\n2\n3\n"},
		{"end of an update too late, and more",
			[]step{{a, "1\r", false}, {b, "2", false}, {a, "\n3\n", true}}, "1\r\n23\n"},
		{"own prompt", []step{{nil, "a", false}, {nil, "b\n", false}}, "ab\n"},
		{"passed through", []step{{raw, "> ", false}, {raw, "x", false}}, "> x"},
		{"passed through after an unfinished line", []step{{a, "a", false}, {raw, "b", false}}, "ab"},
		{"own message after a prompt", []step{{raw, "> ", false}, {nil, "m\n", false}, {raw, "x\n", false}},
			"> \nm\nx\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := new(screen)
			c := NewConsole(out, ConsoleOptions{})
			for _, step := range test.steps {
				if step.src == nil {
					fmt.Fprint(c, step.text)
				} else {
					c.put(step.src, []byte(step.text), step.continues)
				}
			}
			closeInTime(t, c)
			if got := out.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestConsoleWritesWholeLines(t *testing.T) {
	text := numbered(0, 3000)
	text = append(text, strings.Repeat("x", 3*maxWrite)...)
	out := new(screen)
	c := NewConsole(out, ConsoleOptions{})
	c.put(new(source), text, false)
	closeInTime(t, c)
	if got := out.shown.Bytes(); !bytes.Equal(got, text) {
		t.Fatal(difference(got, text))
	}
	torn, at := 0, 0
	for _, n := range out.writes {
		if n > maxWrite {
			t.Errorf("a write of %d bytes", n)
		}
		if at += n; text[at-1] != '\n' {
			torn++
		}
	}
	// The long line at the end, and lines across the edge of a block.
	if most := 4 + len(text)/blockSize; torn > most {
		t.Errorf("%d of %d writes end within a line, want at most %d", torn, len(out.writes), most)
	}
}

// At the end a full disk is not waited for.
func TestCloseOfAFullConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewConsole(&screen{before: func() error { return syscall.ENOSPC }}, ConsoleOptions{})
		c.put(new(source), numbered(0, 10), false)
		synctest.Wait()
		start := time.Now()
		if err := c.Close(start.Add(time.Hour)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Close: %v", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("Close took %v", waited)
		}
	})
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 10_000})
		c.put(new(source), numbered(0, 100), false)
		released := make(chan struct{})
		go func() {
			c.put(new(source), numbered(0, 10), false)
			close(released)
		}()
		synctest.Wait()

		start := time.Now()
		err := c.Close(start.Add(100 * time.Millisecond))
		if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "10000 bytes") {
			t.Errorf("Close: %v", err)
		}
		if waited := time.Since(start); waited != 100*time.Millisecond {
			t.Errorf("Close took %v", waited)
		}
		<-released
		c.put(new(source), numbered(0, 10), false)
		fmt.Fprintln(c, "message")
		close(back)
		<-c.over
		if got, want := out.String(), string(numbered(0, 40)); got != want {
			t.Errorf("after the deadline more was written than what was under way: %d bytes", len(got))
		}
	})
}

// Lines of many streams at once come out whole and in each stream's order, whatever the far end does.
func TestConsoleUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 1))
		out := &screen{before: func() error { time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond); return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 10_000})
		var all sync.WaitGroup
		for id := range 8 {
			all.Go(func() {
				src := new(source)
				for i := range 200 {
					c.put(src, fmt.Appendf(nil, "%d %d\n%d %d+\n", id, i, id, i), false)
				}
			})
		}
		all.Wait()
		closeInTime(t, c)
		var next [8]int
		for line := range strings.Lines(out.String()) {
			var id, i int
			if _, err := fmt.Sscanf(line, "%d %d", &id, &i); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			want := fmt.Sprintf("%d %d\n", id, next[id]/2)
			if next[id]%2 == 1 {
				want = fmt.Sprintf("%d %d+\n", id, next[id]/2)
			}
			if line != want {
				t.Fatalf("got %q, want %q", line, want)
			}
			next[id]++
		}
		if next != [8]int{400, 400, 400, 400, 400, 400, 400, 400} {
			t.Errorf("lines shown: %v", next)
		}
	})
}

// A stream that is drained goes past one that waits for its turn, and does not make the console forget that one.
func TestDrainedStreamLeavesTheWaitingOneItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := after(time.Minute)
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 1000, Stall: -1})
		c.put(new(source), numbered(0, 10), false)
		freed := make(chan struct{})
		go func() {
			c.put(new(source), numbered(10, 20), false)
			close(freed)
		}()
		synctest.Wait()
		drained := &source{hurry: make(chan struct{}, 1)}
		poke(drained.hurry)
		c.put(drained, numbered(20, 21), false)
		select {
		case <-freed:
		case <-time.After(time.Hour):
			t.Error("the waiting stream was forgotten")
		}
		if err := c.Close(time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
	})
}
