package exitcodes

import "testing"

// A loader's workers that start loaders of their own end before they begin.
func TestUnguarded(t *testing.T) {
	const child = "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n  File \"/usr/lib/python3.11/multiprocessing/spawn.py\", line 122, in spawn_main\n    exitcode = _main(fd, parent_sentinel)\nRuntimeError: \n        An attempt has been made to start a new process before the\n        current process has finished its bootstrapping phase.\n\n        This probably means that you are not using fork to start your\n        child processes and you have forgotten to use the proper idiom\n        in the main module:\n"
	const parent = "Traceback (most recent call last):\n  File \"/app/train.py\", line 9, in <module>\n    for b in loader:\nRuntimeError: DataLoader worker (pid(s) 22320, 18572) exited unexpectedly\n"
	if f := Judge(exited(1).printing(child+parent), BuiltinRules()); f.Verdict != Fatal || f.Reason != "SpawnUnguarded" {
		t.Errorf("%s %s: %s", f.Verdict, f.Reason, f.Evidence)
	}
	if f := Judge(exited(1).printing(parent), BuiltinRules()); f.Verdict != Retry {
		t.Errorf("the workers alone: %s %s: %s", f.Verdict, f.Reason, f.Evidence)
	}
}
