package local_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestTTYRank gives the terminal to one rank, as it would be without gangrun. The others read nothing, and cannot get at
// the terminal by another way.
func TestTTYRank(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.start(job{flags: []string{"-n", "2", "--tty-rank", "1"}, worker: shell(`
		if [ $RANK = 0 ]; then
			if read x; then echo "read $x"; else echo "end of input"; fi
			if (: >/dev/tty) 2>/dev/null; then echo "there is a terminal"; else echo "no terminal"; fi
			mkfifo gate; read x <gate; exit 0
		fi
		for fd in 0 1 2; do [ -t $fd ] || echo "$fd is no terminal"; done
		until [ -p gate ]; do :; done
		printf "who? "; read x; echo "it is $x" >&2; if read x; then echo "read $x"; else echo "that was all"; fi; : >gate`)})
	term.Sees("who? ")
	term.Type("me\n")
	term.Sees("\nit is me\r\n")
	term.Type("\x04")
	term.Sees("that was all\r\n")
	shown := term.ends(0)
	for _, text := range []string{"[0]\x1b[0m end of input\r\n", "[0]\x1b[0m no terminal\r\n"} {
		if !strings.Contains(shown, text) {
			t.Errorf("%q is not in %q", text, shown)
		}
	}
	if strings.Contains(shown, "is no terminal") || strings.Contains(shown, "[1]") {
		t.Errorf("%q", shown)
	}
}

// TestUnseen has the rank at the terminal fail: gangrun says that it has not seen why, and how it would.
func TestUnseen(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.start(job{flags: []string{"-n", "2", "--tty-rank", "1"}, worker: shell(`[ $RANK = 0 ] && exec sleep 1000; exit 3`)})
	shown := term.ends(3)
	if !strings.Contains(shown, "rank 1 exited 3; gangrun did not see its output") || !strings.Contains(shown, "What to do: run it again without --tty-rank") ||
		strings.Contains(shown, "write a rule") {
		t.Errorf("%q", shown)
	}
}

// TestInterrupt presses ^C while the ranks train, with and without a rank that has the terminal. All end, and that is no
// failure; the terminal is as it was.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	workers := map[string][]string{
		"python": python(t, "loop.py"),
		"shell":  shell(`echo "up $RANK"; exec sleep 1000`),
	}
	for name, worker := range workers {
		for _, flags := range [][]string{nil, {"--tty-rank", "0"}, {"--tty-rank", "1"}} {
			t.Run(fmt.Sprint(name, flags), func(t *testing.T) {
				t.Parallel()
				term := openTerminal(t)
				term.start(job{flags: append([]string{"-n", "2"}, flags...), worker: worker})
				for rank := range 2 { // in any order
					harness.Eventually(t, limit, "both are up", func() bool {
						return strings.Contains(term.Shown(), fmt.Sprint("up ", rank))
					})
				}
				term.Type("\x03")
				if shown := term.ends(130); strings.Contains(shown, "restarting") {
					t.Error("what the user wanted to end was taken for a failure")
				}
				if m := harness.Message(t, term.dir+"/message"); m.Verdict != "preempted" || *m.Round != 0 {
					t.Errorf("%+v", m)
				}
			})
		}
	}
}

// TestSettingsAreRestored has the rank at the terminal leave it in a mess, in which a person could not even see what they
// type.
func TestSettingsAreRestored(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.start(job{flags: []string{"-n", "2", "--tty-rank", "1", "--no-restart"},
		worker: shell(`[ $RANK = 1 ] || exec sleep 1000; stty raw -echo; echo "a mess"; kill -KILL $$`)})
	term.Sees("a mess\n")
	term.ends(137)
}

// ticking says that it lives. It is no shell: one that has just forked by vfork cannot be stopped (the child can, and
// holds it up), whoever supervises it.
var ticking = []string{"python3", "-c", "import os, time\nwhile True: print('tick', os.environ['RANK'], flush=True); time.sleep(0.05)"}

