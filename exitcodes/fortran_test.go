package exitcodes

import "testing"

// A process that exits with the number of a Fortran error has stopped for it.
func TestEndedInFortran(t *testing.T) {
	const killed = "\n===================================================================================\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 1 PID 7 RUNNING AT n1\n=   KILLED BY SIGNAL: 9 (Killed)\n===================================================================================\n"
	for name, tt := range map[string]struct {
		code    int
		output  string
		verdict Verdict
		line    string
	}{
		"a format":            {61, "forrtl: severe (61): format/variable-type mismatch, unit 6, file /d/input_0.out" + killed, Fatal, "forrtl: severe (61): format/variable-type mismatch, unit 6, file /d/input_0.out"},
		"a file system":       {38, "forrtl: severe (38): error during write, unit 6: Stale file handle" + killed, Retry, "forrtl: severe (38): error during write, unit 6: Stale file handle"},
		"not by that number":  {9, "forrtl: severe (61): format/variable-type mismatch, unit 6, file /d/input_0.out" + killed, Retry, "=   KILLED BY SIGNAL: 9 (Killed)"},
		"by the rank's death": {9, "step 1" + killed, Retry, "=   KILLED BY SIGNAL: 9 (Killed)"},
	} {
		if f := Judge(exited(tt.code).printing(tt.output), BuiltinRules()); f.Verdict != tt.verdict || f.Evidence != tt.line {
			t.Errorf("%s: %s by %q: %q", name, f.Verdict, f.Rule, f.Evidence)
		}
	}
}
