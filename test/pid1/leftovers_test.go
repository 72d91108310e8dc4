package pid1_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// TestLeftoversFinish ends the worker while others of its making still run: one in its process group, one in a session
// of its own, one whose parent has ended before. They are told, have time to finish, and are gone before gangrun is,
// whose exit code is the worker's.
func TestLeftoversFinish(t *testing.T) {
	for _, scope := range []string{"worker", "group", "session"} {
		t.Run(scope, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				inTime(t, func() error {
					j := launch{
						mode: m, flags: []string{"--signal-scope=" + scope},
						worker: probe("log", "-exit=7",
							"-child=-name=child -on=15=0 -linger=10ms",
							"-session=-name=away -on=15=0 -linger=10ms",
							"-session=-name=parent -exit=0 -session=-name=orphan|-on=15=0|-linger=10ms"),
					}.start(t)
					j.exits(7)
					return finished(j.rest(), "child", "away", "orphan")
				})
			})
		})
	}
}

// inTime repeats what can fail for no other reason than that the machine is too busy for a process to do anything in
// the second that gangrun gives it.
func inTime(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 3 {
		if err = try(); err == nil {
			return
		}
	}
	t.Error(err)
}

// finished wants each of the named to have been told to stop once, and to have finished.
func finished(lines []string, names ...string) error {
	for _, name := range names {
		if got := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			return !strings.HasPrefix(line, name+" ") || strings.HasPrefix(line, name+" ready")
		}); !slices.Equal(got, []string{name + " 15", name + " done"}) {
			return fmt.Errorf("%s: %q", name, got)
		}
	}
	return nil
}

// TestLeftoversKilled ends the worker while one is left that does not mind SIGTERM. It has a second, then SIGKILL, and
// gangrun's log says who it was.
func TestLeftoversKilled(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		inTime(t, func() error {
			began := time.Now()
			j := launch{
				mode: m, worker: probe("log", "-exit=7", "-child=-name=child", "-session=-name=away"),
			}.start(t)
			pids := []int{j.ready("child"), j.ready("away")}
			j.ready("worker")
			j.exits(7)
			if took := time.Since(began); took < time.Second {
				t.Errorf("gone after %v, before their second was over", took)
			}
			for _, pid := range pids {
				if !slices.ContainsFunc(strings.Split(j.errors(), "\n"), func(line string) bool {
					return strings.Contains(line, fmt.Sprint(pid)) && strings.Contains(line, "probe")
				}) {
					t.Errorf("the log does not name pid %d and its command", pid)
				}
			}
			lines := j.rest()
			slices.Sort(lines)
			if !slices.Equal(lines, []string{"away 15", "child 15"}) {
				return fmt.Errorf("they got %q", lines)
			}
			return nil
		})
	})
}

// TestLeftoversOfAStop gives what is left after a stop from outside what remains of the grace, more than the second
// that it would get otherwise.
func TestLeftoversOfAStop(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, flags: []string{"--grace=1h"},
			worker: probe("log", "-on=15=0", "-session=-name=away -on=15=0 -linger=1500ms"),
		}.start(t)
		j.ready("away")
		j.ready("worker")
		j.signal(syscall.SIGTERM)
		j.exits(143)
		if err := finished(j.rest(), "away"); err != nil {
			t.Error(err)
		}
	})
}

// TestLeftoversWithoutMainThread leaves processes that look dead from outside, since their first thread has ended, and
// whose other threads go on. One of them ends when it is told, the other has to be killed.
func TestLeftoversWithoutMainThread(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		inTime(t, func() error {
			j := launch{
				mode: m, worker: probe("log", "-exit=7", "-headless=-name=good -on=15=0", "-headless=-name=bad"),
			}.start(t)
			j.ready("good")
			j.ready("bad")
			j.ready("worker")
			j.exits(7)
			lines := j.rest()
			slices.Sort(lines)
			if !slices.Equal(lines, []string{"bad 15", "good 15", "good done"}) {
				return fmt.Errorf("they said %q", lines)
			}
			return nil
		})
	})
}

// TestGraceEndsForLeftovers kills what is left when the grace is over, though the worker itself stopped in time.
func TestGraceEndsForLeftovers(t *testing.T) {
	const grace = 2 * time.Second
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, flags: []string{"--grace=" + grace.String()},
			worker: probe("log", "-on=15=0", "-session=-name=away"),
		}.start(t)
		j.ready("away")
		j.ready("worker")
		began := time.Now()
		j.signal(syscall.SIGTERM)
		j.expect("worker 15", "worker done", "away 15")
		j.exits(143)
		if took := time.Since(began); took < grace {
			t.Errorf("killed after %v, with some of the %v left", took, grace)
		}
		j.gone()
	})
}

