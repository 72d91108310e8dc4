package exitcodes

import "testing"

// TestReportOfAnEarlierRun has a file hold the report of one run, and then the steps of the next.
func TestReportOfAnEarlierRun(t *testing.T) {
	const report = "Traceback (most recent call last):\n  File \"/app/train.py\", line 9, in <module>\nValueError: the batch is empty\n" +
		"Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n" + childFailed + ": \n" +
		"============================================================\ntrain.py FAILED\n------------------------------------------------------------\n" +
		"Failures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\n" + rootSection + "\n[0]:\n" +
		"  time      : 2026-01-02_10:00:00\n  host      : n1\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 4242)\n  error_file: <N/A>\n" +
		"  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n============================================================\n"
	const steps = "step 10 loss 2.5\nstep 20 loss 2.4\nstep 30 loss 2.3\nstep 40 loss 2.2\nstep 50 loss 2.1\nstep 60 loss 2.0\nstep 70 loss 1.9\nstep 80 loss 1.8\nstep 90 loss 1.7\n"
	const stopped = "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n" +
		"torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15\n"
	for output, want := range map[string]Verdict{
		report:                   Fatal,
		report + steps + stopped: Preempted,
		steps + report:           Fatal,
		report + "Exiting\n":     Fatal,
	} {
		if f := Judge(exited(1).printing(output), BuiltinRules()); f.Verdict != want {
			t.Errorf("%s by %q, want %s: %q", f.Verdict, f.Rule, want, output)
		}
	}
}
