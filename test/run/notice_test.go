package run_test

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// answering is a worker that says which signal it has got, and exits 0 on the last of them.
func answering(signals ...string) []string {
	script := ""
	for i, sig := range signals {
		end := ""
		if i == len(signals)-1 {
			end = "; exit 0"
		}
		script += `trap "echo got ` + sig + end + `" ` + sig + "\n"
	}
	return harness.Shell(script + "echo training; while :; do sleep 0.05; done")
}

// deaf is a worker that no stop signal ends.
var deaf = harness.Shell(`trap "echo deaf" TERM; trap "" INT; echo training; while :; do sleep 0.05; done`)

// begin starts the job, up to the training's first words.
func begin(t *testing.T, worker []string, flags ...string) *harness.Running {
	t.Helper()
	r := harness.Job{Flags: flags, Worker: worker}.Start(t, limit)
	r.Await("training")
	return r
}

// preempted waits for the end of a node that was called away, and wants the message to say by what.
func preempted(t *testing.T, r *harness.Running, by string) harness.Ended {
	t.Helper()
	e := r.End()
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if !strings.HasPrefix(e.Message.Message, by) {
		t.Errorf("the message does not begin with %q: %s", by, e.Raw)
	}
	return e
}

const byNotice = "the notice SIGUSR1 from outside"

// TestNotice gives notice of the end: the worker, which knows nothing of that signal, is told to stop and saves.
func TestNotice(t *testing.T) {
	for name, tt := range map[string]struct {
		notice string
		worker []string
		flags  []string
	}{
		"with a time": {"USR1@2m", answering("TERM"), nil},
		"without":     {"SIGUSR1", answering("TERM"), nil},
		"mapped":      {"10", answering("USR2"), []string{"--signal-map", "USR1:USR2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, tt.worker, append(tt.flags, "--notice-signal", tt.notice)...)
			r.Signal(syscall.SIGUSR1)
			e := preempted(t, r, byNotice+", after which the worker exited 0")
			if !strings.Contains(e.Stdout, "got ") || *e.Round != 0 || e.Restarts.Used != 0 {
				t.Errorf("%s\n%s", e.Stdout, e.Raw)
			}
		})
	}
}

// TestNoticeTime is how long a worker has that does not stop: the time that the notice tells, less a quarter for what
// comes after it, and without a time the grace.
func TestNoticeTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags []string
		has   time.Duration
	}{
		"with a time": {[]string{"--notice-signal", "USR1@2s", "--grace", "100ms"}, 1500 * time.Millisecond},
		"without":     {[]string{"--notice-signal", "USR1", "--grace", "1s"}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, deaf, tt.flags...)
			began := time.Now()
			r.Signal(syscall.SIGUSR1)
			e := preempted(t, r, byNotice+", after which the worker was killed by SIGKILL")
			if took := time.Since(began); took < tt.has {
				t.Errorf("the worker had %v of its %v", took, tt.has)
			}
			if strings.Count(e.Stdout, "deaf") != 1 {
				t.Errorf("output %q", e.Stdout)
			}
		})
	}
}

// TestStopAfterNotice is passed on, and shortens the wait to its own grace. A notice after a stop lengthens nothing.
func TestStopAfterNotice(t *testing.T) {
	for _, first := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		t.Run(first.String(), func(t *testing.T) {
			t.Parallel()
			r := begin(t, answering("TERM", "HUP"), "--notice-signal", "USR1@10h", "--grace", "500ms")
			by, second := byNotice, syscall.SIGTERM
			if first == syscall.SIGTERM {
				by, second = "SIGTERM from outside", syscall.SIGUSR1
			}
			r.Signal(first)
			r.Await("got TERM")
			r.Signal(second)
			e := preempted(t, r, by+", after which the worker was killed by SIGKILL")
			if first == syscall.SIGUSR1 && strings.Count(e.Stdout, "got TERM") != 2 {
				t.Errorf("output %q", e.Stdout)
			}
		})
	}
}

