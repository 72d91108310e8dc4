package local_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestPrefixes tells on each line whose it is, on both outputs, in a column of its own.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "11", "--quiet"}, worker: shell(`echo "out $RANK"; echo "err $RANK" >&2; printf "no end"`)}.run(t)
	res.want(t, 0)
	var stdout, stderr []string
	for rank := range 11 {
		stdout = append(stdout, fmt.Sprintf("[%2d] no end", rank), fmt.Sprintf("[%2d] out %d", rank, rank))
		stderr = append(stderr, fmt.Sprintf("[%2d] err %d", rank, rank))
	}
	for _, output := range []struct {
		got  string
		want []string
	}{{res.Stdout, stdout}, {res.Stderr, stderr}} {
		got := lines(output.got)
		slices.Sort(got)
		slices.Sort(output.want)
		if !slices.Equal(got, output.want) {
			t.Errorf("got %q, want %q", got, output.want)
		}
	}
}

// TestWholeLines has two ranks write at once, each line in pieces. None is torn or lost, and each rank's are in order.
func TestWholeLines(t *testing.T) {
	t.Parallel()
	const n = 400
	res := job{flags: []string{"-n", "2", "--quiet"}, worker: shell(fmt.Sprintf(
		`i=0; while [ $i -lt %d ]; do printf "rank $RANK "; printf "line $i"; printf " end\n"; i=$((i+1)); done`, n))}.run(t)
	res.want(t, 0)
	var next [2]int
	for _, line := range lines(res.Stdout) {
		var prefix, rank, number int
		if _, err := fmt.Sscanf(line, "[%d] rank %d line %d end", &prefix, &rank, &number); err != nil || prefix != rank || number != next[rank&1] {
			t.Fatalf("%q after lines %d: %v", line, next, err)
		}
		next[rank&1]++
	}
	if next != [2]int{n, n} {
		t.Errorf("lines of each rank: %d", next)
	}
}

// TestColours are there on a terminal that can show them, for a user who has not said otherwise.
func TestColours(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  []string
		want bool
	}{
		{"a terminal", []string{"TERM=xterm"}, true},
		{"NO_COLOR is empty", []string{"TERM=xterm", "NO_COLOR="}, true},
		{"NO_COLOR", []string{"TERM=xterm", "NO_COLOR=1"}, false},
		{"a dumb terminal", []string{"TERM=dumb"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			term := openTerminal(t)
			term.start(job{flags: []string{"-n", "2", "--quiet"}, env: tt.env, worker: shell("echo hello")})
			shown := term.ends(0)
			found := regexp.MustCompile(`\x1b\[(\d+)m\[(\d)\]\x1b\[0m hello\r\n`).FindAllStringSubmatch(shown, -1)
			switch {
			case !tt.want && strings.Contains(shown, "\x1b"):
				t.Errorf("colours: %q", shown)
			case tt.want && (len(found) != 2 || found[0][1] == found[1][1]):
				t.Errorf("not two prefixes in two colours: %q", shown)
			}
		})
	}
}

// TestOnlyRanks shows some ranks and keeps and judges all.
func TestOnlyRanks(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "3", "--only-ranks", "0,2", "--log-dir", "logs"},
		worker: shell(`echo "out $RANK"; echo "err $RANK" >&2`)}.run(t)
	res.want(t, 0)
	got := lines(res.Stdout)
	slices.Sort(got)
	if !slices.Equal(got, []string{"[0] out 0", "[2] out 2"}) || strings.Contains(res.Stderr, "[1]") {
		t.Errorf("%q\n%s", got, res.Stderr)
	}
	if kept := read(t, res.dir+"/logs/round_0/1/stdout.log"); kept != "out 1\n" {
		t.Errorf("kept of the rank that is not shown: %q", kept)
	}
	if rows := table(t, res.Stderr); !strings.HasPrefix(rows[2], "1 | success | 0 |") {
		t.Errorf("%q", rows)
	}
}

// TestLogDir keeps exactly what each rank has written, in each round.
func TestLogDir(t *testing.T) {
	t.Parallel()
	end := job{flags: []string{"-n", "2", "--log-dir", "logs"}, worker: shell(
		`printf 'a\0b\r\tc\033[1m no end'; echo "$RANK in $GANGRUN_ROUND" >&2; [ $RANK$GANGRUN_ROUND != 10 ] || exit 200`)}.run(t)
	end.want(t, 0)
	for rank := range 2 {
		directory := fmt.Sprintf("%s/logs/round_1/%d/", end.dir, rank)
		if out := read(t, directory+"stdout.log"); out != "a\x00b\r\tc\x1b[1m no end" {
			t.Errorf("%s: %q", directory, out)
		}
		if err := read(t, directory+"stderr.log"); err != fmt.Sprintf("%d in 1\n", rank) {
			t.Errorf("%s: %q", directory, err)
		}
		read(t, fmt.Sprintf("%s/logs/round_0/%d/stdout.log", end.dir, rank)) // the first round's stays
	}
}

// TestQuiet says nothing of its own, whatever happens, and the ranks say what they like.
func TestQuiet(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2", "--quiet", "--no-restart"}, worker: shell(
		`echo "err $RANK" >&2; [ $RANK = 0 ] || kill -KILL $$; exec sleep 1000`)}.run(t)
	res.want(t, 137)
	got := lines(res.Stderr)
	slices.Sort(got)
	// The rank that was stopped may not have come so far.
	if res.Stdout != "" || !slices.Equal(got, []string{"[0] err 0", "[1] err 1"}) && !slices.Equal(got, []string{"[1] err 1"}) {
		t.Errorf("%q, %q", res.Stdout, got)
	}
}

// TestExitCode is the cause's, not that of a rank that was stopped for it.
func TestExitCode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		code         int
	}{
		{"success", "exit 0", 0},
		{"a rank's own code", "[ $RANK = 0 ] || exit 3; exec sleep 1000", 3},
		{"a signal", "[ $RANK = 0 ] || kill -SEGV $$; exec sleep 1000", 139},
		{"a code above 127", "[ $RANK = 0 ] || exit 200; exec sleep 1000", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job{flags: []string{"-n", "2", "--no-restart"}, worker: shell(tt.script)}.run(t).want(t, tt.code)
		})
	}
	t.Run("no such command", func(t *testing.T) {
		job{flags: []string{"-n", "2"}, worker: []string{"./nothing"}}.run(t).want(t, 127)
	})
	t.Run("stopped from outside", func(t *testing.T) {
		r := job{flags: []string{"-n", "2"}, worker: shell(`echo "up $RANK"; exec sleep 1000`)}.start(t)
		r.Await("up 0")
		r.Await("up 1")
		r.Signal(syscall.SIGTERM)
		r.end().want(t, 143)
	})
	t.Run("one that has finished waits for the others", func(t *testing.T) {
		r := job{flags: []string{"-n", "2"}, worker: shell(
			`[ $RANK = 1 ] || exit 0; mkfifo gate; echo ready; read x <gate; echo last`)}.start(t)
		r.Await("ready")
		pass(t, r.dir+"/gate")
		res := r.end()
		res.want(t, 0)
		if !strings.Contains(res.Stdout, "[1] last") {
			t.Errorf("%q", res.Stdout)
		}
	})
}
