package exitcodes

import (
	"strings"
	"testing"
)

// TestEscapedStack has tracebacks that stand within a line, as torch and programs print what they have recorded.
func TestEscapedStack(t *testing.T) {
	frame := `Traceback (most recent call last):\n  File \"/app/t.py\", line 3, in f\n    read(\"a\")\n`
	reset := frame + `ConnectionResetError: [Errno 104] Connection reset by peer\n`
	odd := frame + `RuntimeError: the shard cannot be read\n`
	object := func(stack string) string {
		return "[ERROR] error_handler: {\n  \"message\": {\n    \"message\": \"RuntimeError: the shard cannot be read\",\n    \"extraInfo\": {\n" +
			"      \"py_callstack\": \"" + stack + "\",\n      \"timestamp\": \"1714557600\"\n    }\n  }\n}\n"
	}
	for name, tt := range map[string]struct {
		output string
		want   Verdict
		says   string
	}{
		"an object over several lines": {object(odd), Fatal, "exited 1: RuntimeError: the shard cannot be read"},
		"with a chain":                 {object(reset + `\n` + chainedContext + `:\n\n` + odd), Retry, "Connection reset by peer"},
		"in one line":                  {`{"message": {"message": "RuntimeError: the shard cannot be read", "extraInfo": {"py_callstack": "` + reset + `\n` + chainedContext + `:\n\n` + odd + `", "timestamp": "1"}}}` + "\n", Retry, "Connection reset by peer"},
		"cut off":                      {"      \"py_callstack\": \"" + reset + `\n` + chainedCause + `:\n\n` + frame, Retry, "Connection reset by peer"},
		"as Python quotes it":          {"RemoteError: 'Traceback (most recent call last):\\n  File \"/app/t.py\", line 3, in f\\n    f()\\nConnectionResetError: [Errno 104] Connection reset by peer\\n'\n", Retry, "Connection reset by peer"},
	} {
		o := exited(1)
		o.Output = []byte(tt.output)
		if f := Judge(o, BuiltinRules()); f.Verdict != tt.want || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, f.Verdict, f.Message, tt.want, tt.says)
		}
	}
	for text, want := range map[string]string{
		`a\nb"c`: "a\nb", `a\"b"`: `a"b`, `a\`: `a\`, `it's`: "it's", "": "",
	} {
		if got := unescaped([]byte(text), '"'); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
