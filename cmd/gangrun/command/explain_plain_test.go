package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainedAreOthersWords: a termination message and a log are whatever a worker has written. Shown to a person, they do
// not steer the terminal.
func TestExplainedAreOthersWords(t *testing.T) {
	const message = `{"v":1,"verdict":"fatal","reason":"E\u001b[2J","message":"a\u001b]0;x\u0007\rb","exitCode":3,"node":"n\u202e",` +
		`"rootCause":{"node":"n\u009b2J","reason":"E","exitCode":3,"evidence":"x\u001b[2J"},"logTail":"one\n\ttwo\u001b[2J\r"}`
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("Traceback (most recent call last):\nValueError: \x1b[2J\u202e bad\u2028\r\xff\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		explaining
		args []string
		says string
	}{
		"a message": {args: []string{message}, says: "    one\n    \ttwo\\x1b[2J\\r\n"},
		"a log":     {explaining: explaining{log: log, code: 1}, says: `\u202e bad`},
	} {
		var out bytes.Buffer
		if err := x.explain(newExplainer(&out, false), x.args); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), "\x1b\a\r\u009b\u202e\u2028") {
			t.Errorf("%s: %q", what, out.String())
		}
		if !strings.Contains(out.String(), x.says) {
			t.Errorf("%s: %q is not in %s", what, x.says, out.String())
		}
	}
}