// TestNoticeToAll is a scheduler that sends its signal to every process: the worker dies of it, perhaps before gangrun
// has heard it. That is the notice, and no failure.
func TestNoticeToAll(t *testing.T) {
	t.Parallel()
	e := harness.Job{Flags: []string{quick, "--notice-signal", "USR1@2m"}, Worker: harness.Shell("kill -USR1 $$")}.Run(t, limit)
	e.Want(t, 143, exitcodes.Preempted, "Preempted")
	if *e.Round != 0 || !strings.HasPrefix(e.Message.Message, byNotice+", after which the worker was killed by SIGUSR1") {
		t.Error(string(e.Raw))
	}
}

// TestNoticeWithoutWorker comes between two rounds: the node leaves at once.
func TestNoticeWithoutWorker(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		byNotice:               {"--notice-signal", "USR1@10h"},
		"the time limit of 4s": {"--time-limit", "4s", "--grace", "500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, harness.Shell("echo training; exit 129"), append(flags, "--restart-backoff", "1h", "--max-restarts", "5")...)
			r.Await("msg=restarting round=2 ")
			if name == byNotice {
				r.Signal(syscall.SIGUSR1)
			}
			preempted(t, r, name+" while a failed worker was to be restarted")
		})
	}
}

// TestKilledAfterNotice is a gangrun that is killed while its worker saves: the message tells of the notice.
func TestKilledAfterNotice(t *testing.T) {
	t.Parallel()
	r := begin(t, deaf, "--notice-signal", "USR1@10h")
	r.Signal(syscall.SIGUSR1)
	r.Await("deaf")
	r.Signal(syscall.SIGKILL)
	r.Wait()
	if m := harness.Message(t, r.Log); m.Verdict != exitcodes.Preempted || m.ExitCode != 143 || !strings.HasPrefix(m.Message, byNotice) {
		t.Errorf("%+v", m)
	}
}

// TestTimeLimit stops a run that would go on, in time for its worker to save; one that is over before knows nothing of
// it.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	flags := []string{"--time-limit", "2s", "--grace", "1s"}
	t.Run("the worker saves", func(t *testing.T) {
		t.Parallel()
		e := preempted(t, begin(t, answering("TERM"), flags...), "the time limit of 2s, after which the worker exited 0")
		if e.Took < time.Second || !strings.Contains(e.Stderr, "stopping: the time limit of ") {
			t.Errorf("after %v: %s", e.Took, e.Stderr)
		}
	})
	t.Run("the worker does not stop", func(t *testing.T) {
		t.Parallel()
		e := preempted(t, begin(t, deaf, append(flags, "--pod-grace", "1h")...), "the time limit of 2s, after which the worker was killed by SIGKILL")
		if e.Took < 2*time.Second {
			t.Errorf("it had %v", e.Took)
		}
	})
	t.Run("shorter than a stop", func(t *testing.T) {
		t.Parallel()
		r := begin(t, deaf, "--time-limit", "3s", "--grace", "1s", "--notice-signal", "USR1@10h")
		r.Signal(syscall.SIGUSR1)
		preempted(t, r, byNotice)
	})
	t.Run("over before", func(t *testing.T) {
		t.Parallel()
		harness.Job{Flags: []string{"--time-limit", "1h"}, Worker: harness.Shell("exit 3")}.Run(t, limit).Want(t, 3, exitcodes.Fatal, "Error")
	})
	t.Run("a hook", func(t *testing.T) {
		t.Parallel()
		e := harness.Job{Flags: slices.Concat(flags, []string{"--hook-timeout", "1h"}, onExit("echo hook; sleep 1000")),
			Worker: []string{"true"}}.Run(t, limit)
		e.Want(t, 92, exitcodes.Fatal, "ExitHookFailed")
		if !strings.Contains(e.Stdout, "hook") || !strings.Contains(e.Message.Message, "before the grace was over") {
			t.Errorf("%s\n%s", e.Stdout, e.Raw)
		}
	})
}

