package supervisor

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestCrashed: the message of a crash says where it was in Python, of the thread that crashed.
func TestCrashed(t *testing.T) {
	const threads = `
Thread 0x00007f41b7fff6c0 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 359 in wait

Current thread 0x00007f41c2a32740 (most recent call first):
  File "/usr/lib/python3.12/ctypes/__init__.py", line 519 in string_at
  File "/app/train.py", line 30 in read
  File "/app/train.py", line 41 in <module>

Extension modules: numpy._core._multiarray_umath, torch._C (total: 2)
`
	const where = " in string_at (__init__.py:519), called by read (train.py:30)"
	for name, test := range map[string]struct {
		signal unix.Signal
		output string
		want   string
	}{
		"a crash":               {unix.SIGSEGV, "step 3\nFatal Python error: Segmentation fault\n" + threads, where},
		"of another kind":       {unix.SIGBUS, "step 3\nFatal Python error: Bus error\n" + threads, where},
		"of arithmetic":         {unix.SIGFPE, "Fatal Python error: Floating point exception\n" + threads, where},
		"of another process":    {unix.SIGBUS, "Fatal Python error: Segmentation fault\n" + threads, ""},
		"killed by somebody":    {unix.SIGKILL, "Fatal Python error: Segmentation fault\n" + threads, ""},
		"no Python":             {unix.SIGSEGV, "step 3\n", ""},
		"in no Python function": {unix.SIGSEGV, "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  <no Python frame>\n", ""},
	} {
		o := exitcodes.Outcome{Rank: 2, LocalRank: 2, Status: exitcodes.Status{Signal: int(test.signal)}, Output: []byte(test.output), At: time.Now()}
		f := judge(o, exitcodes.BuiltinRules())
		plain := exitcodes.Judge(o, exitcodes.BuiltinRules()).Message
		if f.Message != plain+test.want || test.want != "" && !strings.Contains(plain, "was killed by ") {
			t.Errorf("%s: %q, want %q", name, f.Message, plain+test.want)
		}
	}
}
