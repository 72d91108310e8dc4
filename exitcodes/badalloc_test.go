package exitcodes

import "testing"

// Memory that a C++ program does not get is judged as other memory is, unless something said before tells of more.
func TestBadAlloc(t *testing.T) {
	const thrown = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted (core dumped)\n"
	for output, verdict := range map[string]Verdict{
		"loading\n" + thrown: Fatal,
		"step 1 loss 3.1\nstep 2 loss 3.0\nstep 3 loss 2.9\nstep 4 loss 2.8\n" + thrown: Retry,
		"connection reset by peer\n" + thrown:                                           Retry,
		"NCCL WARN Connection reset by peer\n" + thrown:                                 Retry,
	} {
		if f := Judge(exited(134).printing(output), BuiltinRules()); f.Verdict != verdict {
			t.Errorf("%q: %s by %q: %s", output, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
