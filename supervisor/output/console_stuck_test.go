package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A console that is slow but alive holds the stream up and loses nothing.
func TestSlowConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &screen{before: func() error { time.Sleep(DefaultStall * 9 / 10); return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 100 << 10})
		want := numbered(0, 5000)
		start := time.Now()
		src := new(source)
		for p := want; len(p) > 0; {
			n := min(500*100, len(p))
			c.put(src, p[:n], false)
			p = p[n:]
		}
		if waited := time.Since(start); waited < 60*time.Second {
			t.Errorf("the stream was held up for %v only", waited)
		}
		closeInTime(t, c)
		if got := out.String(); got != string(want) {
			t.Error(difference([]byte(got), want))
		}
	})
}

// A stuck console lets all streams go on after a second. When it comes back it tells what is missing.
func TestStuckConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back <-chan struct{} = after(time.Minute)
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 1000 * 100})
		src := new(source)
		c.put(src, numbered(0, 950), false)

		start := time.Now()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				c.put(new(source), numbered(0, 100), false)
				if waited := time.Since(start); waited != DefaultStall {
					t.Errorf("released after %v, want %v", waited, DefaultStall)
				}
			})
		}
		all.Wait()
		c.put(src, numbered(950, 960), false) // there is room for it, but it would stand alone
		if waited := time.Since(start); waited != DefaultStall {
			t.Errorf("another line took %v more", waited-DefaultStall)
		}

		<-back
		synctest.Wait()
		c.put(src, numbered(960, 970), false)
		closeInTime(t, c)
		want := string(numbered(0, 950)) +
			"gangrun: 810 lines (81000 bytes) not shown: the console did not keep up\n" +
			string(numbered(960, 970))
		if got := out.String(); got != want {
			t.Error(difference([]byte(got), []byte(want)))
		}
	})
}

// Nothing is shown again before half of the buffer is free, so the gaps are few.
func TestDroppingEndsAtHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := make(chan struct{})
		out := &screen{before: func() error { <-step; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 1000 * 100})
		src := new(source)
		c.put(src, numbered(0, 1000), false)
		c.put(src, numbered(1000, 1001), false)
		for {
			step <- struct{}{}
			synctest.Wait()
			c.mu.Lock()
			used, dropping := c.used, c.dropping
			c.mu.Unlock()
			if dropping != (used > 500*100) {
				t.Fatalf("dropping: %v, with %d bytes waiting", dropping, used)
			}
			if !dropping {
				break
			}
			c.put(src, numbered(1001, 1002), false)
		}
		close(step)
		closeInTime(t, c)
	})
}

// Passed through, a stream starts again at the start of a line too, and its broken line is ended before the notice.
func TestStuckConsolePassedThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := after(time.Minute)
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 10})
		src := &source{raw: true}
		for _, chunk := range []string{"one\ntwo", " gone\ngone\ngo"} {
			c.put(src, []byte(chunk), false)
		}
		<-back
		synctest.Wait()
		c.put(src, []byte("ne\n"), false)
		synctest.Wait()
		c.put(src, []byte("five\n"), false)
		closeInTime(t, c)
		notice := "gangrun: %d lines (%d bytes) not shown: the console did not keep up\n"
		want := "one\ntwo\n" + fmt.Sprintf(notice, 2, 13) + fmt.Sprintf(notice, 1, 3) + "five\n"
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Of a stream in whole lines the next line is shown, even if it was an update that was dropped last.
func TestStuckConsoleAndUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := after(time.Minute)
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 10})
		src := new(source)
		c.put(src, []byte("start\n"), false)
		c.put(src, []byte("progress\r"), false)
		<-back
		synctest.Wait()
		c.put(src, []byte("\n"), true)
		c.put(src, []byte("end\n"), false)
		closeInTime(t, c)
		want := "start\ngangrun: 0 lines (9 bytes) not shown: the console did not keep up\nend\n"
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestPatientConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := after(1000 * time.Hour)
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 1000 * 100, Stall: -1})
		src := new(source)
		c.put(src, numbered(0, 900), false)
		c.put(src, numbered(900, 1800), false)
		closeInTime(t, c)
		if got, want := out.String(), numbered(0, 1800); got != string(want) {
			t.Error(difference([]byte(got), want))
		}
	})
}

