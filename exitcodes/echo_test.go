package exitcodes

import "testing"

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
