package exitcodes

import (
	"strings"
	"testing"
)

// TestToldDeath has what a person looks for when only a number is known: the line in which somebody tells of the death, and of
// several the one of whoever caused it. It decides nothing, unless a rule explains it, or torchrun reports of a rank that it was
// a signal.
func TestToldDeath(t *testing.T) {
	const (
		step     = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-25T10:34:07 ***"
		fortran  = "Program received signal SIGBUS: Access to an undefined portion of a memory object."
		glog     = "*** SIGSEGV (@0x9ec) received by PID 2540 (TID 0x7f64) from PID 2540; stack trace: ***"
		check    = "F0825 12:00:00.000001 77 net.cpp:77] Check failed: status == 0 (3 vs. 0)\n*** SIGABRT (@0x9ec) received by PID 2540; stack trace: ***\n"
		hip      = "2023-07-19 22:08:36.875173: F ./tensorflow/core/util/gpu_launch_config.h:174] Check failed: err == hipSuccess (98 vs. 0)\n"
		asserted = "train: net.cpp:7: void f(): Assertion `n > 0' failed."
		ucx      = "[n7:33] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x440000e8)"
		mpirun   = "mpirun noticed that process rank 1 with PID 321 on node n7 exited on signal 9 (Killed)."
		script   = "run.sh: line 5: 19817 Killed                  python train.py"
		bar      = "400/5000 [....] - ETA: 3:16:25 - Time (s): 2.9100Killed"
		report   = childFailed + ":\n" + rootSection + "\n[0]:\n  rank      : 0 (local_rank: 0)\n  exitcode  : -9 (pid: 767)\n" +
			"  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 767\n"

		// Trouble that a library logged and then raised: the exception speaks for that, and the program had not ended of it.
		bind      = "The server socket has failed to listen on any local network address."
		logged    = "[E socket.cpp:462] [c10d] " + bind + "\n"
		raised    = "Traceback (most recent call last):\n  File \"train.py\", line 7, in start\n    serve()\nRuntimeError: " + bind + "\n\n"
		late      = "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1801501 milliseconds before timing out."
		takesDown = "[E ProcessGroupNCCL.cpp:460] To avoid data inconsistency, we are taking the entire process down.\n"
		watchdog  = "[E ProcessGroupNCCL.cpp:828] " + late + "\n" + takesDown
		corrupted = "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data."
	)
	for name, tt := range map[string]struct {
		code   int
		output string
		says   string // the evidence
		rule   string
		known  bool // more than the exit code
	}{
		"a shell":                    {137, "Killed\n", "Killed", "", false},
		"a shell of BSD":             {139, "Segmentation fault: 11\n", "Segmentation fault: 11", "", false},
		"a script's shell":           {137, script + "\n", script, "", false},
		"mpirun":                     {137, mpirun + "\n", mpirun, "", false},
		"srun":                       {139, "srun: error: n7: task 3: Segmentation fault (core dumped)\n", "srun: error: n7: task 3: Segmentation fault (core dumped)", "", false},
		"glued to a progress bar":    {137, "step 2 loss 0.5\n  " + bar + "\n", bar, "", false},
		"Open MPI, above its stack":  {139, "[n7:321] *** Process received signal ***\n[n7:321] Signal: Segmentation fault (11)\n[n7:321] [ 0] /lib64/libc.so.6(+0x1)[0x2]\n", "[n7:321] Signal: Segmentation fault (11)", "", false},
		"glog":                       {139, glog + "\n    @     0x7f644ddd0390 (unknown)\n", glog, "", false},
		"behind a bar":               {139, "loss: 4.3:  20%|| 11/56 [00:02<00:08,  5.02it/s]Segmentation fault (core dumped)\n", "Segmentation fault (core dumped)", "", false},
		"a step, and its tasks":      {143, step + "\nsrun: error: n7: task 0: Terminated\n", step, "", false},
		"a failed check":             {134, check, "Check failed: status == 0 (3 vs. 0)", "", false},
		"an assertion":               {134, asserted + "\nAborted (core dumped)\n", asserted, "", false},
		"a check, and a shell":       {134, hip + "test.sh: line 36:    14 Aborted                 (core dumped) python3 test.py\n", "Check failed: err == hipSuccess (98 vs. 0)", "", false},
		"Julia":                      {139, "[166990] signal (11.-6): Segmentation fault\nin expression starting at /home/a/test1.jl:31\n", "[166990] signal (11.-6): Segmentation fault", "", false},
		"each rank in Fortran":       {135, strings.Repeat(fortran+"\n\nBacktrace for this error:\n", 3) + "#0  0x7F707477D697\n#0  0x7FE71AFDB697\n#1  0x7F707477DCDE\n#0  0x7F5985DCE697\n#1  0x7FE71AFDBCDE\n", fortran, "", false},
		"whoever started it":         {137, "Caused by:\n  Process `align (1)` terminated with an error exit status (137)\n\nCommand executed:\n\n  align all.fa\n", "Process `align (1)` terminated with an error exit status (137)", "", false},
		"an ordinary exit code":      {137, "terminated with an error exit status (1)\n", "exited 137 (as a shell reports SIGKILL)", "", false},
		"Julia, above its stack":     {139, "[1841] signal (11.1): Segmentation fault\nin expression starting at /app/run.jl:1\n" + strings.Repeat("load at /app/packages/SIMD/src/LLVM.jl:477 [inlined]\n", 5) + "jl_apply at /src/julia/src/./julia.h:1982 [inlined]\nstart_task at /src/julia/src/task.c:1253\nAllocations: 46723184 (Pool: 46702475; Big: 20709); GC: 80\n", "[1841] signal (11.1): Segmentation fault", "", false},
		"UCX":                        {139, ucx + "\n", ucx, "", false},
		"a bar without an end":       {143, "reading 20% (117/558) [#     ] eta 0:31:04 \\Terminated\n", "reading 20% (117/558) [#     ] eta 0:31:04 \\Terminated", "", false},
		"zsh":                        {139, "zsh: segmentation fault  ./train\n", "zsh: segmentation fault  ./train", "shell.killed", true},
		"zsh, of another signal":     {139, "[1]    713 terminated  ./train\n", "exited 139 (as a shell reports SIGSEGV)", "", false},
		"another signal's":           {139, "srun: error: n7: task 3: Killed\n", "exited 139 (as a shell reports SIGSEGV)", "", false},
		"a launcher ends its others": {143, "Sending process 28265 closing signal SIGTERM\n", "exited 143 (as a shell reports SIGTERM)", "", false},
		"what came before work":      {137, "Killed\nstep 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\n", "exited 137 (as a shell reports SIGKILL)", "", false},
		"another thread's work":      {134, "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\n" + asserted + "\nstep 4 loss 2.2\n", asserted, "", false},
		"work after it":              {134, "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\n" + asserted + "\nstep 4 loss 2.2\nstep 5 loss 2.2\nstep 6 loss 2.2\nstep 7 loss 2.2\n", "exited 134 (as a shell reports SIGABRT)", "", false},
		"words of the program":       {137, "epoch 7: 3 workers Killed a task\n", "exited 137 (as a shell reports SIGKILL)", "", false},
		"torchrun's report":          {1, report, "Signal 9 (SIGKILL) received by PID 767", "", true},
		"NCCL's watchdog":            {134, "[E ProcessGroupNCCL.cpp:455] " + corrupted + "\n" + takesDown + "Aborted (core dumped)\n", corrupted, "", false},
		"raised, then a watchdog":    {134, logged + raised + "rank 1 waits\n" + watchdog, late, "nccl.timeout", true},
		"logged, then a watchdog":    {134, logged + watchdog, bind, "store.bind", true},
		"logged and raised":          {134, logged + raised + "rank 1 waits\n", bind, "store.bind", true},
	} {
		t.Run(name, func(t *testing.T) {
			o := exited(tt.code)
			o.Output = []byte(tt.output)
			f := Judge(o, BuiltinRules())
			if f.Verdict != Retry || f.Rule != tt.rule || f.Evidence != tt.says || (f.bareness() == 0) != tt.known {
				t.Errorf("%s by %q (%q, bareness %d), want %q by %q", f.Verdict, f.Rule, f.Evidence, f.bareness(), tt.says, tt.rule)
			}
		})
	}
}
