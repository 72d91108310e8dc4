package exitcodes

import "testing"

// judged judges a program that exits with 1 after it has printed that.
func judged(output string) Finding {
	o := exited(1)
	o.Output = []byte(output)
	return Judge(o, BuiltinRules())
}

// printed is what such a program has printed, and what that has to be taken for.
type printed struct {
	output string
	want   Verdict
}

func wantVerdicts(t *testing.T, rows map[string]printed) {
	t.Helper()
	for name, row := range rows {
		if f := judged(row.output); f.Verdict != row.want {
			t.Errorf("%s: %s by %s: %s, want %s", name, f.Verdict, f.Rule, f.Message, row.want)
		}
	}
}
