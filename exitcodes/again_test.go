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
