package pid1_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// asGiven runs the shell script twice, under gangrun and without it, both behind the command line before, and wants
// the same lines from both.
func asGiven(t *testing.T, l launch, script string) {
	t.Helper()
	l.worker = sh(script)
	j := l.start(t)
	under := j.rest()
	j.exits(0)

	events, told, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(l.before[:len(l.before):len(l.before)], l.worker...)
	bare := exec.Command(argv[0], argv[1:]...)
	bare.Dir, bare.Env = l.dir, j.cmd.Env
	bare.ExtraFiles = append([]*os.File{told}, l.extra...)
	if err := bare.Start(); err != nil {
		t.Fatal(err)
	}
	told.Close()
	listener := &job{t: t}
	listener.listen(events)
	without := listener.rest()
	if err := bare.Wait(); err != nil {
		t.Fatal(err)
	}
	events.Close()
	if got, want := strings.Join(under, "\n"), strings.Join(without, "\n"); got != want {
		t.Errorf("under gangrun:\n%s\nwithout:\n%s", got, want)
	}
}

// TestDispositions checks that the worker finds those signals ignored that were ignored when gangrun was started, as
// nohup and a shell's background jobs rely on, no others, and none blocked.
func TestDispositions(t *testing.T) {
	t.Parallel()
	for _, ignored := range []string{"", "HUP", "INT", "HUP,INT,TSTP,TTIN,TTOU"} {
		t.Run(ignored, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, m mode) {
				asGiven(t, launch{mode: m, before: withIgnored(ignored)}, "grep -E '^Sig(Blk|Ign)' /proc/self/status >&3")
			})
		})
	}
}

// TestDefaultDispositions is for the signals that the Go runtime takes over before anybody can see how they were: the
// worker gets the default, whatever it was before. What it must not get is the opposite, above all an ignored SIGPIPE.
func TestDefaultDispositions(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, before: withIgnored("QUIT,PIPE,TERM,USR1,WINCH,URG,SEGV,ABRT,RTMIN+6"),
			worker: sh("grep -E '^Sig(Blk|Ign)' /proc/self/status >&3"),
		}.start(t)
		// Signal 32 is the C library's own, and how it was given cannot be changed.
		j.expect("SigBlk:\t0000000000000000", fmt.Sprintf("SigIgn:\t%016x", ignoredByUs(t)&(1<<(32-1))))
		j.exits(0)
	})
}

// ignoredByUs is the mask of the signals that this process ignores.
func ignoredByUs(t *testing.T) (mask uint64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "SigIgn:")
	if _, err := fmt.Sscanf(after, "%x", &mask); err != nil {
		t.Fatal(err)
	}
	return mask
}

// withIgnored is a command line that ignores these signals, and no others, and becomes what follows it.
func withIgnored(signals string) []string {
	env := []string{"/usr/bin/env", "--default-signal"}
	if signals != "" {
		env = append(env, "--ignore-signal="+signals)
	}
	return env
}

// TestIgnoredSignalStays is nohup: what was to be ignored is ignored, and does not stop anything.
func TestIgnoredSignalStays(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, before: withIgnored("HUP,INT"), worker: probe("log", "-on=10=5"),
		}.start(t)
		j.ready("worker")
		j.signal(syscall.SIGHUP)
		j.signal(syscall.SIGINT)
		j.signal(syscall.SIGUSR1)
		j.expect("worker 10", "worker done")
		j.exits(5)
	})
}

// TestSIGCHLDIgnored starts gangrun as a careless parent does, with SIGCHLD ignored, for which the kernel discards the
// exit status of every child.
func TestSIGCHLDIgnored(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		launch{
			mode: m, before: withIgnored("CHLD"), worker: sh("( : & ); exit 7"),
		}.start(t).exits(7)
	})
}

// TestBlockedTerm starts gangrun with the stop signal blocked.
func TestBlockedTerm(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		j := launch{
			mode: m, before: []string{"/usr/bin/env", "--block-signal=TERM"}, worker: probe("log", "-on=15=0"),
		}.start(t)
		j.ready("worker")
		j.signal(syscall.SIGTERM)
		j.expect("worker 15", "worker done")
		j.exits(143)
	})
}

// TestFiles passes open files on, under the same numbers, and adds none of gangrun's own.
func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "handed-on")
	if err := os.WriteFile(path, []byte("from the file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	asGiven(t, launch{mode: asChild, extra: []*os.File{file}}, "cd /proc/$$/fd; echo * >&3")
	j := launch{mode: asPID1, extra: []*os.File{file}, worker: sh("cat <&4 >&3")}.start(t)
	j.expect("from the file")
	j.exits(0)
}

// TestLimits passes resource limits on as they were, which the Go runtime raises for itself, and the umask.
func TestLimits(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		before := append(sh(`umask 027; ulimit -S -n 321; ulimit -S -c 5; exec "$@"`), "sh")
		asGiven(t, launch{mode: m, before: before}, "{ umask; ulimit -a; ulimit -S -n; ulimit -H -n; } >&3")
	})
}

// TestWorkingDirectory leaves the worker where gangrun was started, while gangrun itself moves out of the way, so that
// it keeps no volume busy.
func TestWorkingDirectory(t *testing.T) {
	inBothModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		j := launch{mode: m, dir: dir, worker: sh("pwd -P >&3; exec sleep 100")}.start(t)
		j.expect(dir)
		root, err := os.Stat("/")
		if err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, limit, "gangrun is in /", func() bool {
			// By what it is, not by its name: from here, that of a root in another mount namespace may have another.
			at, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", j.pid()))
			return err == nil && os.SameFile(at, root)
		})
	})
}

// TestEnvironment passes the environment on, and adds what is documented.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	j := launch{mode: asChild, env: []string{"ODD= two  spaces ", "EMPTY="}, worker: []string{"env"}}.start(t)
	j.exits(0)
	own := regexp.MustCompile(`^(GANGRUN_\w+|NOTIFY_SOCKET|PYTHONFAULTHANDLER|TORCHELASTIC_ERROR_FILE|PATH|HOME|TMPDIR|TEST_RUN_DIR)=`)
	others := slices.DeleteFunc(strings.Split(strings.TrimSuffix(j.output(), "\n"), "\n"), own.MatchString)
	slices.Sort(others)
	if want := []string{"EMPTY=", "ODD= two  spaces "}; !slices.Equal(others, want) {
		t.Errorf("got %q, want %q", others, want)
	}
}
