package exitcodes

import (
	"strings"
	"testing"
)

// TestTrackers has an experiment tracker lose its server, beside what ended the program and alone.
func TestTrackers(t *testing.T) {
	scale := strings.ReplaceAll(bug, "ValueError: heads must divide hidden", "RuntimeError: loss scale went to zero")
	const (
		plain    = "loading config\nERROR: no such dataset: foo\n"
		mlflow   = "mlflow.exceptions.MlflowException: API request to http://mlflow:5000/api failed with exception HTTPConnectionPool(host='mlflow', port=5000): Read timed out.\n"
		comet    = "COMET ERROR: Failed to flush: HTTPSConnectionPool(host='www.comet.com', port=443): Read timed out. (read timeout=10)\n"
		clearml  = "2026-11-20 10:00:01,123 - clearml.Task - ERROR - Failed reporting: HTTPSConnectionPool(host='api.clear.ml', port=443): Read timed out.\n"
		neptune  = "[neptune] [error  ] Error occurred during asynchronous operation processing: HTTPSConnectionPool: Read timed out.\n"
		wandb    = "wandb: ERROR Error while calling W&B API: context deadline exceeded (<Response [500]>)\n"
		another  = "2026-11-20 10:00:01,123 - notclearml.Task - ERROR - Failed reading: HTTPSConnectionPool(host='data', port=443): Read timed out.\n"
		uncaught = "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    mlflow.start_run()\n"
	)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"mlflow after an exception":   {scale + mlflow, Fatal, "loss scale went to zero"},
		"mlflow after a line":         {plain + mlflow, Retry, "Read timed out"}, // it may be what ended it
		"mlflow alone":                {mlflow, Retry, "Read timed out"},
		"mlflow's own exception":      {uncaught + mlflow, Retry, "Read timed out"},
		"comet after an exception":    {scale + comet, Fatal, "loss scale went to zero"},
		"comet after a line":          {plain + comet, Fatal, "no such dataset"},
		"comet alone":                 {"loading config\n" + comet, Retry, "Read timed out"},
		"clearml after a line":        {plain + clearml, Fatal, "no such dataset"},
		"neptune after an exception":  {scale + neptune, Fatal, "loss scale went to zero"},
		"neptune after a line":        {plain + neptune, Fatal, "no such dataset"},
		"wandb after an exception":    {scale + wandb, Fatal, "loss scale went to zero"},
		"mlflow, and then a wrapper":  {mlflow + "error: run.sh: python exited with 1\n", Retry, "Read timed out"},
		"mlflow, and then a word":     {mlflow + "FAILED\n", Retry, "Read timed out"},
		"comet, and then a wrapper":   {comet + "error: run.sh: python exited with 1\n", Retry, "Read timed out"},
		"wandb's exception":           {"error: no GPU metrics\nwandb.errors.CommError: Run initialization has timed out after 90.0 sec\n", Retry, "timed out"},
		"a message that wandb ends":   {strings.Replace(scale, "loss scale went to zero", "init failed:", 1) + "wandb: Network error: Read timed out\n", Retry, "timed out"},
		"a message, and then wandb":   {scale + "wandb: Network error: Read timed out\n", Fatal, "loss scale went to zero"},
		"somebody else's logger":      {plain + another, Retry, "Read timed out"},
		"a message that goes on":      {scale + "the server said: Read timed out.\n", Retry, "Read timed out"},
		"the data, and then tracking": {"ERROR: dial tcp 10.0.0.7:80: connection refused\n" + comet, Retry, "connection refused"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestLastAttempt tells the last of several tries from one after which there is another.
func TestLastAttempt(t *testing.T) {
	for output, want := range map[string]Verdict{
		"Last attempt failed: connection refused\n":                                            Retry,
		"Last attempt failed: connection refused, retrying\nconfig error: no dataset\n":        Fatal,
		"npm ERR! request failed, reason: getaddrinfo ENOTFOUND registry.example.com\n":        Retry,
		"error: org.acme.FileNotFound: cannot open conf.xml\n":                                 Fatal,
		"npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://registry.example.com/left\n": Fatal,
	} {
		o := exited(1)
		o.Output = []byte(output)
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("%q: %s by %q: %s", output, f.Verdict, f.Rule, f.Message)
		}
	}
}

// TestThrown has C++ say what it ended of: a condition that a family knows is named, and nothing becomes fatal by that.
func TestThrown(t *testing.T) {
	for what, want := range map[string]struct {
		reason string
		role   Role
	}{
		"parallel_for failed: cudaErrorIllegalAddress: an illegal memory access was encountered": {"CUDAError", RoleRoot},
		"radix_sort: failed on 2nd step: cudaErrorLaunchFailure: unspecified launch failure":     {"CUDAError", RoleRoot},
		"read: Connection reset by peer": {ReasonPeerLost, RoleCascade},
		"something":                      {"Aborted", RoleCascade},
		"filesystem error: cannot open file: [Errno 2] No such file or directory [/data/x.bin]": {"Aborted", RoleCascade},
		"std::bad_alloc: cudaErrorMemoryAllocation: out of memory":                              {"Aborted", RoleCascade},
	} {
		o := Outcome{Rank: -1, LocalRank: -1, Status: Status{Signal: sigabrt}}
		o.Output = []byte("terminate called after throwing an instance of 'thrust::system::system_error'\n  what():  " + what + "\n")
		f := Judge(o, BuiltinRules())
		if f.Verdict != Retry || f.Code != CodeSignalBase+sigabrt || f.Reason != want.reason || f.Role != want.role || !strings.Contains(f.Evidence, what) {
			t.Errorf("%s: %s %d %s %v: %s", what, f.Verdict, f.Code, f.Reason, f.Role, f.Message)
		}
	}
}

// TestBoxedBeforeACrash has rich print the exception of which the program had ended when it crashed on its way out, and one
// that was caught.
func TestBoxedBeforeACrash(t *testing.T) {
	for where, want := range map[string]Verdict{"<module>": Fatal, "fetch": Retry} {
		o := Outcome{Rank: -1, LocalRank: -1, Status: Status{Signal: sigabrt}}
		o.Output = []byte("╭───────── Traceback (most recent call last) ─────────╮\n" +
			"│ /app/train.py:31 in " + where + "                             │\n" +
			"│ ❱ 31 │   raise ValueError('bad')                       │\n" +
			"╰──────────────────────────────────────────────────────╯\n" +
			"ValueError: heads must divide hidden\n" +
			"terminate called without an active exception\n")
		if f := Judge(o, BuiltinRules()); f.Verdict != want {
			t.Errorf("in %s: %s by %q: %s", where, f.Verdict, f.Rule, f.Message)
		}
	}
}
