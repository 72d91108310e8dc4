package exitcodes

import (
	"strings"
	"testing"
)

// TestTellsOutcome has whatever had started a program say last that it failed or ended: a condition that passes, which stands before,
// decides all the same, and what is no condition that passes stays what it was.
func TestTellsOutcome(t *testing.T) {
	said := map[string]Verdict{
		"curl: (56) Recv failure: Connection reset by peer\n":                                                             Retry,
		"kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.1 port 22\n":          Retry,
		"2026-01-01 09:59:59,000 ERROR trainer: upload failed: 503 Service Unavailable\n":                                 Retry,
		"Curl returned error code 55\n":                                                                                   Retry,
		"curl: (22) The requested URL returned error: 404\n":                                                              Fatal,
		"2026-01-01 09:59:59,000 ERROR trainer: config has no key model.hidden\n":                                         Fatal,
		"Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    f()\nKeyError: 'label'\n": Fatal,
	}
	for _, tail := range []string{
		"",
		"+ echo 'training failed'\ntraining failed\n+ exit 1\n",
		"make: *** [Makefile:12: train] Error 1\n",
		"Command exited with non-zero status 1\n",
		"real\t1m3.000s\nuser\t0m10.000s\nsys\t0m1.000s\n",
		"Thu Jan  1 10:00:00 UTC 2026\nJob finished with exit code 1\n",
		"ERROR conda.cli.main_run:execute(49): `conda run python train.py` failed. (See above for error)\n",
		"npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\n",
		"time=\"2026-01-01T10:00:00Z\" level=error msg=\"sub-process exited\" error=\"exit status 1\"\nError: exit status 1\n",
		"[2026-01-01, 10:00:00 UTC] {taskinstance.py:1937} ERROR - Task failed with exception\n",
		"ERROR: failed to reproduce 'train': failed to run: python train.py, exited with 1\n",
		"Error: Process completed with exit code 1.\n",
		"ERROR: training failed, see the log above\n",
		"[ERROR] train.sh: step \"train\" failed with status 1\n",
		"Training failed!\n",
		"Job failed. Sending notification...\n",
		"Cleaning up temporary directory /tmp/x\n",
		"error: Recipe `train` failed on line 7 with exit code 1\n",
		"task: Failed to run task \"train\": exit status 1\n",
		"Failed (exit code 1)\nEnd time: 2026-01-01 10:00:00\n",
		"job ended at 2026-01-01 10:00:00 with status 1\n",
		"ExecuteUserScriptError:\nExitCode 1\nErrorMessage \"\"\nCommand \"/usr/bin/python3 train.py\"\n",
		"srun: error: node3: task 0: Exited with exit code 1\nslurmstepd: error: *** STEP 77.0 ON node3 CANCELLED AT 2026-01-01T10:00:00 ***\n",
	} {
		for words, want := range said {
			if f := Judge(exited(1).printing("Model has 124000000 parameters\n"+words+tail), BuiltinRules()); f.Verdict != want {
				t.Errorf("%q, then %q: %s by %q: %s", words, tail, f.Verdict, f.Rule, f.Evidence)
			}
		}
	}
	for _, cause := range []string{
		"Request failed with status 404\n", "Training failed: the config has no model section\n", "main failed to parse --lr\n",
		"Run failed validation: 3 labels are missing\n", "Tests completed with 3 failures in test_model.py\n", "training failed after a NaN in layer 7\n", "Loading failed at layer 7\n",
	} {
		if f := Judge(exited(1).printing("metrics: connection refused\n"+cause), BuiltinRules()); f.Verdict != Fatal {
			t.Errorf("%q: %s by %q: %s", cause, f.Verdict, f.Rule, f.Evidence)
		}
	}
}

// TestPointsAtWhatWasSaid has a program end with words that only point at what was said before, with the code of a command that had
// told why, or with the result of another one's errors.
func TestPointsAtWhatWasSaid(t *testing.T) {
	const (
		frames = "Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    f()\n"
		rsync  = "Connection reset by 10.0.0.2 port 22\nrsync: connection unexpectedly closed (901 bytes received so far) [sender]\n"
		hdfs   = frames + "tensorflow.python.framework.errors_impl.UnknownError: hdfs://ns1/ckpt/model.ckpt-12.index; Unknown error 255\n"
		build  = frames + "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.\n\n" +
			"The above exception was the direct cause of the following exception:\n\n" + frames + "RuntimeError: Error building extension 'ops'\n"
	)
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
		says    string
	}{
		"a script names the code":         {12, rsync + "stage.sh: line 41: staging failed (rc=12), not launching\n", Retry, "unexpectedly closed"},
		"it names it otherwise":           {12, rsync + "copying shards ended with status 12, giving up on this node\n", Retry, "unexpectedly closed"},
		"another code":                    {3, rsync + "stage.sh: line 41: checking labels failed (rc=12), not launching\n", Fatal, "checking labels"},
		"its code, and why":               {12, rsync + "loader: bad label 12 in a.csv\n", Fatal, ""},
		"libhdfs: a connection":           {1, "hdfsGetPathInfo(/ckpt/model.ckpt-12.index): getFileInfo error:\n(unable to get root cause for java.net.SocketTimeoutException)\n(unable to get stack trace for java.net.SocketTimeoutException)\n" + hdfs, Retry, "SocketTimeoutException"},
		"libhdfs: an answer that ended":   {1, "hdfsGetPathInfo(/ckpt/model.ckpt-12.index): getFileInfo error:\n(unable to get root cause for java.io.EOFException)\n(unable to get stack trace for java.io.EOFException)\n" + hdfs, Retry, "EOFException"},
		"libhdfs: its standby":            {1, "hdfsOpenFile(/ckpt/a): FileSystem#open error:\nRemoteException: Operation category READ is not supported in state standby\norg.apache.hadoop.ipc.RemoteException(org.apache.hadoop.ipc.StandbyException): Operation category READ is not supported in state standby\n\tat a.b(C.java:7)\n" + hdfs, Retry, "standby"},
		"libhdfs: a right":                {1, "hdfsOpenFile(/ckpt/a): FileSystem#open error:\nAccessControlException: Permission denied: user=a, access=READ, inode=\"/ckpt\"\n" + hdfs, Fatal, "Permission denied"},
		"libhdfs: nothing":                {1, hdfs, Fatal, "Unknown error 255"},
		"a linker before the extension":   {1, "FAILED: ops.so\n/usr/bin/ld: cannot find -lcurand: No such file or directory\ncollect2: error: ld returned 1 exit status\nninja: build stopped: subcommand failed.\n" + build, Fatal, "cannot find -lcurand"},
		"a compiler before the extension": {1, "FAILED: ops.o\n/x/ops.cu:12:3: error: identifier \"at\" is undefined\nninja: build stopped: subcommand failed.\n" + build, Fatal, "is undefined"},
	} {
		if f := Judge(exited(tt.code).printing("Model has 124000000 parameters\n"+tt.output), BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
