package exitcodes

import "testing"

// TestRaisedBySelf has OpenBLAS interrupt its own process, and a person interrupt one in which OpenBLAS had started fewer threads.
func TestRaisedBySelf(t *testing.T) {
	const blas = "OpenBLAS blas_thread_init: pthread_create failed for thread 63 of 64: Resource temporarily unavailable\nOpenBLAS blas_thread_init: RLIMIT_NPROC 4096 current, 4096 max\n"
	const raised = "Traceback (most recent call last):\n  File \"/app/train.py\", line 3, in <module>\n    import numpy as np\nKeyboardInterrupt\n"
	for name, tt := range map[string]struct {
		output string
		want   Verdict
	}{
		"by itself":               {blas + raised, Retry},
		"by itself, said twice":   {blas + blas + raised, Retry},
		"by a person":             {raised, Preempted},
		"by a person, much later": {blas + "step 1\nstep 2\nstep 3\n" + raised, Preempted},
	} {
		for _, died := range []Outcome{exited(1), {Status: Status{Signal: 2}}} {
			if f := Judge(died.printing(tt.output), BuiltinRules()); f.Verdict != tt.want {
				t.Errorf("%s, %v: %s by %q: %s", name, died.Status, f.Verdict, f.Rule, f.Evidence)
			}
		}
	}
}
