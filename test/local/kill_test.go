package local_test

import (
	"slices"
	"strings"
	"testing"
)

// TestKillRankByTime kills a rank once; the restarted gang is left alone.
func TestKillRankByTime(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2", "--kill-rank", "1@50ms"},
		worker: shell(`echo "$RANK in $GANGRUN_ROUND"; [ $GANGRUN_ROUND = 1 ] || exec sleep 1000`)}.run(t)
	res.want(t, 0)
	if !strings.Contains(res.Stderr, "rank 1 was killed by SIGKILL") || *res.message.Round != 1 || res.message.Restarts.Used != 1 {
		t.Errorf("%+v\n%s", res.message, res.Stderr)
	}
}

// TestKillRankByStep kills a rank when it has said that it has done this step, or one behind it.
func TestKillRankByStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kill string
		steps      []string // that rank 1 reports, before it waits
		code       int
		says       string
		never      bool // it is not rehearsed
	}{
		{"the step", "1@step=3", []string{"1", "2", "3"}, 137, "rank 1 was killed by SIGKILL", false},
		{"beyond it", "1@step=3", []string{"1", "5"}, 137, "rank 1 was killed by SIGKILL", false},
		{"step 0", "1@step=0", []string{"0"}, 137, "rank 1 was killed by SIGKILL", false},
		{"not so far", "1@step=3", []string{"1", "2", "end"}, 0, "the last step that it reported was 2", true},
		{"the other rank only", "0@step=3", []string{"1", "2", "3", "end"}, 0, "it reported no step", true},
		{"no time for it", "1@1h", []string{"1", "end"}, 0, "it ended before 1h0m0s", true},
		{"a signal", "1@step=3:SIGSEGV", []string{"3"}, 139, "rank 1 was killed by SIGSEGV", false},
		{"a signal's short name", "1@step=3:segv", []string{"3"}, 139, "rank 1 was killed by SIGSEGV", false},
		{"a signal's number", "1@step=3:11", []string{"3"}, 139, "rank 1 was killed by SIGSEGV", false},
		{"a signal that is answered", "1@step=3:SIGUSR1", []string{"3"}, 0, "[1] got signal 10", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := job{flags: []string{"-n", "2", "--no-restart", "--kill-rank", tt.kill}, worker: python(t, "steps.py", tt.steps...)}.run(t)
			res.want(t, tt.code)
			if !strings.Contains(res.Stdout+res.Stderr, tt.says) || strings.Contains(res.Stderr, "rehearsing") == tt.never || strings.Contains(res.Stderr, "did not come") != tt.never {
				t.Errorf("%s\n%s", res.Stdout, res.Stderr)
			}
		})
	}
}

// TestKillRankTwice has one failure follow another: that of rank 1 comes in the second round, since rank 1 reports the
// step only there.
func TestKillRankTwice(t *testing.T) {
	t.Parallel()
	j := job{flags: []string{"-n", "2", "--restart-backoff", "1ms:1ms", "--kill-rank", "0@20ms", "--kill-rank", "1@step=1:SIGABRT"},
		worker: []string{"/bin/sh", "-c", `case $GANGRUN_ROUND in 0) exec sleep 1000;; 1) exec "$@";; esac`, "sh"}}
	j.worker = append(j.worker, python(t, "steps.py", "1")...)
	end := j.run(t)
	end.want(t, 0)
	for _, text := range []string{"rank 0 was killed by SIGKILL", "rank 1 was killed by SIGABRT"} {
		if strings.Count(end.Stderr, text) == 0 {
			t.Errorf("%q is not in\n%s", text, end.Stderr)
		}
	}
	if *end.message.Round != 2 {
		t.Errorf("round %d\n%s", *end.message.Round, end.Stderr)
	}
}

