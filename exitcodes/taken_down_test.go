package exitcodes

import (
	"strings"
	"testing"
)

// TestTakenDown has only the word of those who ended a process left at its end, or more.
func TestTakenDown(t *testing.T) {
	const (
		step   = "slurmstepd: error: *** STEP 204.0 ON n1 CANCELLED AT 2026-01-13T16:38:01 ***\n"
		job    = "slurmstepd: error: *** JOB 204 ON n1 CANCELLED AT 2026-01-13T16:38:01 ***\n"
		dog    = "[E ProcessGroupNCCL.cpp:455] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.\n"
		down   = "[E ProcessGroupNCCL.cpp:460] To avoid data inconsistency, we are taking the entire process down.\n"
		memory = "slurmstepd: error: Job 204 exceeded memory limit (9 > 5), being killed\n"
		bug    = raised + badHeads + "\n"
	)
	steps := ""
	for _, n := range []string{"1", "2", "3", "4"} {
		steps += "epoch 0 step " + n + " loss 2.5\n"
	}
	for name, tt := range map[string]struct {
		printed string
		verdict Verdict
		says    string
	}{
		"a step that was cancelled":      {steps + step, Preempted, "CANCELLED AT"},
		"and what came late":             {steps + step + "epoch 0 step 5 loss 2.4\n", Preempted, "CANCELLED AT"},
		"one of whose tasks had failed":  {steps + "srun: error: n1: task 0: Exited with exit code 1\n" + step, Fatal, "exited 1"},
		"a task that had said why":       {bug + step, Fatal, badHeads},
		"a task that had said something": {steps + "error: no such config: a.yaml\n" + step, Fatal, "no such config"},
		"a job, and srun after it":       {steps + job + "srun: forcing job termination\n", Preempted, "JOB 204"},
		"a job, and a program after it":  {steps + job + "error: no such config: a.yaml\n", Fatal, "no such config"},
		"a job that took too much":       {steps + memory + job + "epoch 0 step 5 loss 2.4\n", Retry, "memory limit"},
		"a step of a job that goes on":   {step + strings.Repeat(steps, 4), Fatal, "exited 1"},
		"a terminal that is gone":        {steps + "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 102242 closing signal SIGHUP\n", Preempted, "SIGHUP"},
		"another rank that failed":       {steps + "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 102242 closing signal SIGTERM\n", Fatal, "exited 1"},
		"a watchdog":                     {steps + dog + down, Retry, "Some NCCL operations"},
		"a watchdog, and its launcher": {dog + "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 1 (pid: 77) of binary: /usr/bin/python\nTraceback (most recent call last):\n" +
			"  File \"/usr/lib/python3.6/runpy.py\", line 193, in _run_module_as_main\n    \"__main__\", mod_spec)\n", Retry, "Some NCCL operations"},
		"a watchdog, and a bug":        {dog + down + bug, Fatal, badHeads},
		"a watchdog, and what it says": {"error: no such config: a.yaml\n" + dog + down, Fatal, "no such config"},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.printed), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
