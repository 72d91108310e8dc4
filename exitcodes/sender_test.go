package exitcodes

import (
	"strings"
	"testing"
)

// TestSentBy has processes that died of a signal which somebody sends, and what was printed about it.
func TestSentBy(t *testing.T) {
	const (
		oom       = "slurmstepd: error: Detected 1 oom_kill event in StepId=3801897.batch. Some of the step tasks have been OOM Killed.\n"
		preempted = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-25T10:34:07 DUE TO PREEMPTION ***\n"
		killed    = "/var/spool/slurmd/job7/slurm_script: line 15: 259449 Killed                  python train.py\n"
	)
	const (
		limit   = "[2026-04-12T03:00:27.003] error: *** JOB 7 ON n1 CANCELLED AT 2026-04-12T03:00:27 DUE TO TIME LIMIT ***\n"
		limited = "[2026-04-12T03:04:38.000] error: *** JOB 7 STEPD TERMINATED ON n1 AT 2026-04-12T03:04:37 DUE TO JOB NOT ENDING WITH SIGNALS ***\n"
		scancel = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-25T10:34:07 ***\n"
		agent   = "WARNING:torch.distributed.elastic.agent.server.api:Received 15 death signal, shutting down workers\n" +
			"WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 165 closing signal SIGTERM\n"
	)
	raised := wrap("torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: 15")
	work := "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n"
	for name, tt := range map[string]struct {
		code   int
		output string
		want   Verdict
		reason string
		says   string
	}{
		"for memory":              {137, killed + oom, Retry, "OOMKilled", "oom_kill event"},
		"taken back":              {143, work + preempted, Preempted, "Preempted", "DUE TO PREEMPTION"},
		"cancelled":               {143, work + scancel, Preempted, "Preempted", "CANCELLED AT"},
		"over its time for long":  {143, limit + limited, Preempted, "Preempted", "TIME LIMIT"},
		"torchrun, asked to end":  {143, work + agent, Preempted, "Preempted", "death signal"},
		"and then raised":         {143, work + agent + raised, Preempted, "Preempted", "got signal: 15"},
		"and said so":             {143, work + "trainer: received SIGTERM, saving and exiting\n", Preempted, "Preempted", "received SIGTERM"},
		"a child of its own":      {143, work + "Sending process 7 closing signal SIGTERM\n", Retry, "Error", "SIGTERM"},
		"by the scheduler":        {143, work + preempted + agent + raised, Preempted, "Preempted", "DUE TO PREEMPTION"},
		"asked to, and went on":   {137, agent + work, Retry, "Error", "SIGKILL"},
		"which it had got over":   {137, oom + work, Retry, "Error", "SIGKILL"},
		"with nothing said":       {137, work, Retry, "Error", "SIGKILL"},
		"an exception, then shot": {137, wrap("ValueError: 3 is not 4"), Retry, "Error", "SIGKILL"},
		"a full disk, then shot":  {143, "OSError: [Errno 28] No space left on device\n", Retry, "Error", "SIGTERM"},
	} {
		o := exited(tt.code)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || f.Reason != tt.reason || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s (%s), %q; want %s (%s), %q", name, f.Verdict, f.Reason, f.Message, tt.want, tt.reason, tt.says)
		}
	}
}