// TestSuspend presses ^Z under a shell with job control, and brings the ranks back by fg. A rank that has not got the
// terminal leads a session of its own, in which no shell could continue it, so the kernel drops the signal of the key
// there: gangrun itself has to stop, and what it supervises by SIGSTOP.
func TestSuspend(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--tty-rank", "1"}, nil} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t)
			term.shell(job{flags: append([]string{"-n", "2"}, flags...), worker: ticking})
			term.Type("stty -echo -ixon; before=$(stty -g); PS1= PS2=\n") // bash itself sets more while it reads a line
			term.Type("sh " + term.dir + "/go\n")
			term.Sees("tick 0")
			term.Sees("tick 1")
			term.Type("\x1a")
			if !stops(term) {
				t.Fatal("the key has no effect: the ranks run on in the foreground")
			}
			term.Type("echo still $((40+2))\n")
			term.Sees("still 42")
			term.Type("fg\n")
			term.Sees("/go")
			term.Sees("tick 0")
			term.Sees("tick 1")
			term.Type("\x03")
			term.Sees("rank  verdict")
			term.Type("echo code $?; [ \"$before\" = \"$(stty -g)\" ] && echo same' 'settings\n")
			term.Sees("code 130")
			term.Sees("same settings")
			gone(t, term.dir)
		})
	}
}

// stops waits until the shell says that the job is stopped, and gives up when the ranks have gone on for long.
func stops(term *terminal) bool {
	for n := 0; n < 40; n++ {
		stopped := strings.Contains(term.Shown(), "Stopped")
		if stopped || !term.Wait() {
			return stopped
		}
	}
	return false
}

// TestDebugger works with pdb in a terminal that people use, in rank 1 of two.
func TestDebugger(t *testing.T) {
	t.Parallel()
	m := openTmux(t)
	script := python(t, "debugged.py")
	dir := m.shell(job{flags: []string{"-n", "2", "--tty-rank", "1"}, worker: []string{script[0], "-m", "pdb", script[1]}})
	m.types("before=$(stty -g)")
	m.types("sh " + dir + "/go")
	m.sees("\n(Pdb)")
	m.types("break loss")
	m.sees("Breakpoint 1 at")
	m.types("continue")
	m.sees("-> value = step * 2")
	m.types("p 'step', step, 'of rank', rank")
	m.sees("('step', 0, 'of rank', '1')")
	m.types("clear 1")
	m.sees("Deleted breakpoint 1")
	m.types("continue")
	m.sees("\nendless")
	m.keys("C-c") // is the debugger's, not the end
	m.sees("Program interrupted")
	m.types("p 'sum', 20 + 22")
	m.sees("('sum', 42)")
	m.types("quit")
	m.sees("\nrank ")
	m.types("echo code $? for $RANDOM; [ \"$before\" = \"$(stty -g)\" ] && echo same\" \"settings")
	m.sees("same settings")
	gone(t, dir)
	screen := m.screen()
	// The other rank has no debugger: it would have read the end of its input, and left before the first line.
	if !strings.Contains(screen, "[0] endless") || strings.Contains(screen, "[0] (Pdb)") || strings.Contains(screen, "[1]") {
		t.Errorf("%s", screen)
	}
}

// tmux is a terminal emulator without a screen.
type tmux struct {
	t    *testing.T
	argv []string
}

func openTmux(t *testing.T) *tmux {
	t.Helper()
	program := harness.Program(t, "tmux", "make peers")
	bash := harness.Program(t, "bash", "install bash")
	socket := filepath.Join(directory(t), "tmp", "tmux")
	m := &tmux{t, []string{program, "-S", socket, "-f", "/dev/null"}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("screen:\n%s", m.screen())
		}
		_ = exec.Command(program, append(m.argv[1:], "kill-server")...).Run()
	})
	m.do("new-session", "-d", "-x", "120", "-y", "60", "-c", "/", "env PS1='$ ' HISTFILE= "+bash+" --norc --noprofile -i")
	m.sees("$")
	return m
}

func (m *tmux) do(args ...string) string {
	m.t.Helper()
	out, err := exec.Command(m.argv[0], append(m.argv[1:len(m.argv):len(m.argv)], args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// shell makes a job that "sh <directory>/go" starts.
func (m *tmux) shell(j job) (dir string) {
	dir = directory(m.t)
	j.script(m.t, dir)
	return dir
}

// types types a line.
func (m *tmux) types(line string) {
	m.t.Helper()
	m.do("send-keys", "-l", line)
	m.keys("Enter")
}

func (m *tmux) keys(name string) {
	m.t.Helper()
	m.do("send-keys", name)
}

// screen is what is on the screen.
func (m *tmux) screen() string {
	m.t.Helper()
	return strings.TrimRight(m.do("capture-pane", "-p"), "\n")
}

// sees waits until the text is on the screen.
func (m *tmux) sees(text string) {
	m.t.Helper()
	harness.Eventually(m.t, limit, text, func() bool { return strings.Contains(m.screen(), text) })
}
