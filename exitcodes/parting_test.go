package exitcodes

import (
	"strings"
	"testing"
)

// TestNotTheLastWord has a line about a condition that passes, which something else follows: that ended the program.
func TestNotTheLastWord(t *testing.T) {
	const refused = "metrics: connection refused\n"
	for name, output := range map[string]string{
		"what it asks for":             refused + "Please set --data-dir\n",
		"an error":                     refused + "Unable to open the config\n",
		"what is missing":              refused + "Cannot find column label in train.csv\n",
		"a level without a colon":      refused + "ERROR Cannot find column label in train.csv\n",
		"the same level":               "ERROR connection refused\nERROR Cannot find column label in train.csv\n",
		"a time and a level":           refused + "[2026-01-01 10:00:00] CRITICAL Cannot find column label in train.csv\n",
		"an exclamation":               refused + "Error! the label column is not found\n",
		"fatal":                        refused + "Fatal error occurred in the reader\n",
		"a key":                        refused + "Invalid API key. Log in with `wandb login`\n",
		"logfmt":                       "time=2026-01-01T10:00:00Z level=error msg=\"push metrics: connection refused\"\ntime=2026-01-01T10:00:01Z level=error msg=\"bad value for lr\"\n",
		"logfmt without times":         "level=error msg=\"push metrics: connection refused\"\nlevel=error msg=\"bad value for lr\"\n",
		"Go's log":                     "2026/01/01 10:00:00 push metrics: connection refused\n2026/01/01 10:00:01 bad value for lr\n",
		"Go's log of another":          "2026/01/01 10:00:00 push metrics: connection refused\n2026/01/01 10:00:01 lr: bad value\n",
		"klog":                         "E0101 10:00:00.000000 1 push.go:12] push metrics: connection refused\nF0101 10:00:01.000000 1 main.go:12] bad value for lr\n",
		"an option":                    refused + "Missing required option --data\n",
		"a model":                      "failed to push metrics: Post \"http://pg:9091\": dial tcp 10.0.0.1:9091: connect: connection refused\nUnknown model: resnet99\n",
		"no files":                     refused + "No training files found in /data/train\n",
		"no number":                    "heartbeat: connection reset by peer\nLoss is NaN, stopping training\n",
		"a size":                       "kafka: connection reset by peer\nVocabulary size mismatch 32000 vs 50257\n",
		"the GPUs":                     refused + "Requested 8 GPUs but only 4 are visible\n",
		"a config":                     "tracker: HTTP 503 service unavailable\nThe config has no model section\n",
		"a tracker it gave up":         "WARNING giving up after 3 tries on optional tracker: connection refused\nMissing column label\n",
		"a tracker it goes on without": "WARNING tracker: giving up after 3 tries: connection refused, continuing without it\nbad config given in line 4\n",
		"a tracker, later":             "giving up after 3 tries: connection refused, tracking is disabled\n",
		"urllib3's last try":           "WARNING:urllib3.connectionpool:Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError: Connection refused': /api/metrics\nNo data in /data\n",
		"a first attempt":              "First attempt to download failed: connection refused\nSecond attempt to download worked\nWrong vocabulary given\n",
		"a first attempt alone":        "First attempt to download failed: connection refused\n",
		"the previous attempt":         "previous attempt to push metrics failed: connection timed out\n",
		"long before a wrapper":        "2026-01-01 10:00:00 tracker: connection timed out\n2026-01-01 10:00:01 evaluating all of it now\n2026-01-01 14:00:00 Bad arguments given\n" + stamped,
		"hours of silence":             "2026-01-01 10:00:00 tracker: connection timed out\n" + stamped,
		"before a wrapper's":           refused + "Bad arguments given\n" + childExit,
		"hours before a usage text":    "2026-01-01 10:00:00 tracker: connection timed out\n2026-01-01 14:00:00 INFO leaving\n",
	} {
		o := exited(1)
		o.Output = []byte(output)
		if f := Judge(o, BuiltinRules()); f.Verdict != Fatal {
			t.Errorf("%s: %s by %s: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
	for name, output := range map[string]string{
		"it gave up":         "giving up after 3 tries: connection refused\n",
		"alone":              refused,
		"before a wrapper":   refused + childExit,
		"seconds before one": "2026-01-01 13:59:58 tracker: connection timed out\n" + stamped,
	} {
		o := exited(1)
		o.Output = []byte(output)
		if f := Judge(o, BuiltinRules()); f.Verdict != Retry {
			t.Errorf("%s: %s by %s: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

const (
	childExit = "Traceback (most recent call last):\n  File \"x.py\", line 2, in <module>\n" +
		"subprocess.CalledProcessError: Command '['python','prep.py']' returned non-zero exit status 2.\n"
	stamped = "2026-01-01 14:00:00 Traceback (most recent call last):\n2026-01-01 14:00:00   File \"x.py\", line 2, in <module>\n" +
		"2026-01-01 14:00:00 subprocess.CalledProcessError: Command '['python','prep.py']' returned non-zero exit status 2.\n"
)

// TestPortInUse has a program in Go end of a port that another still holds, and one that takes the next.
func TestPortInUse(t *testing.T) {
	const inUse = "2026/01/01 10:00:00 listen tcp :29500: bind: address already in use"
	if f := Judge(exited(1).printing("step 1", inUse), BuiltinRules()); f.Verdict != Retry || f.Reason != "AddressInUse" {
		t.Errorf("%s, %s by %q", f.Verdict, f.Reason, f.Evidence)
	}
	if f := Judge(exited(1).printing(inUse, "config: no such model"), BuiltinRules()); f.Verdict != Fatal {
		t.Errorf("%s, %s by %q", f.Verdict, f.Reason, f.Evidence)
	}
}

// TestSaidBefore has lines that tell of no reason, or of nothing that went wrong, come after the one that says why.
func TestSaidBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"a check of a call":         {"[20:58:02] src/van.cc:377: W[9] timeout waiting ack for message 8120; Connection timed out\n\nStack trace returned 8 entries:\n[bt] (0) libmxnet.so(ps::Van::Send(ps::Message const&)+0x2cd) [0x7ff1]\n\n[20:58:02] src/van.cc:291: Check failed: (bytes) != (-1) \n", Retry, "waiting ack"},
		"one that says more":        {"peer: Connection timed out\n[20:58:02] src/io.cc:291: Check failed: (fd) != (-1) cannot open train.rec\n", Fatal, ""},
		"one of what it was given":  {"peer: Connection timed out\n[20:58:02] src/io.cc:291: Check failed: shape.ndim() == 2 \n", Fatal, ""},
		"one of a count":            {"peer: Connection timed out\n[20:58:02] src/io.cc:291: Check failed: length > 0 \n", Fatal, ""},
		"what a script has deleted": {"timed out waiting for the condition on pods/a-worker-1\n+ kubectl delete mpijob a\nmpijob.kubeflow.org \"a\" deleted\n", Retry, "timed out waiting"},
		"what it could not delete":  {"timed out waiting for the condition on pods/a-worker-1\nmpijob.kubeflow.org \"a\" has no owner\n", Fatal, ""},
	} {
		f := Judge(exited(1).printing("step 7 loss 2.1\n"+tt.output), BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
