package exitcodes

import (
	"strings"
	"testing"
)

// TestUnforked has memory be short for a moment, and where a program asks for too much itself.
func TestUnforked(t *testing.T) {
	const enomem = "OSError: [Errno 12] Cannot allocate memory"
	for name, tt := range map[string]struct {
		lines []string
		want  Verdict
	}{
		"a loader's fork":            {[]string{"Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    w.start()", `  File "/opt/multiprocessing/popen_fork.py", line 67, in _launch`, "    self.pid = os.fork()", enomem}, Retry},
		"with the marks of 3.11":     {[]string{"Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    w.start()", `  File "/opt/multiprocessing/popen_fork.py", line 66, in _launch`, "    self.pid = os.fork()", "               ^^^^^^^^^", enomem}, Retry},
		"a command":                  {[]string{"Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    run(cmd)", `  File "/opt/subprocess.py", line 1639, in _execute_child`, "    self.pid = _posixsubprocess.fork_exec(", enomem}, Retry},
		"several, their frames lost": {[]string{enomem, "    self.pid = os.fork()", enomem}, Retry},
		"another call":               {[]string{"Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    names = os.listdir(path)", enomem}, Retry},
		"no frame at all":            {[]string{enomem}, Retry},
		"a mapping":                  {[]string{"Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    mm = mmap.mmap(f.fileno(), 0)", enomem}, Fatal},
		"a mapping, after a fork":    {[]string{"Traceback (most recent call last):", `  File "train.py", line 9, in <module>`, "    pid = os.fork() or serve()", `  File "serve.py", line 7, in serve`, "    return load()", `  File "serve.py", line 3, in load`, "    mm = mmap.mmap(f.fileno(), 0)", enomem}, Fatal},
	} {
		o := exited(1)
		o.Output = []byte(strings.Join(tt.lines, "\n") + "\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Evidence != enomem {
			t.Errorf("%s: %s by %q, %q", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
