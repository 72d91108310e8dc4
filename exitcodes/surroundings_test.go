package exitcodes

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type surrounding struct {
	name  string
	print func(labelled) []byte // nil where it would not be printed so
}

var surroundings = []surrounding{
	headed("torch's hook", func(int) string { return "[rank0]: " }),
	headed("torchrun --tee", func(int) string { return "[default0]:" }),
	headed("srun --label", func(int) string { return "3: " }),
	headed("mpirun --tag-output", func(int) string { return "[1,0]<stderr>:" }),
	headed("Ray", func(int) string { return "(TrainWorker pid=123, ip=10.2.3.4) " }),
	headed("docker", func(i int) string {
		return fmt.Sprintf("2024-05-01T10:%02d:%02d.%06d000Z ", i/600%60, i/10%60, i%10*100000)
	}),
	headed("a pod", func(int) string { return "trainer-0 | " }),
	headed("an indentation", func(int) string { return "    " }),
	headed("numbers", func(i int) string { return fmt.Sprintf("%d: ", i+101) }),
	{"carriage returns", func(c labelled) []byte { return bytes.ReplaceAll(c.text, []byte("\n"), []byte("\r\n")) }},
	behind("a tracker", "wandb: Waiting for W&B process to finish... (failed 1). Press Control-C to abort syncing.\nwandb: \nwandb: Run history:\nwandb: loss \u2581\u2582\u2583\nwandb: Synced run-7: https://wandb.ai/t/p/runs/1x2y3z\n"),
	behind("torchrun", "W0501 10:11:12.118000 402 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 467 closing signal SIGTERM\n"+
		"E0501 10:11:12.720000 402 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: CODE) local_rank: 0 (pid: 472) of binary: /usr/bin/python\n"+
		"Traceback (most recent call last):\n  File \"/opt/env/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"),
	behind("accelerate", "Traceback (most recent call last):\n  File \"/opt/env/bin/accelerate\", line 8, in <module>\n    sys.exit(main())\n"+
		"  File \"/opt/env/lib/python3.10/site-packages/accelerate/commands/launch.py\", line 763, in simple_launcher\n    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)\n"+
		"subprocess.CalledProcessError: Command '['/usr/bin/python', 'train.py']' returned non-zero exit status CODE.\n"),
	behind("deepspeed", "[2024-05-01 10:11:12,010] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 811\n"+
		"[2024-05-01 10:11:12,700] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=1'] exits with return code = CODE\n"),
	behind("mpirun", rule+"Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"+rule+rule+
		"mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: [[12345,1],0]\n  Exit code:    CODE\n"+rule),
	behind("Slurm", "srun: error: node1: task 0: Exited with exit code CODE\nsrun: Terminating StepId=11.0\nslurmstepd: error: *** STEP 11.0 ON node1 CANCELLED AT 2024-05-01T10:11:12 ***\n"),
	behind("a script", "+ rc=CODE\n+ echo 'training failed'\ntraining failed\n+ exit CODE\n"),
	behind("a logger", "ERROR:__main__:training failed, exiting\n"),
	behind("a destructor", "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f05a1b2c3d0>\nTraceback (most recent call last):\n"+
		"  File \"/opt/env/lib/python3.10/site-packages/torch/utils/data/dataloader.py\", line 1479, in __del__\n    self._shutdown_workers()\nAttributeError: 'NoneType' object has no attribute 'is_set'\n"),
	behind("multiprocessing", "/usr/lib/python3.8/multiprocessing/resource_tracker.py:216: UserWarning: resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '\n"),
	behind("make", "make: *** [Makefile:12: train] Error CODE\n"),
	behind("kubectl", "command terminated with exit code CODE\n"),
	behind("time -v", "Command exited with non-zero status CODE\n\tCommand being timed: \"python train.py\"\n\tUser time (seconds): 10.00\n\tSystem time (seconds): 1.20\n\tMaximum resident set size (kbytes): 123456\n\tExit status: CODE\n"),
	behind("seff", "Job ID: 123456\nCluster: alpha\nUser/Group: u/g\nState: FAILED (exit code CODE)\nNodes: 1\nCores per node: 8\nCPU Utilized: 00:10:12\nCPU Efficiency: 12.50% of 01:21:36 core-walltime\nMemory Utilized: 3.21 GB\nMemory Efficiency: 10.03% of 32.00 GB\n"),
	behind("LSF", "\n------------------------------------------------------------\nSender: LSF System <lsf@host>\nSubject: Job 123: <train> in cluster <c> Exited\n\nJob <train> was submitted from host <h> by user <u> in cluster <c>.\n\nExited with exit code CODE.\n\nResource usage summary:\n\n    CPU time :                                   12.10 sec.\n    Max Memory :                                 800 MB\n\nThe output (if any) is above this job summary.\n\n"),
	behind("Snakemake", "[Wed May  1 10:11:12 2024]\nError in rule train:\n    jobid: 3\n    output: out/model.pt\n    shell:\n        python train.py\n        (one of the commands exited with non-zero exit code; note that snakemake uses bash strict mode!)\n\nShutting down, this might take some time.\nExiting because a job execution failed. Look above for error message\nComplete log: .snakemake/log/2024-05-01T101010.snakemake.log\n"),
	behind("GitHub Actions", "##[error]Process completed with exit code CODE.\nCleaning up orphan processes\n"),
	behind("GitLab", "Cleaning up project directory and file based variables\nERROR: Job failed: exit code CODE\n"),
	behind("SageMaker", "2024-05-01 10:11:12,001 sagemaker-training-toolkit ERROR    Reporting training FAILURE\n2024-05-01 10:11:12,002 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:\nExitCode CODE\nErrorMessage \"\"\nCommand \"/opt/conda/bin/python3.10 train.py\"\n"),
	behind("nvidia-smi", "Wed May  1 10:11:12 2024\n+---------------------------------------------------------------------------------------+\n| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |\n|-----------------------------------------+----------------------+----------------------+\n|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |\n| N/A   31C    P0              62W / 400W |      4MiB / 81920MiB |      0%      Default |\n+-----------------------------------------+----------------------+----------------------+\n"),
	behind("an epilogue", "Job finished at Wed May  1 10:11:12 UTC 2024\nexit status: CODE\n"),
	behind("PALS", "x4512c5s2b0n0.hostmgmt: rank 0 exited with code CODE\nx4512c5s2b0n0.hostmgmt: rank 3 died from signal 15\n"),
	behind("submitit", "submitit ERROR (2024-05-01 10:11:12,001) - Submitted job triggered an exception\n"),
	behind("Ray Tune", "2024-05-01 10:11:12,345\tERROR tune_controller.py:1332 -- Trial task failed for trial train_1a2b3_00000\n"),
	behind("mlflow", "2024/05/01 10:11:12 ERROR mlflow.cli: === Run (ID 'abc') failed ===\n"),
	ahead("modules", "Loading cuda/12.1\n  Loading requirement: gcc/11.2.0\nThe following have been reloaded with a version change:\n  1) gcc/9.3.0 => gcc/11.2.0\n\nmodule: command not found\n"),
	ahead("conda", "/var/spool/slurmd/job123/slurm_script: line 12: /opt/conda/etc/profile.d/conda.sh: No such file or directory\nCommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\nTo initialize your shell, run\n\n    $ conda init <SHELL_NAME>\n\n"),
	ahead("pip", "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. This behaviour is the source of the following dependency conflicts.\ntensorflow 2.13.0 requires typing-extensions<4.6.0,>=3.6.6, but you have typing-extensions 4.8.0 which is incompatible.\nSuccessfully installed x-1.0\n"),
	ahead("an optional import", "Traceback (most recent call last):\n  File \"/app/x.py\", line 3, in <module>\n    import apex\nModuleNotFoundError: No module named 'apex'\napex is not installed, using native layers\nloading data\nmodel has 124M parameters\n"),
	ahead("TF's start", "2024-05-01 10:11:12.123456: E tensorflow/compiler/xla/stream_executor/cuda/cuda_dnn.cc:9342] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered\n2024-05-01 10:11:12.123456: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT\n"),
	{"another rank's watchdog", func(c labelled) []byte {
		if !bytes.Contains(c.text, []byte("[rank")) {
			return nil
		}
		return slices.Concat(ended(c.text), []byte("[rank1]:[E501 11:18:52.531176265 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=31, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600061 milliseconds before timing out.\n"))
	}},
	{"two ranks", func(c labelled) []byte {
		if bytes.Contains(c.text, []byte("[rank")) || !bytes.HasPrefix(c.text, []byte(traceback)) && !bytes.Contains(c.text, []byte("\n"+traceback)) {
			return nil
		}
		return slices.Concat(each(c.text, func(int) string { return "[rank0]: " }), each(c.text, func(int) string { return "[rank1]: " }))
	}},
}

const rule = "--------------------------------------------------------------------------\n"

// headed puts a head before each line.
func headed(name string, head func(i int) string) surrounding {
	return surrounding{name, func(c labelled) []byte {
		if bytes.Contains(c.text, []byte("[rank")) && strings.HasPrefix(head(0), "[rank") {
			return nil
		}
		return each(c.text, head)
	}}
}

// behind adds an end, in which CODE stands for the exit code.
func behind(name, end string) surrounding {
	return surrounding{name, func(c labelled) []byte {
		return slices.Concat(ended(c.text), []byte(strings.ReplaceAll(end, "CODE", strconv.Itoa(c.code))))
	}}
}

// ahead adds what was printed before the run.
func ahead(name, begin string) surrounding {
	return surrounding{name, func(c labelled) []byte { return slices.Concat([]byte(begin), c.text) }}
}

func each(text []byte, head func(i int) string) []byte {
	var b bytes.Buffer
	i := 0
	for line := range bytes.Lines(ended(text)) {
		b.WriteString(head(i))
		b.Write(line)
		i++
	}
	return b.Bytes()
}

func ended(text []byte) []byte { return append(bytes.TrimRight(text, "\n"), '\n') }