// TestMistakes are refused before anything is started, in one line that names what is wrong.
func TestMistakes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flags []string
		says  []string
	}{
		{[]string{"--kill-rank", "1"}, []string{"--kill-rank 1", "RANK@TIME", "RANK@step=N"}},
		{[]string{"--kill-rank", "x@1s"}, []string{"--kill-rank x@1s"}},
		{[]string{"--kill-rank", "1@"}, []string{"--kill-rank 1@", "RANK@TIME"}},
		{[]string{"--kill-rank", "1@5"}, []string{"--kill-rank 1@5", "RANK@TIME"}},
		{[]string{"--kill-rank", "1@-5s"}, []string{"--kill-rank 1@-5s", "RANK@TIME"}},
		{[]string{"--kill-rank", "1@step="}, []string{"--kill-rank 1@step=", "RANK@step=N"}},
		{[]string{"--kill-rank", "1@step=-3"}, []string{"--kill-rank 1@step=-3", "RANK@step=N"}},
		{[]string{"--kill-rank", "1@steps=3"}, []string{"--kill-rank 1@steps=3", "RANK@step=N"}},
		{[]string{"--kill-rank", "1@1s:SIGNO"}, []string{"--kill-rank 1@1s:SIGNO", "signal"}},
		{[]string{"--kill-rank", "1@1s:0"}, []string{"--kill-rank 1@1s:0", "signal"}},
		{[]string{"--kill-rank", "2@1s"}, []string{"--kill-rank", "no rank 2"}},
		{[]string{"-n", "0"}, []string{"--ranks 0"}},
		{[]string{"-n", "two"}, []string{"--ranks two"}},
		{[]string{"--tty-rank", "2"}, []string{"--tty-rank 2", "2 ranks"}},
		{[]string{"--only-ranks", "0,2"}, []string{"--only-ranks", "no rank 2"}},
		{[]string{"--only-ranks", "0,,1"}, []string{"--only-ranks 0,,1", "0,2"}},
		{[]string{"--framework", "keras"}, []string{"--framework keras", "torch, tf, jax, none"}},
		{[]string{"--per-rank", "gdb 'args"}, []string{"--per-rank gdb 'args", "quoted"}},
		{[]string{"--per-rank", " "}, []string{"--per-rank", "want a command"}},
		{[]string{"--signal-scope", "session"}, []string{"--signal-scope session", "worker or group"}},
		{[]string{"--kill-ranks", "1@1s"}, []string{"--kill-ranks", "--kill-rank"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.flags, " "), func(t *testing.T) {
			res := job{flags: append([]string{"-n", "2"}, tt.flags...), worker: shell("echo started")}.run(t)
			res.want(t, 64)
			if res.Stdout != "" || strings.Count(res.Stderr, "\n") != 1 || res.message.Reason != "BadConfig" {
				t.Errorf("%q, %q, %s", res.Stdout, res.Stderr, res.message.Reason)
			}
			for _, text := range tt.says {
				if !strings.Contains(res.Stderr, text) {
					t.Errorf("%q is not in %q", text, res.Stderr)
				}
			}
		})
	}
}

// TestPerRank puts words before the command. They are split as a shell would, and nothing in them is expanded.
func TestPerRank(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flag string
		want []string // FOO and BAR of each rank
	}{
		{"env FOO=bar", []string{"[bar]", "[]"}},
		{"env FOO='a  b' BAR=\"c 'd'\"", []string{"[a  b]", "[c 'd']"}},
		{`env FOO=a\ b BAR=$HOME`, []string{"[a b]", "[$HOME]"}},
		{"env 'FOO=`date` $(date)' BAR=*", []string{"[`date` $(date)]", "[*]"}},
		{"env FOO=~ BAR=", []string{"[~]", "[]"}},
	}
	for _, tt := range tests {
		t.Run(tt.flag, func(t *testing.T) {
			res := job{flags: []string{"-n", "2", "--per-rank", tt.flag}, env: []string{"FOO=", "BAR="},
				worker: []string{"/bin/sh", "-c", `printf '[%s]\n' "$FOO" "$BAR" "$@"`, "sh", "an argument", "$HOME"}}.run(t)
			res.want(t, 0)
			var want []string
			for _, rank := range []string{"[0] ", "[1] "} {
				for _, line := range append(tt.want, "[an argument]", "[$HOME]") {
					want = append(want, rank+line)
				}
			}
			got := lines(res.Stdout)
			slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:4], b[:4]) })
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestPerRankIsNoShell has characters in --per-rank that mean something to a shell. They are words like others, or they
// are refused; what comes after them is not silently dropped.
func TestPerRankIsNoShell(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"env FOO=a;b", "env FOO=a|b", "env FOO=a&b", "env FOO=a>b", "env FOO=a<b"} {
		t.Run(flag, func(t *testing.T) {
			res := job{flags: []string{"-n", "1", "--per-rank", flag}, worker: shell(`echo "$FOO"`)}.run(t)
			if want := "[0] " + strings.TrimPrefix(flag, "env FOO=") + "\n"; res.Code != 64 && (res.Code != 0 || res.Stdout != want) {
				t.Errorf("exit code %d, %q; want 64, or %q", res.Code, res.Stdout, want)
			}
		})
	}
}
