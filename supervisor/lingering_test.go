package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/hang"
)

// raised is what Python prints of an exception that nobody caught.
const raised = `printf 'Traceback (most recent call last):\n  File "/train.py", line 3, in <module>\n    f()\nValueError: no such column\n' >&2; `

// TestLingering: what has failed by its last words and does nothing then has failed.
func TestLingering(t *testing.T) {
	for _, test := range []struct {
		mode hang.Mode
		last string
		code int
		says string
	}{
		{hang.Auto, "sleep 60", 1, "rank 1 has failed and does not end; it does nothing for "},
		{hang.Observe, "sleep 4", 0, "a worker appears to hang at its exit"},
		{hang.Off, "sleep 2", 0, ""},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			r := newTrial(t, shell("exec "+test.last, raised+"exec "+test.last))
			r.cfg.Hang = hang.Policy{Mode: test.mode, ExitTimeout: 400 * time.Millisecond}
			r.cfg.PythonStacks, r.cfg.HangDir = true, t.TempDir
			if code := r.run(t); code != test.code {
				t.Errorf("exits with %d, want %d: %s", code, test.code, &r.err)
			}
			if !strings.Contains(r.err.String(), test.says) {
				t.Errorf("%q is not in %s", test.says, &r.err)
			}
			const failed = "rank 1 had failed, and did not end: ValueError: no such column"
			if m := r.message; test.code != 0 && (m.Verdict != exitcodes.Fatal || !strings.Contains(m.Message, failed)) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestLiving: none of these does nothing, however its last words look.
func TestLiving(t *testing.T) {
	const busy = "timeout 4 nice -n 19 sh -c 'while :; do :; done'; "
	r := newTrial(t, shell(
		raised+busy+"exit 0",
		raised+"sleep 0.2; "+busy+"exit 0",
		raised+"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.2; done; exit 0",
		raised+"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 0.2; echo it goes on; done; exit 0",
		strings.Replace(raised, "Traceback", `ERROR:root:skipped\nTraceback`, 1)+"exec sleep 4",
		raised+"sleep 0.1; echo it goes on; exec sleep 4",
	))
	r.cfg.Hang = hang.Policy{ExitTimeout: 400 * time.Millisecond}
	if code := r.run(t); code != 0 {
		t.Errorf("exits with %d: %s", code, &r.err)
	}
}
