package exitcodes

import (
	"strings"
	"testing"
)

// TestSeveralRuns has a file hold several runs: the last one's end decides. Processes that run side by side are no such runs.
func TestSeveralRuns(t *testing.T) {
	const (
		begins = "Namespace(lr=0.1, layers=12)\nusing 8 devices of 80 GB\nreading the vocabulary\nthe model has 124000000 parameters\nloading 77 shards of data\nbuilding the optimizer\n"
		lost   = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    main()\nConnectionResetError: [Errno 104] Connection reset by peer\n"
		wrong  = "config.yaml: no such key: optimizer.lr_decay is invalid\n"
		failed = "Traceback (most recent call last):\n  File \"/app/train.py\", line 9, in <module>\n    main()\nValueError: heads must divide hidden\n"
	)
	later := strings.NewReplacer("0.1", "0.2", "77", "78").Replace(begins)
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
		says    string
	}{
		"the last one's words":           {begins + lost + later + wrong, Fatal, "lr_decay"},
		"the last one's exception":       {begins + lost + later + failed, Fatal, "heads must divide"},
		"the last one's lost peer":       {begins + failed + later + lost, Retry, "Connection reset"},
		"a last one that says nothing":   {begins + lost + later, Retry, "Connection reset"},
		"one run":                        {begins + lost + "closing the reader\n" + wrong, Retry, "Connection reset"},
		"side by side":                   {begins + later + lost + begins + wrong, Retry, "Connection reset"},
		"one that only begins like that": {begins + lost + "reading the vocabulary\nthe model has 7 parameters\n" + wrong, Retry, "Connection reset"},
	} {
		if f := judged(tt.output); f.Verdict != tt.verdict || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}

// What an attempt had ended of is over when a launcher or a script says that it starts the program again, if that ends of something, too.
func TestRestartTold(t *testing.T) {
	const bug = "Traceback (most recent call last):\n  File \"/app/train.py\", line 88, in <module>\n    main()\nValueError: Expected input batch_size (16) to match target batch_size (8).\n"
	const reset = "rsync: connection unexpectedly closed (9 bytes received so far) [sender]\n"
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
	}{
		"a script's":         {bug + "Restarting in 30 s (attempt 2 of 5)\n" + reset, Retry},
		"a number":           {bug + "[entrypoint] restart 1/3\n" + reset, Retry},
		"torchrun's":         {bug + "W0501 10:11:12.118000 402 torch/distributed/elastic/agent/server/api.py:900] [default] Worker group FAILED. 2/3 attempts left; will restart worker group\n" + reset, Retry},
		"nothing after it":   {bug + "Restarting in 30 s (attempt 2 of 5)\n", Fatal},
		"the same mistake":   {"could not fetch: connection refused\nRestarting in 30 s (attempt 2 of 5)\n" + bug, Fatal},
		"what is not to run": {bug + "not restarting: no attempts left\n" + reset, Fatal},
	} {
		if f := Judge(exited(1).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
