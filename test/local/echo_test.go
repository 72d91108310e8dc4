package local_test

import (
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestAnEchoComesFirst is a rank that dies of an error of its own and takes a moment for it: its connections are closed
// before it is gone, and its peer fails first. The verdict is still that on the one that caused it.
func TestAnEchoComesFirst(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2", "--max-restarts", "3"}, worker: shell(`
		[ "$RANK" = 0 ] && { sleep 0.4; exit 3; }
		echo "RuntimeError: [/src/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4711" >&2
		exit 1`)}.run(t)
	res.want(t, 3)
	if m := res.message; m.Verdict != exitcodes.Fatal || *m.RootCause.Rank != 0 || *m.Round != 0 {
		t.Errorf("%+v\n%s", m, res.Stderr)
	}
}

// TestAnEchoAlone has nobody who tells more: the others are stopped, and all start again.
func TestAnEchoAlone(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2", "--max-restarts", "3"}, worker: shell(`
		[ "$GANGRUN_ROUND" = 0 ] || exit 0
		[ "$RANK" = 0 ] && exec sleep 1000
		echo "RuntimeError: [/src/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4711" >&2
		exit 1`)}.run(t)
	res.want(t, 0)
	if m := res.message; *m.Round != 1 || m.Restarts.Used != 1 {
		t.Errorf("%+v\n%s", m, res.Stderr)
	}
}
