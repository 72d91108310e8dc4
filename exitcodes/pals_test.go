package exitcodes

import "testing"

// mpiexec of PALS exits with the code of a rank that it stopped, because another one had failed.
func TestStoppedByPALS(t *testing.T) {
	const raised = "step: 18 loss: 10.2\n[rank6]: Traceback (most recent call last):\n[rank6]:   File \"/app/t.py\", line 3, in <module>\n[rank6]:     f(x)\n"
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		rule    string
	}{
		"its bug":           {raised + "[rank6]: AssertionError: Torch not compiled with CUDA enabled\nnode-2: rank 6 exited with code 1\nnode-2: rank 11 died from signal 15\n", Fatal, "torch.no_gpu_build"},
		"what passes":       {raised + "[rank6]: ConnectionResetError: [Errno 104] Connection reset by peer\nnode-2: rank 6 exited with code 1\nnode-3: rank 11 died from signal 15\n", Retry, "py.peer"},
		"all were stopped":  {raised + "[rank6]: AssertionError: Torch not compiled with CUDA enabled\nnode-2: rank 11 died from signal 15\n", Retry, ""},
		"one ended of that": {raised + "[rank6]: AssertionError: Torch not compiled with CUDA enabled\nnode-2: rank 11 died from signal 15\nnode-2: rank 6 exited with code 1\n", Retry, ""},
	} {
		if f := Judge(exited(143).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict || f.Rule != tt.rule {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
