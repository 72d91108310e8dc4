package exitcodes

import (
	"strings"
	"testing"
)

// TestUserCode has an exception that only heads those of the program's own code.
func TestUserCode(t *testing.T) {
	const (
		head  = "Traceback (most recent call last):\n  File \"/app/train.py\", line 7, in <module>\n    model.fit(data)\n"
		quote = "    /v/keras/engine/training.py:805 train_function\n        return step_function(self, iterator)\n    File \"/app/model.py\", line 3, in call  *\n        y = self.read(x)\n"
	)
	for name, tt := range map[string]struct {
		printed string
		verdict Verdict
		says    string
	}{
		"shapes":            {head + "ValueError: in user code:\n\n" + quote + "\n    ValueError: Dimensions must be equal, but are 14 and 16\n\n", Fatal, "are 14 and 16"},
		"a lost peer":       {head + "ConnectionResetError: in user code:\n\n" + quote + "\n    ConnectionResetError: [Errno 104] Connection reset by peer\n\n", Retry, reset},
		"its end cut off":   {head + "ValueError: in user code:\n\n" + quote, Fatal, "in user code"},
		"with more to say":  {head + "ValueError: in user code:\n\n" + quote + "\n    ValueError: Exception encountered when calling layer \"c\".\n    \n    no such axis\n\n    Call arguments received:\n      x=1\n", Fatal, "layer \"c\""},
		"and then another":  {head + "ValueError: in user code:\n\n" + quote + "\n    ValueError: no such axis\n\n" + chainedContext + ":\n\n" + head + "TimeoutError: the store did not answer\n", Retry, "did not answer"},
		"followed by prose": {head + "ValueError: in user code:\n\n" + quote + "\n    ValueError: no such axis\nbye\n", Fatal, "no such axis"},
	} {
		f := Judge(exited(1).printing("Loading run.yaml\n"+tt.printed), BuiltinRules())
		if f.Verdict != tt.verdict || !strings.Contains(f.Evidence, tt.says) {
			t.Errorf("%s: %s by %q: %s", name, f.Verdict, f.Rule, f.Message)
		}
	}
}
