package exitcodes

import (
	"strings"
	"testing"
)

// TestFailedTask has srun, which ends all tasks when one has failed and exits with the highest code: that of those which it ended.
func TestFailedTask(t *testing.T) {
	const ended = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-25T10:34:07 ***\nsrun: error: n1: task 1: Terminated\n"
	const failed = "srun: error: n1: task 0: Exited with exit code 1\nsrun: Terminating StepId=7.0\n"
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		code   int
		says   string
	}{
		"a bug":              {wrap("KeyError: 'lr'") + failed + ended, Fatal, CodeFatalByRule, "KeyError"},
		"a lost peer":        {wrap("RuntimeError: Connection reset by peer") + failed + ended, Retry, 143, "reset by peer"},
		"something unknown":  {wrap("RuntimeError: odd") + failed + ended, Retry, 143, "odd"},
		"torchrun, stopped":  {wrap("torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15") + failed + ended, Preempted, 143, "got signal"},
		"only ended":         {wrap("KeyError: 'lr'") + ended, Retry, 143, "CANCELLED AT"},
		"of a signal itself": {"srun: error: n1: task 0: Exited with exit code 139\n" + ended, Retry, 143, "CANCELLED AT"},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(143)
			o.Output = []byte(tt.output)
			if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Code != tt.code || !strings.Contains(f.Evidence, tt.says) {
				t.Errorf("%s, %d, %q; want %s, %d, %q", f.Verdict, f.Code, f.Evidence, tt.want, tt.code, tt.says)
			}
		})
	}
}
