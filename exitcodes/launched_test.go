package exitcodes

import (
	"strings"
	"testing"
)

// TestAroundTheCause has what launchers, interpreters and libraries say around the failure of a program.
func TestAroundTheCause(t *testing.T) {
	const (
		odd    = "RuntimeError: stack expects each tensor to be equal size, but got [3] at entry 0 and [4] at entry 1"
		during = "\nDuring handling of the above exception, another exception occurred:\n\n"
		frames = "Traceback (most recent call last):\n  File \"/usr/lib/python3.9/multiprocessing/process.py\", line 315, in _bootstrap\n    self.run()\n"
		mpi    = "--------------------------------------------------------------------------\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\nYou may or may not see output from other processes, depending on\nexactly when Open MPI kills them.\n--------------------------------------------------------------------------\n"
		box    = " %%%%%%%%%%%%%%%%%%%%%%%%%\n     Error in routine davcio (10):\n     error while writing from file \"./Sn.wfc9\"\n %%%%%%%%%%%%%%%%%%%%%%%%%\n\n     stopping ...\n\n"
		stack  = "Abort(675407631) on node 0: Fatal error in internal_Init: Other MPI error, error stack:\ninternal_Init(48301)..: MPI_Init(argc=(nil), argv=(nil)) failed\ninit_worker(38).......:  ucx function returned with failed status(ucx_init.c 38 init_worker Input/output error)\n"
		diag   = "[1732870020.103858] [n4:871102:0]           async.c:679  UCX  DIAG  async handler table is not empty during exit (contains 2 elems)\n"
		mpiend = "--------------------------------------------------------------------------\nmpiexec detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: [[30093,1],20]\n  Exit code:    1\n--------------------------------------------------------------------------\n"
		cmd    = "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1."
	)
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"its exit's handlers":   {frames + odd + "\n" + during + frames + "    sys.exit(1)\nSystemExit: 1\n" + during + frames + "    util._exit_function()\nRuntimeError: DataLoader worker (pid 77) is killed by signal: Terminated. \n", Fatal, "stack expects"},
		"a loader's end":        {frames + odd + "\n" + during + frames + "RuntimeError: DataLoader worker (pid 77) is killed by signal: Terminated. \n", Retry, "killed by signal"},
		"two wrappers":          {wrap("RuntimeError: adv is none!") + wrap(cmd) + wrap(cmd), Fatal, "adv is none"},
		"an assertion":          {"Traceback (most recent call last):\n  File \"/app/train.py\", line 771, in forward\n    assert labels.shape == (n_rows,)\nAssertionError\n", Fatal, "assert labels.shape == (n_rows,)"},
		"one with its marks":    {"Traceback (most recent call last):\n  File \"/app/train.py\", line 771, in forward\n    assert labels.ok\n           ^^^^^^^^^\nAssertionError\n", Fatal, "assert labels.ok"},
		"MPI's abort":           {"error: no such basis: def9\n" + mpi, Fatal, "no such basis"},
		"Quantum ESPRESSO":      {box + box + box + box + mpi, Fatal, "in routine davcio"},
		"MPICH's stack":         {stack + diag, Retry, "ucx function returned"},
		"a killed compiler":     {"c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\nmake: *** [Makefile:91: all] Error 2\nmake.sh: line 74: ./solve: No such file or directory\n", Retry, "Killed signal"},
		"a compiler's error":    {"c++: fatal error: no input files\ncompilation terminated.\nmake.sh: line 74: ./solve: No such file or directory\n", Fatal, ""},
		"mpiexec's signals":     {"\nsignal (15): Terminated\nin expression starting at /app/a.jl:3\n" + mpiend, Fatal, ""},
		"a signal":              {"\nsignal (15): Terminated\nin expression starting at /app/a.jl:3\n", Retry, "signal (15)"},
		"Airflow":               {"[2026-03-25, 19:09:45 IST] {local_task_job.py:82} ERROR - Received SIGTERM. Terminating subprocesses\n[2026-03-25, 19:09:45 IST] {taskinstance.py:1700} ERROR - Task failed with exception\n", Preempted, "Received SIGTERM"},
		"bash in French":        {"run.sh: ligne 28: erreur de syntaxe près du symbole inattendu « done »\nrun.sh: ligne 28: `done'\n", Fatal, "erreur de syntaxe"},
		"bash in Chinese":       {"run.sh: 行 28: 未预期的符号“done”附近有语法错误\nrun.sh: 行 28: `done'\n", Fatal, "语法错误"},
		"a program's MPI_Abort": {" Error in routine readpp (2):\n file H.UPF not found\napplication called MPI_Abort(MPI_COMM_WORLD, 2) - process 1\napplication called MPI_Abort(MPI_COMM_WORLD, 2) - process 3[cli_3]: aborting\njob                   :\n", Fatal, "H.UPF"},
		"it alone":              {"Abort(2) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 2) - process 1\n", Fatal, ""},
		"a program not there":   {"mpirun was unable to find the specified executable file, and therefore\ndid not launch the job.  This error was first reported for process\nrank 0; it may have occurred for other processes as well.\n\nNOTE: A common cause for this error is misspelling a mpirun command\n      line parameter option.\n\nNode:       n1\nExecutable: pw.x\n", Fatal, "was unable to find"},
		"a port of root's": {"[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:97 (errno: 13 - Permission denied).\n[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.\n" +
			"Traceback (most recent call last):\n  File \"/app/accelerate\", line 8, in <module>\n    sys.exit(main())\n  File \"/app/cli.py\", line 45, in main\n    args.func(args)\n", Fatal, "failed to listen"},
		"a port in use": {"[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.\n" +
			"Traceback (most recent call last):\n  File \"/app/accelerate\", line 8, in <module>\n    sys.exit(main())\n  File \"/app/cli.py\", line 45, in main\n    args.func(args)\n", Retry, ""},
		"a registry":                     {"FATAL:   Unable to handle docker://x/y uri: failed to get checksum for docker://x/y: reading manifest latest in docker.io/x/y: errors:\ndenied: requested access to the resource is denied\nunauthorized: authentication required\n", Fatal, "denied: requested"},
		"a registry that is not reached": {"FATAL:   Unable to handle docker://x/y uri: failed to get checksum for docker://x/y: reading manifest latest in docker.io/x/y: errors:\ndial tcp: lookup registry-1.docker.io: i/o timeout\n", Retry, "timeout"},
		"what Hydra builds":              {"Error in call to target 'app.Trainer':\nRuntimeError('You set `--ntasks=4`, which is not supported.')\n", Fatal, "which is not supported"},
		"advice": {"ERROR YarnScheduler:70 - Lost executor 1 on n7: Container killed by YARN for exceeding memory limits. 160 GB of 160 GB used. Consider raising the overhead or disabling the check.\n" +
			"Traceback (most recent call last):\n  File \"train.py\", line 258, in <module>\n    fit()\n  File \"/app/shards.py\", line 355, in fit\n", Retry, "killed by YARN"},
		"a label of nothing": {"The following command failed to execute:\ncat a.tar | gawk '{print}'\nError code: 0\nOut: \nError: \n", Fatal, "failed to execute"},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.output), BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestMATLAB has what MATLAB prints of an error: the first line of its message tells, and neither its advice nor the source of the frames.
