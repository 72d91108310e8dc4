package observe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// displayed are the lines that stand on a terminal in the end that was sent this: a carriage return goes back, and what
// is written then, or \x1b[K, takes the place of what was there.
func displayed(s string) (lines []string) {
	line, at := []rune(nil), 0
	s = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zJL-Z]").ReplaceAllString(s, "") // colours
	for s != "" {
		if rest, found := strings.CutPrefix(s, "\x1b[K"); found {
			line, s = line[:min(at, len(line))], rest
			continue
		}
		for _, r := range s {
			s = s[len(string(r)):]
			switch {
			case r == '\n':
				lines, line, at = append(lines, string(line)), nil, 0
			case r == '\r':
				at = 0
			default:
				line = append(line[:at], append([]rune{r}, line[min(at+1, len(line)):]...)...)
				at++
			}
			break
		}
	}
	return append(lines, string(line))
}

// onTerminal runs two ranks that print a line for each step, on a terminal, and returns what was sent to it.
func onTerminal(t *testing.T, env []string, verb string, flags ...string) string {
	t.Helper()
	term := harness.OpenTerminal(t, limit)
	train, _ := filepath.Abs("testdata/talk.py")
	argv := append([]string{verb, "--termination-log", t.TempDir() + "/m", "--restart-backoff", "0s"}, flags...)
	if verb == "launch" {
		argv = append(argv, "--nproc-per-node", "2", "--max-restarts", "3", train)
	} else {
		argv = append(argv, "-n", "2", "--framework", "none", "--", harness.Program(t, "python3", "install python3"),
			train)
	}
	cmd := exec.Command(harness.Binary(t), argv...)
	cmd.Env = append(append(os.Environ(), "TERM=xterm", "NO_COLOR=1"), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, term.Program, term.Program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	term.Program.Close()
	shown := term.All()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, shown)
	}
	return shown
}

// TestLine shows how the run gets on below what the ranks print, which it never tears, and leaves nothing behind.
func TestLine(t *testing.T) {
	t.Parallel()
	for verb, prefix := range map[string][2]string{"local": {"[0] ", "[1] "}, "launch": {}} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			shown := onTerminal(t, []string{"STEPS=60", "STEP_TIME=0.05", "FAIL=0:1:40"}, verb)
			for _, want := range []string{
				"\rgangrun: running, round 0, step ", " steps/s", "\rgangrun: running, round 1, ",
				"1 of 3 restarts used",
			} {
				if !strings.Contains(shown, want) {
					t.Errorf("no %q", want)
				}
			}
			count := map[string]int{}
			for _, line := range displayed(shown) {
				count[line]++
				if strings.Contains(line, "steps/s") {
					t.Errorf("left behind: %q", line)
				}
			}
			told := func(rank, step int) int {
				return count[fmt.Sprintf("%sstep %d of rank %d", prefix[rank], step, rank)]
			}
			for step := 1; step <= 60; step++ {
				// Rank 1 ends in its step 40 of the first round, wherever rank 0 is by then.
				if want := 1 + min(1, max(0, 41-step)); told(1, step) != want {
					t.Errorf("step %d of rank 1 is there %d times, want %d", step, told(1, step), want)
				}
				if n := told(0, step); n < 1 || n > 2 || step > 1 && n > told(0, step-1) {
					t.Errorf("step %d of rank 0 is there %d times, the one before %d times", step, n, told(0, step-1))
				}
			}
		})
	}
}

// TestNoLine: quiet is quiet.
func TestNoLine(t *testing.T) {
	t.Parallel()
	if shown := onTerminal(t, []string{"STEPS=50", "STEP_TIME=0.05"}, "local", "--quiet"); strings.Contains(shown,
		"gangrun") ||
		strings.Contains(shown, "\x1b[K") {
		t.Errorf("%q", shown)
	}
}
