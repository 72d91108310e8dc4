package rounds_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/test/harness"
)

// remote runs one of the commands that are about a job from outside.
func remote(t *testing.T, verb string, args ...string) harness.Result {
	t.Helper()
	argv := append([]string{harness.Binary(t), verb, "--store", storeOf(shared.get(t))}, args...)
	return harness.Run(t, limit, nil, argv...)
}

// takes leaves a command for the job, and waits until its lead has taken it.
func (p *party) takes(verb string) {
	p.t.Helper()
	if res := remote(p.t, verb, jobName(p.t)); res.Code != 0 || !strings.HasPrefix(res.Stdout, verb+": ") ||
		res.Stderr != "" {
		p.fatalf("%s: exit code %d, %q, %q", verb, res.Code, res.Stdout, res.Stderr)
	}
}

// TestFromOutside restarts, suspends, resumes and ends a job from outside, and looks at it.
func TestFromOutside(t *testing.T) {
	t.Parallel()
	p, job := sharedParty(t, "1", quickFence...), jobName(t)
	nodes := p.startAll(1)
	p.round(0, 1)
	p.takes("restart")
	p.round(1, 1)
	if res := remote(t, "status", job); res.Code != 0 || !strings.Contains(res.Stdout, "round 1, run ") ||
		!strings.Contains(res.Stdout, "\nn0 ") {
		t.Errorf("status: exit code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	p.takes("suspend")
	p.all(nodes, end{143, exitcodes.Suspended, exitcodes.ReasonSuspended})
	nodes = p.startAll(1)
	nodes[0].Await("the job is suspended; gangrun resume continues it")
	p.takes("resume")
	p.round(2, 1)
	p.takes("stop")
	p.all(nodes, end{exitcodes.CodeFatalByRule, exitcodes.Fatal, rendezvous.ReasonStopped})
	if res := remote(t, "status", job); res.Code != 0 || !strings.Contains(res.Stdout, "\nended: fatal, ") ||
		!strings.Contains(res.Stdout, "\nn0    -     0     ") {
		t.Errorf("status of a job that has ended: exit code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if res := remote(t, "status"); res.Code != 0 || !strings.HasPrefix(res.Stdout, "job ") ||
		!strings.Contains(res.Stdout, "\n"+job+" ") {
		t.Errorf("all jobs: exit code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if res := remote(t, "status", "--namespace", "empty", "-o", "json"); res.Code != 0 ||
		res.Stdout != "{\"jobs\":[]}\n" {
		t.Errorf("no jobs: exit code %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	res := remote(t, "status", "-o", "json", job)
	var status struct{ Job struct{ Phase string } }
	if err := json.Unmarshal([]byte(res.Stdout), &status); err != nil || res.Code != 0 ||
		status.Job.Phase != string(rendezvous.Failed) {
		t.Errorf("status: exit code %d, %v\n%s%s", res.Code, err, res.Stdout, res.Stderr)
	}
}

// TestWatch looks at a job on a terminal: it is drawn in place, and nothing else is on the screen. Without one, each
// state comes after the last.
func TestWatch(t *testing.T) {
	t.Parallel()
	p, job := sharedParty(t, "1", quickFence...), jobName(t)
	nodes := p.startAll(1)
	p.round(0, 1)
	argv := []string{harness.Binary(t), "status", "--store", storeOf(shared.get(t)), "--watch", job}
	plain := harness.Start(t, limit, nil, argv...)
	term := harness.OpenTerminal(t, limit)
	term.Control(
		func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 12, Col: 60}) })
	watch := exec.Command(argv[0], argv[1:]...)
	watch.Env = append(os.Environ(), "TERM=xterm")
	watch.Stdin, watch.Stdout, watch.Stderr = term.Program, term.Program, term.Program
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	term.Sees("round 0")
	plain.Await("round 0")
	p.takes("restart")
	p.round(1, 1)
	term.Sees("round 1")
	plain.Await("round 1")
	for frame := range strings.SplitSeq(strings.TrimPrefix(term.Shown(), "\x1b[?2026h\x1b[H\x1b[2J"),
		"\x1b[?2026h\x1b[H") {
		lines := strings.Split(frame, "\x1b[K\r\n")
		if len(lines) > 12 ||
			strings.Contains(strings.TrimSuffix(strings.Join(lines, ""), "\x1b[J\x1b[?2026l"), "\x1b") {
			t.Errorf("%q", frame)
		}
	}
	if err := watch.Process.Signal(unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = watch.Wait() // by the signal
	plain.Signal(unix.SIGTERM)
	if out := plain.Wait().Stdout; strings.Contains(out, "\x1b") || !strings.Contains(out, "\n\njob "+job+": ") {
		t.Errorf("%q", out)
	}
	p.takes("stop")
	p.all(nodes, end{exitcodes.CodeFatalByRule, exitcodes.Fatal, rendezvous.ReasonStopped})
}

// TestFromOutsideInVain has jobs that are not there, or have nobody who could take a command.
func TestFromOutsideInVain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"status of no job", []string{"status", "no-such-job"}, 66, "no record of this job"},
		{"a command for no job", []string{"stop", "no-such-job"}, 66, "no record of this job"},
		{
			"no store",
			[]string{"status", "--store", "http://127.0.0.1:9", "--timeout", "3s", "a"},
			69,
			"cannot be reached",
		},
		{"two jobs", []string{"status", "a", "b"}, 64, `"b" is one too many`},
		{"which job", []string{"resume"}, 64, "which job?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := remote(t, tt.args[0], tt.args[1:]...)
			if res.Code != tt.code || res.Stdout != "" || !strings.Contains(res.Stderr, tt.says) {
				t.Errorf("exit code %d, %q, %q; want %d, %q", res.Code, res.Stdout, res.Stderr, tt.code, tt.says)
			}
		})
	}
	written, err := shared.get(t).Admin(t).Get(t.Context(), "/gangrun/v1/default/no-such-job/", clientv3.WithPrefix())
	if err != nil || written.Count != 0 {
		t.Errorf("commands for no job have written %v, %v", written, err)
	}
}

// TestResumeBeforeAnybodyIsThere resumes a job all of whose nodes have gone: the first that joins takes it.
func TestResumeBeforeAnybodyIsThere(t *testing.T) {
	t.Parallel()
	p := sharedParty(t, "1", quickFence...)
	first := p.startAll(1)
	p.round(0, 1)
	p.takes("suspend")
	p.all(first, end{143, exitcodes.Suspended, "Suspended"})
	if res := remote(t, "resume", jobName(t)); res.Code != 0 || res.Stdout != "resume: accepted; it takes effect when a node joins\n" {
		t.Errorf("exit code %d, %q, %q", res.Code, res.Stdout, res.Stderr)
	}
	second := p.startAll(1)
	finish(p.round(1, 1))
	p.all(second, succeeded)
}
