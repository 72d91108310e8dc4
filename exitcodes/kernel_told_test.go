package exitcodes

import "testing"

// Who was killed for memory is in the kernel's line where it names the process that the shell names.
func TestKernelTold(t *testing.T) {
	const kernel = "[814201.220142] Memory cgroup out of memory: Killed process 21907 (python) total-vm:91240116kB, anon-rss:62910480kB\n"
	for name, tt := range map[string]struct{ output, reason string }{
		"the same process":   {"step 1\n/entrypoint.sh: line 41: 21907 Killed                  python -u t.py\n" + kernel, ReasonOOMKilled},
		"the kernel first":   {"step 1\n" + kernel + "run.sh: line 4:   21907 Killed    python -u t.py\n", ReasonOOMKilled},
		"another process":    {"step 1\n" + kernel + "run.sh: line 4: 21908 Killed    python -u t.py\n", "Error"},
		"no process is told": {"step 1\n" + kernel + "Killed\n", "Error"},
	} {
		f := Judge(exited(137).printing(tt.output), BuiltinRules())
		if f.Verdict != Retry || f.Code != 137 || f.Reason != tt.reason {
			t.Errorf("%s: %s %d %s: %s", name, f.Verdict, f.Code, f.Reason, f.Evidence)
		}
	}
}