// TestNoticeDuringHook starts the clock for the hooks, and changes nothing else.
func TestNoticeDuringHook(t *testing.T) {
	t.Parallel()
	r := harness.Job{Flags: append(onExit("echo hook; sleep 1000"), "--hook-timeout", "1h", "--notice-signal", "USR1@1s", "--signal-map", "USR1:USR2"),
		Worker: harness.Shell("exit 3")}.Start(t, limit)
	r.Await("[on-exit] hook")
	r.Signal(syscall.SIGUSR1)
	e := r.End()
	e.Want(t, 3, exitcodes.Fatal, "Error")
	if !slices.Equal(codes(e.Message), []int{124}) {
		t.Errorf("hooks %v", e.Hooks)
	}
}

const waits = "saving a checkpoint: SIGKILL waits until "

// saver is a training run that says that it saves when it is told to stop, and is done when it gets SIGUSR2.
func saver(t *testing.T, arg ...string) []string {
	return append([]string{harness.Program(t, "python3", "install python3"), harness.Root() + "/test/run/testdata/saver.py"}, arg...)
}

// soon is a grace in which a worker that is told to stop says that it saves, wherever many run at once.
const soon = "2s"

// TestCheckpointIsFinished gives a worker that saves a checkpoint when its grace is over the time for it that the pod
// has.
func TestCheckpointIsFinished(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		worker []string
		end    string
	}{
		"and exits":         {saver(t), "after which the worker exited 0"},
		"and does not exit": {saver(t, "stays"), "after which the worker was killed by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, tt.worker, append(onExit("echo hook"), "--grace", soon, "--pod-grace", "1h")...)
			r.Signal(syscall.SIGTERM)
			r.Await(waits)
			r.Signal(syscall.SIGTERM) // changes nothing
			r.Await("saving, call 2")
			r.Signal(syscall.SIGUSR2)
			e := preempted(t, r, "SIGTERM from outside, "+tt.end)
			if !strings.HasSuffix(e.Stdout, "saved\n[on-exit] hook\n") || strings.Count(e.Stderr, waits) != 1 {
				t.Errorf("%s\n%s", e.Stdout, e.Stderr)
			}
		})
	}
}

// TestCheckpointTakesTooLong ends at the limits of that time, or at once where a person says so.
func TestCheckpointTakesTooLong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags []string
		waits bool
		has   time.Duration
		sig   syscall.Signal
		by    string
	}{
		"the pod's grace": {[]string{"--grace", soon, "--pod-grace", "5s"}, true, 3 * time.Second, syscall.SIGTERM, "SIGTERM from outside"},
		"is not known":    {[]string{"--grace", soon}, false, 2 * time.Second, syscall.SIGTERM, "SIGTERM from outside"},
		"the notice's time": {[]string{"--grace", soon, "--pod-grace", "3s", "--notice-signal", "USR1@4s"}, false,
			3 * time.Second, syscall.SIGUSR1, byNotice},
		"the pod's, after a notice": {[]string{"--grace", soon, "--pod-grace", "4s", "--notice-signal", "USR1@3s"}, true,
			2500 * time.Millisecond, syscall.SIGUSR1, byNotice},
		"the time limit": {[]string{"--grace", soon, "--pod-grace", "1h", "--time-limit", "9s"}, false, 0, 0, "the time limit of 9s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, saver(t), tt.flags...)
			began := time.Now()
			if tt.sig != 0 {
				r.Signal(tt.sig)
			}
			e := preempted(t, r, tt.by+", after which the worker was killed by SIGKILL")
			if took := time.Since(began); took < tt.has {
				t.Errorf("it had %v of its %v", took, tt.has)
			}
			if strings.Contains(e.Stderr, waits) != tt.waits || !strings.Contains(e.Stdout, "saving, call 1") {
				t.Errorf("%s\n%s", e.Stdout, e.Stderr)
			}
		})
	}
	t.Run("a second SIGINT", func(t *testing.T) {
		t.Parallel()
		r := begin(t, saver(t), "--grace", soon, "--pod-grace", "1h")
		r.Signal(syscall.SIGINT)
		r.Await(waits)
		r.Signal(syscall.SIGINT)
		r.End().Want(t, 130, exitcodes.Preempted, "Preempted")
	})
}