func TestDeadConsole(t *testing.T) {
	for _, dead := range []error{syscall.EPIPE, syscall.EIO, syscall.EBADF, os.ErrClosed} {
		t.Run(dead.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				die := after(DefaultStall / 2)
				out := &screen{before: func() error { <-die; return dead }}
				var reports []error
				c := NewConsole(out, ConsoleOptions{Limit: 1000, Report: func(err error) { reports = append(reports, err) }})
				start := time.Now()
				c.put(new(source), numbered(0, 10), false)
				for range 3 {
					c.put(new(source), numbered(0, 10), false)
				}
				if waited := time.Since(start); waited != DefaultStall/2 {
					t.Errorf("streams were held up for %v", waited)
				}
				fmt.Fprintln(c, "message")
				if err := c.Close(time.Now().Add(time.Hour)); !errors.Is(err, dead) {
					t.Errorf("Close: %v", err)
				}
				if waited := time.Since(start); waited != DefaultStall/2 {
					t.Errorf("closed after %v", waited)
				}
				if len(reports) != 1 || !errors.Is(reports[0], dead) {
					t.Errorf("reported: %v", reports)
				}
			})
		})
	}
}

func TestConsoleThatWritesLessThanAsked(t *testing.T) {
	out := &screen{part: 3, short: true}
	c := NewConsole(out, ConsoleOptions{})
	c.put(new(source), []byte("hello\n"), false)
	<-c.over
	if err := c.Close(soon()); !errors.Is(err, io.ErrShortWrite) || out.String() != "hel" {
		t.Errorf("Close: %v, after %q", err, out.String())
	}
}

// A full disk or a busy descriptor is no end: the write is tried again, from where it stopped.
func TestConsoleTriesAgain(t *testing.T) {
	for _, test := range []struct {
		err     error
		reports int
	}{
		{syscall.ENOSPC, 1},
		{syscall.EDQUOT, 1},
		{syscall.EAGAIN, 0},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failures := 5
				out := &screen{part: 7}
				out.before = func() error {
					if failures--; failures >= 0 {
						return test.err
					}
					return nil
				}
				reports := 0
				c := NewConsole(out, ConsoleOptions{Report: func(error) { reports++ }})
				c.put(new(source), numbered(0, 1000), false)
				time.Sleep(time.Minute)
				closeInTime(t, c)
				if got, want := out.String(), numbered(0, 1000); got != string(want) {
					t.Error(difference([]byte(got), want))
				}
				if reports != test.reports {
					t.Errorf("%d reports, want %d", reports, test.reports)
				}
			})
		})
	}
}

// The program's own messages never wait, and get through when the workers have filled the buffer.
func TestOwnMessagesNeverBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := after(time.Minute)
		out := &screen{before: func() error { <-back; return nil }}
		c := NewConsole(out, ConsoleOptions{Limit: 1000})
		src := new(source)
		c.put(src, numbered(0, 10), false)
		go c.put(src, numbered(10, 20), false)
		synctest.Wait()

		start := time.Now()
		fmt.Fprintln(c, "first message")
		long := strings.Repeat("x", ownRoom) + "\n"
		fmt.Fprint(c, long)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("took %v", waited)
		}
		<-back
		synctest.Wait()
		closeInTime(t, c)
		lost := 1000 + len(long)
		want := string(numbered(0, 10)) + "first message\n" +
			fmt.Sprintf("gangrun: 11 lines (%d bytes) not shown: the console did not keep up\n", lost)
		if got := out.String(); got != want {
			t.Error(difference([]byte(got), []byte(want)))
		}
	})
}
