package exitcodes

import (
	"strings"
	"testing"
)

// TestToldByCode has codes of a shell and of programs that are no signal's: what was said before is shown, and the code decides as before.
func TestToldByCode(t *testing.T) {
	for _, tt := range []struct {
		code    int
		output  string
		verdict Verdict
		says    string
	}{
		{127, "/data/bin/fit: error while loading shared libraries: libPlot.so: cannot open shared object file: No such file or directory\n", Fatal, "libPlot.so"},
		{127, "nohup: ignoring input\nnohup: failed to run command 'for i in 1 2; do python a.py; done': No such file or directory\n", Fatal, "failed to run command"},
		{127, "/.post.script: 11: wget: not found\n", Fatal, "wget"},
		{126, "env: ./train.sh: Permission denied\n", Fatal, "./train.sh"},
		{255, "FATAL:   container creation failed: mount /proc/self/fd/7->/var/rootfs error: can't mount image: kernel reported a bad superblock for squashfs image partition\n", Fatal, "bad superblock"},
		{255, "fit: the model has no such layer: 7\n", Fatal, "no such layer"},
		{255, "fit: no answer\n", Retry, "no answer"},
		{143, "error: no such config: a.yaml\n", Retry, "exited 143"},
		{139, "train evolution 0\nSegmentation fault(core dumped)\n", Retry, "Segmentation fault(core dumped)"},
		{134, "Non-OK-status: GpuLaunchKernel(Fill<T>, blocks, size, 0, d.stream(), data) status: Internal: out of memory\n", Fatal, "GpuLaunchKernel"},
		{1, "GPUassert: hipErrorOutOfMemory src/neighbors.cu 336\nsrun: error: n1: task 3: Exited with exit code 1\nsrun: launch/slurm: _step_signal: Terminating StepId=7.0\nsrun: error: n1: tasks 0-2: Terminated\n", Fatal, "hipErrorOutOfMemory"},
		{1, "epoch 1 step 1 loss 2.5\nepoch 1 step 2 loss 2.4\nGPUassert: hipErrorOutOfMemory src/neighbors.cu 336\n", Retry, "hipErrorOutOfMemory"},
	} {
		f := Judge(exited(tt.code).printing("Loading run.yaml\n"+tt.output), BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%d: %s by %q: %s", tt.code, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestLSF has the report that LSF writes beneath the output of a job, and of the jobs before it in the same file.
func TestLSF(t *testing.T) {
	const (
		head  = "Sender: LSF System <lsf@n1>\nSubject: Job 7: <train> in cluster <c> Exited\n\nYour job looked like:\n\n------------------------------------------------------------\n# LSBATCH: User input\npython train.py\n------------------------------------------------------------\n\n"
		usage = "\nResource usage summary:\n\n    CPU time :    17118.00 sec.\n    Max Memory :  29747 MB\n    Average Memory :  27289.31 MB\n    Run time :  3384 sec.\n    Max Threads :  61\n\n"
		owner = "TERM_OWNER: job killed by owner.\nExited with exit code 143.\n"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
	}{
		"its owner":                   {head + owner + usage, Preempted},
		"after other jobs":            {head + "Exited with exit code 1.\n" + usage + head + "Successfully completed.\n" + usage + head + owner + usage, Preempted},
		"of a job before it":          {head + owner + usage + head + "Exited with exit code 143.\n" + usage, Retry},
		"an administrator":            {head + "TERM_ADMIN: job killed by root or LSF administrator.\nExited with exit code 143.\n" + usage, Preempted},
		"the end of the queue's time": {head + "TERM_WINDOW: job killed after queue run window closed.\nExited with exit code 143.\n" + usage, Preempted},
		"too many threads":            {head + "TERM_THREADLIMIT: job killed after reaching LSF thread limit.\nExited with exit code 143.\n" + usage, Fatal},
		"threads, and requeued":       {"TERM_THREADLIMIT: job killed after reaching LSF thread limit.\nRequeued\nstep 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n", Retry},
		"memory":                      {head + "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 143.\n" + usage, Retry},
	} {
		if f := Judge(exited(143).printing(tt.output), BuiltinRules()); f.Verdict != tt.want {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