// TestLeftoversLeave leaves them alone, and unaware.
func TestLeftoversLeave(t *testing.T) {
	t.Parallel()
	j := launch{
		mode: asChild, flags: []string{"--leftovers=leave"},
		worker: probe("log", "-exit=7", "-child=-name=child -on=10=0", "-session=-name=away -on=10=0"),
	}.start(t)
	child, away := j.ready("child"), j.ready("away")
	j.ready("worker")
	j.exits(7)
	for name, pid := range map[string]int{"child": child, "away": away} {
		if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		j.expect(name+" 10", name+" done")
	}
	j.rest()
}

// TestLeftoversTerm tells them once and leaves it at that.
func TestLeftoversTerm(t *testing.T) {
	t.Parallel()
	j := launch{
		mode: asChild, flags: []string{"--leftovers=term"},
		worker: probe("log", "-exit=7", "-session=-name=away -on=10=0"),
	}.start(t)
	away := j.ready("away")
	j.ready("worker")
	j.exits(7)
	j.expect("away 15")
	if err := syscall.Kill(away, syscall.SIGUSR1); err != nil {
		t.Error(err)
	}
	j.expect("away 10", "away done")
	j.rest()
}

// TestLeftoversBetweenRounds lets nothing of one attempt live into the next, whatever --leftovers says of the end. After
// a failure that is worth a retry nothing stays of the last one either: that it was the last is decided later.
func TestLeftoversBetweenRounds(t *testing.T) {
	t.Parallel()
	j := launch{
		mode: asChild, restarts: true,
		flags:  []string{"--leftovers=leave", "--max-restarts=1", "--restart-backoff=1ms"},
		worker: probe("log", "-exit=129", "-session=-name=away"),
	}.start(t)
	first := j.ready("away")
	j.ready("worker")
	line, err := j.next(limit)
	if line == "away 15" {
		line, err = j.next(limit)
	}
	var second int
	if n, _ := fmt.Sscanf(line, "away ready %d", &second); n != 1 {
		t.Fatalf("got %q (%v), want the second worker's child", line, err)
	}
	if s := state(first); s != "" {
		t.Errorf("%d still runs (%s) beside its successor %d", first, s, second)
	}
	j.ready("worker")
	j.exits(129)
	if s := state(second); s != "" {
		t.Errorf("%d still runs (%s) after the end", second, s)
	}
}

// TestLeftoversOfOthers has a service that the entrypoint started before gangrun, whose children come and go meanwhile: an
// orphan in its group, and one in a session of its own. They are nobody's leftovers; what the worker leaves is.
func TestLeftoversOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The service makes its orphans once gangrun runs, as the worker tells, and the worker ends once they are there.
	script := `(read go <` + dir + `/go; (sh -c 'echo $$ >` + dir + `/same; exec sleep 60' & exit 0); setsid sh -c 'sh -c "echo \$\$ >` + dir + `/away; exec sleep 60" &'; wait; while ! [ -s ` + dir + `/same -a -s ` + dir + `/away ]; do sleep 0.01; done; echo made >` + dir + `/made; exec sleep 60) &
echo $! >` + dir + `/service
exec "$GANGRUN" run --no-restart -- sh -c 'echo go >` + dir + `/go; read made <` + dir + `/made; (sh -c "echo \$\$ >` + dir + `/worker; exec env -i sleep 60" & ); while ! [ -s ` + dir + `/worker ]; do sleep 0.01; done'`
	for _, name := range []string{"go", "made"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), "GANGRUN="+harness.Binary(t))
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for name, alive := range map[string]bool{"service": true, "same": true, "away": true, "worker": false} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
		if got := syscall.Kill(pid, 0) == nil; got != alive {
			t.Errorf("%s (%d) lives: %v", name, pid, got)
		}
		if alive {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// TestLeftoversKeepTheirOutput leaves a process behind that prints after gangrun's end.
func TestLeftoversKeepTheirOutput(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"leave": "begin\nlate\n", "term": "begin\ntold\nlate\n"} {
		fifo := filepath.Join(t.TempDir(), "go")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(harness.Binary(t), "run", "--quiet", "--leftovers", policy, "--", "sh", "-c",
			`(trap "echo told" TERM; echo begin; until read go <`+fifo+`; do :; done; echo late) & sleep 0.2`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		state, err := cmd.Process.Wait()
		if err != nil || !state.Success() {
			t.Fatalf("%v, %v", state, err)
		}
		if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(out); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", policy, got, err, want)
		}
	}
}
