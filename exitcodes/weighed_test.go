package exitcodes

import (
	"strings"
	"testing"
)

// TestWeighed has programs end of what nothing knows, in words that no rule and no list has: those of a failure that passes make it a
// retry, which says that only words speak for it.
func TestWeighed(t *testing.T) {
	const novel = "simlib.errors.BackendError: gave up waiting for the simulator, no response from the peer within 300 seconds"
	start := "Loading run.yaml\nModel has 124000000 parameters\n"
	for name, tt := range map[string]struct {
		code   int
		output string
		want   Verdict
	}{
		"an exception":                {1, wrap(novel), Retry},
		"a line":                      {1, "ERROR: " + novel + "\n", Retry},
		"a bug":                       {1, wrap("simlib.errors.BackendError: the argument hidden_size must be divisible by num_heads"), Fatal},
		"a bug of Python":             {1, wrap("TypeError: gave up waiting for the simulator, no response from the peer within 300 seconds"), Fatal},
		"little said":                 {1, wrap("simlib.errors.BackendError: lost"), Fatal},
		"information":                 {1, "INFO gave up waiting for the simulator, no response from the peer within 300 seconds\n", Fatal},
		"what it got over":            {1, "WARNING metrics: connection refused\nSecond try worked\nbad value for lr\n", Fatal},
		"an official number":          {1, wrap("OSError: [Errno 99] connection to the remote peer could not be kept: no response, gave up waiting"), Fatal},
		"a wrapped bug":               {1, wrap("simlib.errors.BackendError: KeyError: 'gave up waiting for the simulator, no response from the peer'"), Fatal},
		"which command":               {1, wrap("subprocess.CalledProcessError: Command '['wait-for-peer', '--timeout', '300', '--retry', 'connection']' returned non-zero exit status 1."), Fatal},
		"a launcher's report":         {1, "stderr:   traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n", Fatal},
		"a command that is not there": {127, "run.sh: line 3: wait-for-connection-timeout: command not found\n", Fatal},
	} {
		f := Judge(exited(tt.code).printing(start+tt.output), BuiltinRules())
		if f.Verdict != tt.want {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
		if tt.want == Retry && (f.Rule != "family.words" || f.Unknown || f.Code != CodeRetryableByRule || !strings.Contains(f.Message, "no rule explains it, but it has the words of a failure that passes: ")) {
			t.Errorf("%s: %d by %q: %s", name, f.Code, f.Rule, f.Message)
		}
		if tt.want == Fatal && strings.Contains(f.Message, "the words of") {
			t.Errorf("%s: %s", name, f.Message)
		}
	}
}

// TestWordsAreOnlyASuspicion has one rank end of words and another of a known bug: the bug decides.
func TestWordsAreOnlyASuspicion(t *testing.T) {
	f := Judge(exited(1).printing(wrap("simlib.errors.BackendError: gave up waiting for the simulator, no response from the peer")), BuiltinRules())
	if f.Role != RoleSuspect {
		t.Errorf("role %v of %q", f.Role, f.Message)
	}
}