// TestCheckpointBetweenRounds is given no time: a worker that is stopped because another has failed cannot save what
// it has in common with that one.
func TestCheckpointBetweenRounds(t *testing.T) {
	t.Parallel()
	worker := slices.Concat([]string{"--", "sh", "-c", `[ $RANK = 0 ] && exec "$@"; trap "exit 3" WINCH; echo ready; while :; do sleep 0.05; done`, "sh"}, saver(t))
	p := harness.Start(t, limit, nil, append([]string{harness.Binary(t), "local", "-n", "2", "--grace", "1h", "--pod-grace", "2h",
		"--restart-grace", "300ms"}, worker...)...)
	p.Await("training")
	p.Await("ready")
	p.Signal(syscall.SIGWINCH) // which the other rank does not heed
	if res := p.Wait(); res.Code != 3 || !strings.Contains(res.Stdout, "saving, call 1") || strings.Contains(res.Stderr, waits) {
		t.Errorf("exit code %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
}

// TestNoticeInLaunch is any signal but those that torchrun's flags make stop signals.
func TestNoticeInLaunch(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	launch := func(flags ...string) []string {
		return slices.Concat([]string{harness.Binary(t), "launch", "--termination-log", log, "--notice-signal", "HUP@2m"}, flags,
			[]string{"--no-python"}, answering("TERM"))
	}
	refused(t, harness.Run(t, limit, nil, launch()...), "--notice-signal SIGHUP", "stop signal already")
	r := &harness.Running{Process: harness.Start(t, limit, nil, launch("--signals-to-handle", "SIGTERM,SIGINT")...), Log: log}
	r.Await("training")
	r.Signal(syscall.SIGHUP)
	preempted(t, r, "the notice SIGHUP from outside, after which rank 0 exited 0")
}

// TestNoticeMistakes are refused before anything is started.
func TestNoticeMistakes(t *testing.T) {
	for name, tt := range map[string]struct {
		flags []string
		says  []string
	}{
		"a stop signal":    {[]string{"--notice-signal", "TERM@2m"}, []string{"--notice-signal SIGTERM", "stop signal already"}},
		"another":          {[]string{"--notice-signal", "2"}, []string{"--notice-signal SIGINT", "stop signal already"}},
		"cannot be caught": {[]string{"--notice-signal", "KILL"}, []string{"--notice-signal KILL", "SIGKILL cannot be caught"}},
		"no signal":        {[]string{"--notice-signal", "FOO@2m"}, []string{`"FOO" is not a signal`}},
		"no time":          {[]string{"--notice-signal", "USR1@0s"}, []string{"--notice-signal USR1@0s", "cannot be 0"}},
		"no unit":          {[]string{"--notice-signal", "USR1@120"}, []string{"--notice-signal USR1@120", "want a duration"}},
		"is dropped":       {[]string{"--notice-signal", "USR1", "--signal-map", "10:0"}, []string{"--notice-signal SIGUSR1", "--signal-map drops"}},
		"too short":        {[]string{"--time-limit", "20s", "--grace", "20s"}, []string{"--grace 20s", "--time-limit 20s"}},
		"no limit":         {[]string{"--time-limit", "0s"}, []string{"--time-limit 0s", "cannot be 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := harness.Run(t, limit, nil, slices.Concat([]string{harness.Binary(t), "run"}, tt.flags, []string{"--", "echo", "started"})...)
			refused(t, res, tt.says...)
		})
	}
}
