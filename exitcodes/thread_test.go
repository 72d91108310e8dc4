package exitcodes

import (
	"fmt"
	"strings"
	"testing"
)

// TestReadersThread has Paddle point at a thread without its name: what had ended long before is not it, and of several
// one that fails again decides.
func TestReadersThread(t *testing.T) {
	const (
		push   = "Exception in thread Thread-1 (push):\nTraceback (most recent call last):\n  File \"a.py\", line 1, in run\nConnectionResetError: [Errno 104] Connection reset by peer\n"
		read   = "Exception in thread Thread-2 (reader):\nTraceback (most recent call last):\n  File \"a.py\", line 1, in run\nValueError: sample 3 has 4 columns, 5 expected\n"
		points = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nSystemError: (Fatal) Blocking queue is killed because the data reader raises an exception.\n"
	)
	after := ""
	for i := range 40 {
		after += fmt.Sprintf("step %d loss %d.5\n", i, 40-i)
	}
	stamp := func(clock, text string) string {
		return clock + " " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+clock+" ") + "\n"
	}
	wantVerdicts(t, map[string]printed{
		"right before":             {push + points, Retry},
		"steps before":             {push + after + points, Fatal},
		"hours before":             {stamp("2026-01-01 10:00:00", push) + stamp("2026-01-01 14:00:00", points), Fatal},
		"hours before, with lines": {stamp("2026-01-01 10:00:00", push) + "2026-01-01 10:00:10 loading\n" + stamp("2026-01-01 14:00:00", points), Fatal},
		"seconds before":           {stamp("2026-01-01 13:59:58", push) + stamp("2026-01-01 14:00:00", points), Retry},
		"the other's first":        {read + push + points, Fatal},
		"the other's last":         {push + read + points, Fatal},
		"a bug beside steps":       {push + after + read + points, Fatal},
	})
}

// TestLastThread has a program exit with 1 and say nothing of its own after a thread has ended.
func TestLastThread(t *testing.T) {
	const (
		head  = "Exception in thread Thread-2 (_producer):\nTraceback (most recent call last):\n  File \"a.py\", line 1, in run\n    get()\n"
		lost  = head + "ConnectionResetError: [Errno 104] Connection reset by peer\n"
		bug   = head + "ValueError: sample 3 has 4 columns, 5 expected\n"
		cut   = "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"b.py\", line 7, in next\n    self.get()\n"
		ended = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nKeyError: 'loss'\n"
	)
	wantVerdicts(t, map[string]printed{
		"a lost connection":       {lost, Retry},
		"cut off":                 {lost + cut, Retry},
		"a bug":                   {bug, Fatal},
		"the program's own after": {lost + ended, Fatal},
		"and before":              {ended + lost, Fatal},
		"it goes on":              {lost + "producer restarted\n", Fatal},
		"steps since":             {lost + "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n", Fatal},
	})
}
