package exitcodes

import "testing"

// What a script, a runner or a scheduler prints when the run is over does not hide what was said last.
func TestEpilogue(t *testing.T) {
	const said = "step 1\nstaging\nrsync: connection unexpectedly closed (9012443 bytes received so far) [sender]\n"
	for name, end := range map[string]string{
		"a farewell":       "=== Done. ===\n",
		"a date":           "[Wed May  1 10:11:12 2024]\n",
		"when it ended":    "Job finished at Wed May  1 10:11:12 UTC 2024\n",
		"a runner":         "Uploading artifacts...\nNo files to upload\nCleaning up project directory and file based variables\nERROR: Job failed: exit code 1\n",
		"seff":             "Job ID: 123456\nCluster: alpha\nState: FAILED (exit code 1)\nMemory Utilized: 3.21 GB\n",
		"LSF":              rule + "Sender: LSF System <lsf@host>\nSubject: Job 123: <train> in cluster <c> Exited\n\nExited with exit code 1.\n\nResource usage summary:\n\n    Max Memory :  800 MB\n",
		"a table of GPUs":  "+-----------------------------------+\n| NVIDIA-SMI 535.104.05             |\n|   0  NVIDIA A100-SXM4-80GB    On  |\n+-----------------------------------+\n",
		"make":             "make: *** [Makefile:12: stage] Error 1\n",
		"an mpiexec":       "node-2: rank 3 died from signal 15\n",
		"what it put away": "rm: cannot remove '/scratch/x': No such file or directory\n",
	} {
		if f := Judge(exited(1).printing(said+end), BuiltinRules()); f.Verdict != Retry {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
	for name, output := range map[string]string{
		"why the job was ended":    said + rule + "Sender: LSF System <lsf@host>\n\nTERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 1.\n",
		"of a job whose log comes": rule + "Sender: LSF System <lsf@host>\n\nThe output (if any) follows:\n\n" + said,
	} {
		if f := Judge(exited(1).printing(output), BuiltinRules()); f.Verdict != Retry {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// An exception without a message has none in the lines below it; Java's frames may have lost their indentation; Nextflow dates its
// records in its own way.
func TestPastedAndBare(t *testing.T) {
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		line    string
	}{
		"no message":    {"Traceback (most recent call last):\n  File \"/usr/lib/python3.10/multiprocessing/connection.py\", line 383, in _recv\n    raise EOFError\nEOFError\ncommand terminated with exit code 1\n", Retry, "EOFError"},
		"flat frames":   {"Exception in thread \"main\" java.lang.IllegalStateException: no table t\nat a.b.C.run(C.java:12)\nat a.b.Main.main(Main.java:3)\n", Fatal, "Exception in thread \"main\" java.lang.IllegalStateException: no table t"},
		"Nextflow's":    {"Jul-20 13:54:41.861 [Task monitor] DEBUG nextflow.Session - Session aborted -- Cause: Missing output file(s) `a` expected by process `b`\n", Fatal, "Session aborted -- Cause: Missing output file(s) `a` expected by process `b`"},
		"the only line": {"[Errno 13] Permission denied: '/0.pkl'\n", Fatal, "[Errno 13] Permission denied: '/0.pkl'"},
	} {
		if f := Judge(exited(1).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict || f.Evidence != tt.line {
			t.Errorf("%s: %s by %q: %q", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// CUDA refuses a process that was forked from one that had used it, in the words that it has for a device in a bad state.
func TestForked(t *testing.T) {
	const raised = "Traceback (most recent call last):\n  File \"/usr/lib/python3.10/multiprocessing/process.py\", line 314, in _bootstrap\n    self.run()\n  File \"/app/t.py\", line 3, in work\n    x = y.cuda()\nRuntimeError: CUDA error (3): initialization error\n"
	for head, verdict := range map[string]Verdict{"Process Process-1:\n": Fatal, "Process SpawnProcess-1:\n": Retry} {
		if f := Judge(exited(1).printing(head+raised), BuiltinRules()); f.Verdict != verdict {
			t.Errorf("%s: %s by %q", head, f.Verdict, f.Rule)
		}
	}
}

// How a program was called wrongly is shown whatever the scheduler says below.
func TestMisusedUnderSlurm(t *testing.T) {
	const usage = "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --use-amp\n"
	const slurm = "srun: error: node1: task 0: Exited with exit code 2\nsrun: Terminating StepId=11.0\nslurmstepd: error: *** STEP 11.0 ON node1 CANCELLED AT 2024-05-01T10:11:12 ***\n"
	if f := Judge(exited(2).printing(usage+slurm), BuiltinRules()); f.Verdict != Fatal || f.Evidence != "train.py: error: unrecognized arguments: --use-amp" {
		t.Errorf("%s by %q: %s", f.Verdict, f.Rule, f.Evidence)
	}
}
