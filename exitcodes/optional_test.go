package exitcodes

import "testing"

// A module that the program does without is not why it ended, where something else is told later.
func TestOptionalModule(t *testing.T) {
	const missing = "Traceback (most recent call last):\n  File \"/app/x.py\", line 3, in <module>\n    import apex\nModuleNotFoundError: No module named 'apex'\n"
	const reset = "rsync: connection unexpectedly closed (9 bytes received so far) [sender]\n"
	for name, tt := range map[string]struct {
		output  string
		verdict Verdict
	}{
		"it does without":     {missing + "apex is not installed, using native layers\nloading data\n" + reset, Retry},
		"and dies of nothing": {missing + "apex is not installed, using native layers\nloading data\n", Fatal},
		"it ends of it":       {missing + "pulling weights for rank 3\n" + reset, Fatal},
	} {
		if f := Judge(exited(1).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
