package exitcodes

import (
	"strings"
	"testing"
)

// TestToldDeath has what a person looks for when only a number is known: the line in which somebody tells of the death, and of
// several the one of whoever caused it. It decides nothing.
func TestToldDeath(t *testing.T) {
	const step = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-25T10:34:07 ***\n"
	for name, tt := range map[string]struct {
		code   int
		output string
		says   string
	}{
		"a shell":                    {137, "Killed\n", "Killed"},
		"a script's shell":           {137, "run.sh: line 5: 19817 Killed                  python train.py\n", "19817 Killed"},
		"mpirun":                     {137, "mpirun noticed that process rank 1 with PID 321 on node n7 exited on signal 9 (Killed).\n", "exited on signal 9"},
		"srun":                       {139, "srun: error: n7: task 3: Segmentation fault (core dumped)\n", "task 3: Segm"},
		"glued to a progress bar":    {137, "step 2 loss 0.5\n  400/5000 [....] - ETA: 3:16:25 - Time (s): 2.9100Killed\n", "2.9100Killed"},
		"Open MPI, above its stack":  {139, "[n7:321] *** Process received signal ***\n[n7:321] Signal: Segmentation fault (11)\n[n7:321] [ 0] /lib64/libc.so.6(+0x1)[0x2]\n", "Signal: Segm"},
		"glog":                       {139, "*** SIGSEGV (@0x9ec) received by PID 2540 (TID 0x7f64) from PID 2540; stack trace: ***\n    @     0x7f644ddd0390 (unknown)\n", "*** SIGSEGV"},
		"behind a bar":               {139, "loss: 4.3:  20%|| 11/56 [00:02<00:08,  5.02it/s]Segmentation fault (core dumped)\n", "Segmentation fault"},
		"a step, and its tasks":      {143, step + "srun: error: n7: task 0: Terminated\n", "CANCELLED AT"},
		"a failed check":             {134, "F0825 12:00:00.000001 77 net.cpp:77] Check failed: a == b (3 vs. 4)\n*** SIGABRT (@0x9ec) received by PID 2540; stack trace: ***\n", "Check failed: a == b"},
		"an assertion":               {134, "train: net.cpp:7: void f(): Assertion `n > 0' failed.\nAborted (core dumped)\n", "Assertion `n > 0'"},
		"a check, and a shell":       {134, "2023-07-19 22:08:36.875173: F ./tensorflow/core/util/gpu_launch_config.h:174] Check failed: err == hipSuccess (98 vs. 0)\ntest.sh: line 36:    14 Aborted                 (core dumped) python3 test.py\n", "Check failed: err"},
		"Julia":                      {139, "[166990] signal (11.-6): Segmentation fault\nin expression starting at /home/a/test1.jl:31\n", "signal (11.-6)"},
		"UCX":                        {139, "[n7:33] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x440000e8)\n", "Caught signal 11"},
		"another signal's":           {139, "srun: error: n7: task 3: Killed\n", "exited 139"},
		"a launcher ends its others": {143, "Sending process 28265 closing signal SIGTERM\n", "exited 143"},
		"what came before work":      {137, "Killed\nstep 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n", "exited 137"},
		"words of the program":       {137, "epoch 7: 3 workers Killed a task\n", "exited 137"},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(tt.code)
			o.Output = []byte(tt.output)
			if f := Judge(o, BuiltinRules()); f.Verdict != Retry || !strings.Contains(f.Evidence, tt.says) {
				t.Errorf("%s by %q (%q), want %q", f.Verdict, f.Rule, f.Evidence, tt.says)
			}
		})
	}
}

// TestToldByReport has torchrun's report of a rank that a signal killed, which has no words of its own.
func TestToldByReport(t *testing.T) {
	o := exited(1)
	o.Output = []byte(childFailed + ":\n" + rootSection + "\n[0]:\n  rank      : 0 (local_rank: 0)\n  exitcode  : -9 (pid: 767)\n" +
		"  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 767\n")
	if f := Judge(o, BuiltinRules()); f.Verdict != Retry || f.Evidence != "Signal 9 (SIGKILL) received by PID 767" || f.bareness() != 0 {
		t.Errorf("%s by %q", f.Verdict, f.Evidence)
	}
}

// TestRaisedLater has an abort by the watchdog, and before it trouble that a library logged and then raised: the exception
// speaks for that, and the program had not ended of it.
func TestRaisedLater(t *testing.T) {
	const bind = "The server socket has failed to listen on any local network address."
	logged := "[E socket.cpp:462] [c10d] " + bind + "\n"
	raised := "Traceback (most recent call last):\n  File \"train.py\", line 7, in start\n    serve()\nRuntimeError: " + bind + "\n\n"
	watchdog := "[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1801501 milliseconds before timing out.\n" +
		"[E ProcessGroupNCCL.cpp:460] To avoid data inconsistency, we are taking the entire process down.\n"
	for output, want := range map[string]string{
		logged + raised + "rank 1 waits\n" + watchdog: "nccl.timeout",
		logged + watchdog:                  "store.bind",
		logged + raised + "rank 1 waits\n": "store.bind",
	} {
		o := exited(134)
		o.Output = []byte(output)
		if f := Judge(o, BuiltinRules()); f.Verdict != Retry || f.Rule != want {
			t.Errorf("%s by %q (%q), want %q", f.Verdict, f.Rule, f.Evidence, want)
		}
	}
}

// TestNCCLTookDown has an abort of which only NCCL's watchdog has said that it was its doing.
func TestNCCLTookDown(t *testing.T) {
	o := exited(134)
	o.Output = []byte("[E ProcessGroupNCCL.cpp:455] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.\n" +
		"[E ProcessGroupNCCL.cpp:460] To avoid data inconsistency, we are taking the entire process down.\nAborted (core dumped)\n")
	if f := Judge(o, BuiltinRules()); f.Verdict != Retry || !strings.HasPrefix(f.Evidence, "Some NCCL operations have failed") {
		t.Errorf("%s by %q", f.Verdict, f.Evidence)
	}
}
