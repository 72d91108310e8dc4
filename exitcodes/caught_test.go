package exitcodes

import (
	"strings"
	"testing"
)

// TestLastCaught has logs of programs that log what they fail of and take their leave, as they did in the runs before, in the same file.
func TestLastCaught(t *testing.T) {
	const (
		failed = "[2026-05-10 11:12:58,805][app.train][ERROR] - \nTraceback (most recent call last):\n  File \"app/utils.py\", line 65, in wrap\n    f()\n"
		busy   = failed + "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n"
		shapes = failed + "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x3 and 2x2)\n"
		leaves = "[2026-05-10 11:12:58,805][app.train][INFO] - Output dir: /runs/1\n[2026-05-10 11:12:58,806][app.train][INFO] - Closing the tracker!\n"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"a condition that passes": {strings.Repeat(shapes+leaves, 3) + busy + leaves, Retry, "busy or unavailable"},
		"a bug":                   {strings.Repeat(busy+leaves, 3) + shapes + leaves, Fatal, "cannot be multiplied"},
		"files that are not there": {strings.Repeat(shapes, 3) + shapes + "\nreal\t71m31.218s\nuser\t103m52.853s\nsys\t36m22.447s\nmv: cannot stat 'out_*.txt': No such file or directory\n", Fatal,
			"cannot be multiplied"},
		"another error after it": {strings.Repeat(busy+leaves, 3) + busy + leaves + "app: invalid value for lr: x\n", Fatal, "invalid value"},
		"frames after it, of where it was called": {wrap("torch.cuda.DeferredCudaCallError: CUDA call failed lazily at initialization with error: CUDA error: unknown error") + "\n\nCUDA call was originally invoked at:\n\n" +
			strings.Repeat("  File \"<frozen importlib._bootstrap>\", line 1027, in _find_and_load\n  File \"app/a.py\", line 3, in f\n    return g(x)\n", 4), Retry, "unknown error"},
		"a logger that cannot write": {"--- Logging error ---\nTraceback (most recent call last):\n  File \"logging/__init__.py\", line 1009, in flush\n    self.stream.flush()\nOSError: [Errno 28] No space left on device\n" +
			"Call stack:\n  File \"a.py\", line 3, in <module>\n    f()\nMessage: 'step'\nArguments: ()\n", Fatal, "No space left"},
		"a logger that could not": {"--- Logging error ---\nTraceback (most recent call last):\n  File \"logging/__init__.py\", line 3, in emit\n    msg = self.format(record)\nTypeError: not all arguments converted\n" +
			"Call stack:\n  File \"a.py\", line 3, in <module>\n    f()\nMessage: 'step'\nArguments: (1,)\n", Fatal, "exited 1"},
		"a step's tasks":    {"epoch 1\nsrun: error: n1: task 0: Exited with exit code 2\n", Fatal, "task 0: Exited with exit code 2"},
		"training after it": {strings.Repeat(busy+leaves, 3) + busy + leaves + strings.Repeat("step 7 loss 2.5\n", 9), Fatal, ""},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestTerminated has jobs that somebody has ended, and what Slurm and a shell say after it; and a script's own end of its helper.
func TestTerminated(t *testing.T) {
	const (
		job    = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-03-22T15:19:03 ***\n"
		step   = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-22T15:19:03 ***\n"
		bar    = "Iteration:  19%|█▊        | 283/1529 [07:43<35:25,  1.71s/it]"
		helper = "run.sh: line 30:  4242 Terminated              ./watch.sh\n"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"the step, too":            {"srun: Job step aborted: Waiting up to 302 seconds for job step to finish.\n" + job + step, Preempted, "JOB 7"},
		"and the epilog failed":    {job + step + "slurmstepd: error: --task-epilog failed status=256\n", Preempted, "JOB 7"},
		"by a signal":              {"[2026-03-17T20:29:32.229] error: *** JOB 8 ON n1 CANCELLED AT 2026-03-17T20:29:32 DUE to SIGNAL Terminated ***\n", Preempted, "JOB 8"},
		"the step alone":           {step, Preempted, "STEP 7.0"},
		"one that had failed":      {step + "srun: error: n1: task 0: Exited with exit code 1\n", Fatal, ""},
		"a shell behind a bar":     {bar + "./train.sh: line 33: 136834 Killed                  python3 main.py\n", Retry, "Killed"},
		"a shell's word":           {"-- Epoch 24 / 50\n\t\nTerminated\n", Preempted, "Terminated"},
		"a helper, after a bug":    {wrap("ValueError: odd") + helper, Fatal, "odd"},
		"a helper, then a bug":     {helper + "run.sh: error: no such dataset: foo\n", Fatal, "no such dataset"},
		"a helper, after an error": {"Error: no such dataset: foo\n" + helper, Fatal, ""},
		"Ray": {"[2026-08-24 06:39:24,929 E 142889 142889] logging.cc:501: *** SIGTERM received at time=1756017564 on cpu 47 ***\n" +
			"[2026-08-24 06:39:24,929 E 142889 142889] logging.cc:501: PC: @     0x7bdb7000d117  (unknown)  (unknown)\n" +
			"[2026-08-24 06:39:24,929 E 142889 142889] logging.cc:501:     @ ... and at least 1 more frames\n", Preempted, "SIGTERM"},
		"a person, at the end of what is kept": {"epoch 57\n^CTraceback (most recent call last):\n", Preempted, "^C"},
		"a simulator's end of a connection":    {"Error: tcpip::Socket::recvAndCheck @ recv: peer shutdown\nQuitting (on error).\n", Retry, "peer shutdown"},
		"a transfer in Go":                     {"fetching part 7 of 12\nError: unexpected EOF\n", Retry, "unexpected EOF"},
		"a file in Go":                         {"Error: parse config.yaml: unexpected EOF\n", Fatal, "unexpected EOF"},
		"the hook for exceptions fails": {"Error in sys.excepthook:\nTraceback (most recent call last):\n  File \"f.py\", line 71, in hook\nTypeError: 'NoneType' object is not callable\nOriginal exception was:\n" +
			wrap("RuntimeError: CUDA error: an illegal memory access was encountered") + "Error in sys.excepthook:\nOriginal exception was:\n", Retry, "illegal memory access"},
		"Ctrl-C under srun":    {"srun: interrupt (one more within 1 sec to abort)\nsrun: step:7.0 task 0: running\nsrun: sending Ctrl-C to job 7.0\n" + step, Preempted, "Ctrl-C"},
		"Ctrl-C in an import":  {"Traceback (most recent call last):\n  File \"a.py\", line 6, in <module>\n    import torch\nRuntimeError: KeyboardInterrupt: \n", Preempted, "KeyboardInterrupt"},
		"a reader of Paddle's": {wrap("SystemError: (Fatal) DataLoader process (pid 7) exited is killed by signal: Terminated. (at /paddle/data_loader.cc:181)"), Retry, "killed by signal"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestAbseilsHandler has a process that dies of the signal of which its handler tells: under another's exception it is no cause.
func TestAbseilsHandler(t *testing.T) {
	const told = "*** SIGTERM received at time=1756017564 on cpu 47 ***\n"
	for code, want := range map[int]Verdict{1: Preempted, 143: Preempted} {
		o := exited(code)
		o.Output = []byte(told)
		if f := Judge(o, BuiltinRules()); f.Verdict != want || f.Evidence != strings.TrimSpace(told) {
			t.Errorf("%d: %s by %q: %s", code, f.Verdict, f.Rule, f.Message)
		}
	}
	o := exited(1)
	o.Output = []byte(wrap("ValueError: odd") + "(pid=7) " + told)
	if f := Judge(o, BuiltinRules()); f.Verdict != Fatal || !strings.Contains(f.Evidence, "odd") {
		t.Errorf("%s by %q: %s", f.Verdict, f.Rule, f.Message)
	}
}

// TestBesideTheCause has lines of libraries that look like a condition that passes.
func TestBesideTheCause(t *testing.T) {
	const (
		cuInit = "2026-01-01 10:00:00.123456: E tensorflow/stream_executor/cuda/cuda_driver.cc:271] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
		plugin = "ERROR:2026-01-21 08:09:52,001:jax._src.xla_bridge:477: Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()\n" +
			"Traceback (most recent call last):\n  File \"xla_bridge.py\", line 475, in discover_pjrt_plugins\n    plugin_module.initialize()\n" +
			"RuntimeError: jaxlib/cuda/versions_helpers.cc:113: operation cuInit(0) failed: Unknown CUDA error 303; cuGetErrorName failed.\n"
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
	}{
		"TensorFlow without a GPU":   {cuInit + wrap("RuntimeError: odd"), Fatal},
		"its GPU cannot be had":      {cuInit + wrap("RuntimeError: No CUDA GPUs are available"), Retry},
		"JAX without a GPU":          {plugin + "Verifying the fit\nFAIL: mismatch.\n", Fatal},
		"JAX, of which it ends":      {wrap("RuntimeError: jaxlib/cuda/versions_helpers.cc:113: operation cuInit(0) failed: Unknown CUDA error 303; cuGetErrorName failed."), Retry},
		"Paddle without NCCL":        {wrap("RuntimeError: (PreconditionNotMet) The third-party dynamic library (libnccl.so) that Paddle depends on is not configured correctly. (error code is libnccl.so: cannot open shared object file: No such file or directory)"), Fatal},
		"an exception behind a time": {"ERROR:2026-01-21 08:09:52,001:ConnectionResetError: [Errno 104] Connection reset by peer\n", Retry},
		"and a logger's name":        {"ERROR:2026-01-21 08:09:52,001:app.fetch:ConnectionResetError: [Errno 104] Connection reset by peer\n", Retry},
		"no download has failed":     {"time cost for single object:383773 ms\n[1] objects downloaded. [0] objects download failed\n", Fatal},
		"one download has failed":    {"time cost for single object:383773 ms\n[1] objects downloaded. [3] objects download failed\n", Retry},
		"an artifact is not there":   {wrap("wandb.errors.CommError: Unable to fetch artifact with name me/p/data.csv:latest"), Fatal},
		"a bug in a tracker's call":  {wrap("wandb.errors.errors.CommError: argument of type 'float' is not iterable"), Fatal},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
