package exitcodes

import (
	"strings"
	"testing"
)

// What looks like a job's report, an optional module, a script's own word, a survived check or a request to end, and is not one.
func TestLookalikes(t *testing.T) {
	const tb = "Traceback (most recent call last):\n  File \"/app/train.py\", line 12, in <module>\n    main()\n"
	const pals = "node-2: rank 6 exited with code 1\nnode-2: rank 11 died from signal 15\n"
	const reset = "rsync: connection unexpectedly closed (9 bytes received so far) [sender]\n"
	const abort = "Aborted (core dumped)\n"
	const hydra = "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   KILLED BY SIGNAL: 9 (Killed)\n"
	steps := strings.Repeat("step 7 loss 0.5\n", 55)
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
	}{
		"a handler of SIGTERM that fails":        {143, "step 1\nReceived SIGTERM, saving checkpoint\n" + tb + "KeyError: 'optimizer'\n" + pals, Preempted},
		"a job whose time was up":                {143, tb + "KeyError: 'optimizer'\n=>> PBS: job killed: walltime 3622 exceeded limit 3600\n" + pals, Preempted},
		"a job's banner":                         {1, "Job ID: 123456\nCluster: alpha\nNode: n1\nstaging data\n" + reset, Retry},
		"an allocation that is asserted":         {134, "ggml.c:4044: GGML_ASSERT(ctx->mem_buffer != NULL) failed\n" + abort, Retry},
		"a buffer that is asserted":              {134, "ggml-backend.cpp:300: GGML_ASSERT(buffer) failed\n" + abort, Retry},
		"an assertion before steps":              {134, "ggml.c:40: GGML_ASSERT(n % 8 == 0) failed\nworker restarted\n" + steps + abort, Retry},
		"a child with a name of its own":         {1, "Process EngineCore_0:\nTraceback (most recent call last):\n  File \"/usr/lib/python3.10/multiprocessing/process.py\", line 314, in _bootstrap\n    self.run()\nRuntimeError: CUDA error: initialization error\n", Retry},
		"Fortran's read":                         {39, "step 1\nforrtl: severe (39): error during read, unit 10, file /lustre/x" + hydra, Retry},
		"Fortran's memory":                       {41, "step 1\nforrtl: severe (41): insufficient virtual memory" + hydra, Retry},
		"a loader's worker that was killed":      {1, "RuntimeError: \n        An attempt has been made to start a new process before the\nstep a\n" + tb + "RuntimeError: DataLoader worker (pid 33) is killed by signal: Killed.\n", Retry},
		"a message below, with a word like done": {1, tb + "RuntimeError: errors:\nDone.\nconnection reset by peer\n", Retry},
		"somebody's own words about a signal":    {1, tb + "RuntimeError: worker 3 died from signal 9\n", Retry},
		"a module that it needs":                 {1, tb + "ModuleNotFoundError: No module named 'apex'\nCannot continue without apex, exiting\nuploading logs\n" + reset, Fatal},
		"another rank's word below":              {1, "0: " + strings.ReplaceAll(strings.TrimSpace(tb), "\n", "\n0: ") + "\n0: ModuleNotFoundError: No module named 'flash_attn'\n1: Using device cuda:1\n1: " + strings.ReplaceAll(strings.TrimSpace(tb), "\n", "\n1: ") + "\n1: ConnectionResetError: [Errno 104] Connection reset by peer\n", Fatal},
		"what it uses to upload":                 {1, tb + "ImportError: cannot import name 'foo' from 'bar'\nUploading logs using rclone\nrclone: connection reset by peer\n", Fatal},
		"its own complaint":                      {1, "Config loaded from a.yaml\nusage report failed: connection refused\nConfig key lr has no default\n", Fatal},
		"its own complaint in brackets":          {1, "[train] starting\nusage report failed: connection refused\n[train] lr must be positive\n", Fatal},
		"how many it finished":                   {1, "upload of report: connection reset by peer\nFinished 3 runs\n", Fatal},
		"late output and telemetry":              {1, tb + "ValueError: bad lr\nstep 5 loss 0.5\nstep 6 loss 0.5\nstep 7 loss 0.5\nstep 8 loss 0.5\ncould not push metrics: Connection refused\n", Fatal},
		"jobs that were counted":                 {1, "Job cancelled by user jobs are not counted\nstep\nfatal: bad config\n", Fatal},
		"a heading between rules":                {1, strings.Repeat("-", 60) + "\nStarting run 12 on node n1\n\nconfig a.yaml\n\nAssertion: vocab mismatch between tokenizer and model\n" + strings.Repeat("-", 60) + "\nrun finished\n", Fatal},
	} {
		if f := Judge(exited(tt.code).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