func TestMATLAB(t *testing.T) {
	const (
		device = "{\bError using gpuArray/arrayfun\nOut of memory on device. To view more detail about available memory on the GPU,\nuse 'gpuDevice()'. If the problem persists, reset the GPU by calling\n'gpuDevice(1)'.\n\n"
		frames = "Error in trainscg (line 59)\n            [out1,out2] = train_network(varargin{2:end});\n\nError in main (line 12)\nmain(1, 'CIFAR-10', 'nonstationary', 2,\n'full_history', 1000)\n}\b\nexit\n"
		write  = "{\bError using writetable (line 155)\nUnable to open file '/a.csv' for writing:\n\nPermission denied\n\nError in main (line 28)\n    writetable(found,file,'Delimiter',' ')\n}\b\n"
	)
	cases := "starting the pool ... case 1\nans =\n     0     1\nstarting the pool ... case 2\nans =\n     1     0\nstarting the pool ... case 3\nans =\n     1     1\nstarting the pool ... case 4\n"
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"a device, at first": {device + frames, Fatal, "Out of memory on device"},
		"a device, later":    {cases + device + frames, Retry, "Out of memory on device"},
		"a file":             {strings.Repeat(write, 5), Fatal, "Unable to open file"},
	} {
		if f := Judge(exited(1).printing("Loading run.m\n"+tt.output), BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestCountedRuns has a device run out of memory after pieces of work that a program counts, or after what it only lists.
func TestCountedRuns(t *testing.T) {
	const full = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
	for format, want := range map[string]Verdict{
		"# run\npower_upto_now: 0.5\n":             Fatal,
		"#th run\npower_upto_now: 0.5\n":           Retry,
		"starting trial #\nscore 0.5\n":            Retry,
		"=== episode #\nreward 0.5\n":              Retry,
		"layer # of the model is 512 wide\n":       Fatal,
		"tokenizing file #\n":                      Fatal,
		"running case study # with batch size 8\n": Fatal,
		"parameter #\n":                            Fatal,
	} {
		output := ""
		for _, n := range []string{"4", "5", "6", "7"} {
			output += strings.ReplaceAll(format, "#", n)
		}
		if f := Judge(exited(1).printing("Loading run.yaml\n"+output+wrap(full)), BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s, want %s: %s", format, f.Verdict, want, f.Message)
		}
	}
}

// TestStepsInOneLine has one line of what training loops print be enough to show a step that is not the first, and what they print before it not.
func TestStepsInOneLine(t *testing.T) {
	const full = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
	for line, want := range map[string]Verdict{
		"21-05-24 02:11:29.657 - INFO: <epoch: 30, iter:   2,800, lr:1.000e-04> l_pix: 3.2022e-03 l_fea: 1.7e+00":                Retry,
		"Epoch: [0][ 20/5005]\tTime  0.3 ( 0.9)\tLoss 7.01e+00 (7.03e+00)":                                                       Retry,
		"Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.93)  Time: 0.5s":                                                              Retry,
		" 12/625 [..............................] - ETA: 3:12 - loss: 2.3025":                                                    Retry,
		"Epoch 0, global step 100: val_loss reached 0.5":                                                                         Retry,
		"[2026-01-01 10:00:00,100] [INFO] [timer.py:260:stop] epoch=0/micro_step=20/global_step=20, RunningAvgSamplesPerSec=4.2": Retry,
		"step:3 - actor/entropy:0.3 - training/global_step:3 - perf/time_per_step:30":                                            Retry,
		"ep: 12 it: 1020 lr 0.001 l 2.31":                                                                                        Retry,
		"Validation Epoch 4 done, mIoU 0.53":                                                                                     Retry,
		"Epoch: [0][ 0/5005]\tTime  0.3 ( 0.9)\tLoss 7.01e+00 (7.03e+00)":                                                        Fatal,
		" 1/625 [..............................] - ETA: 3:12 - loss: 2.3025":                                                     Fatal,
		"Namespace(epochs=100, iters=2000, lr=0.001, loss='l1', print_step=50)":                                                  Fatal,
		"Epoch 1/100": Fatal,
		"training for 100 epochs, 5005 iterations each, lr: 0.1":                      Fatal,
		"step:1 - actor/entropy:0.3 - training/global_step:1 - perf/time_per_step:30": Fatal,
		"Loading checkpoint shards: 100%|██████████| 4/4 [00:10<00:00,  2.5s/it]":     Fatal,
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+line+"\n"+wrap(full)), BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s, want %s: %s", line, f.Verdict, want, f.Message)
		}
	}
}

// TestTrackedRuns has several runs in one file that a tracker tells apart: the steps of the earlier ones say nothing of the last one, where one
// before had failed; those of the ranks of one run, which all begin before they fail, do.
func TestTrackedRuns(t *testing.T) {
	const (
		begins = "wandb: Tracking run with wandb version 0.17.0\nwandb: Syncing run toasty-wood\n"
		steps  = "epoch 3 loss: 0.52\nepoch 4 loss: 0.51\n"
		bar    = "  0%|          | 0/500 [00:00<?, ?it/s]\n"
	)
	full := wrap("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.22 GiB")
	for name, tt := range map[string]struct {
		output string
		want   Verdict
	}{
		"the last one at its start": {begins + steps + begins + bar + full + begins + bar + full, Fatal},
		"the last one later":        {begins + bar + full + begins + steps + full, Retry},
		"the first one that fails":  {begins + steps + begins + bar + full, Retry},
		"ranks of one run":          {begins + begins + steps + full + full, Retry},
	} {
		if f := Judge(exited(1).printing("Loading run.yaml\n"+tt.output), BuiltinRules()); f.Verdict != tt.want {
			t.Errorf("%s: %s: %s", name, f.Verdict, f.Message)
		}
	}
}
