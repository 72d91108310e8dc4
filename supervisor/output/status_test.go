package output

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// displayed is what a terminal shows that is given this: the lines, of which the last is the one with the cursor.
func displayed(s string) (lines []string) {
	line, at := []rune(nil), 0
	for len(s) > 0 {
		switch {
		case strings.HasPrefix(s, "\x1b[K"):
			line, s = line[:min(at, len(line))], s[3:]
			continue
		case s[0] == '\n':
			lines, line, at = append(lines, string(line)), nil, 0
		case s[0] == '\r':
			at = 0
		default:
			if at < len(line) {
				line[at] = rune(s[0])
			} else {
				line = append(line, rune(s[0]))
			}
			at++
		}
		s = s[1:]
	}
	return append(lines, string(line))
}

// TestStatus stands below what is written, comes back once nothing more is, and leaves nothing behind.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		c := NewConsole(out, ConsoleOptions{})
		shows := func(when string, want ...string) {
			t.Helper()
			time.Sleep(statusPause)
			synctest.Wait()
			if got := displayed(out.String()); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		a, raw := new(source), &source{raw: true}
		c.SetStatus("step 1")
		shows("nothing else", "step 1")
		c.SetStatus("2")
		shows("a shorter one", "2")
		c.put(a, []byte("one\ntwo\n"), false)
		shows("after lines", "one", "two", "2")
		c.put(a, []byte("50%\r"), false)
		shows("while somebody else's line has no end", "one", "two", "50%")
		c.SetStatus("step 3")
		c.put(a, []byte("99%\r"), false)
		shows("and goes on", "one", "two", "99%")
		c.put(a, []byte("\n"), true)
		shows("until it ends", "one", "two", "99%", "step 3")
		c.put(raw, []byte("> "), false)
		shows("a prompt", "one", "two", "99%", "> ")
		c.put(raw, []byte("x\n"), false)
		fmt.Fprintln(c, "gangrun: something")
		shows("own words", "one", "two", "99%", "> x", "gangrun: something", "step 3")
		c.SetStatus("")
		shows("taken away", "one", "two", "99%", "> x", "gangrun: something", "")
		c.SetStatus("step 4")
		shows("back", "one", "two", "99%", "> x", "gangrun: something", "step 4")
		closeInTime(t, c)
		shows("at the end", "one", "two", "99%", "> x", "gangrun: something", "")
	})
}

// TestStatusCosts little: under a stream of lines it is not drawn after each.
func TestStatusCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(screen)
		c := NewConsole(out, ConsoleOptions{})
		c.SetStatus("step 1")
		src := new(source)
		for i := range 1000 { // in a second
			c.put(src, numbered(i, i+1), false)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(statusPause)
		synctest.Wait()
		if n := strings.Count(out.String(), "step 1"); n == 0 || n > 12 {
			t.Errorf("drawn %d times", n)
		}
		closeInTime(t, c)
		if got, want := strings.Join(displayed(out.String()), "\n"), string(numbered(0, 1000)); got != want {
			t.Error(difference([]byte(got), []byte(want)))
		}
	})
}

// TestStatusBroken: a terminal that does not take it costs nothing else.
func TestStatusBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := true
		out := &screen{before: func() error {
			if failing {
				return syscall.EINVAL
			}
			return nil
		}}
		c := NewConsole(out, ConsoleOptions{})
		c.SetStatus("step 1")
		time.Sleep(statusPause)
		synctest.Wait()
		failing = false
		fmt.Fprintln(c, "line")
		c.SetStatus("step 2")
		time.Sleep(time.Minute)
		closeInTime(t, c)
		if got := strings.TrimPrefix(out.String(), clearLine); got != "line\n" {
			t.Errorf("%q", got)
		}
	})
}
