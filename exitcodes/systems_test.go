package exitcodes

import "testing"

// TestSystems has the wordings of testdata/systems.tsv, which are the numbers, names and texts of operating systems, libraries and
// services by their own lists, end a process with code 1: as the last line, raised by an exception of an unknown class,
// and logged as an error. Who prints them does not matter.
func TestSystems(t *testing.T) {
	const begin = "Loading configuration from run.yaml\nModel has 124000000 parameters\n"
	count := map[string]int{}
	for _, field := range table(t, "systems.tsv", 3) {
		verdict, text := Verdict(field[0]), unfolded.Replace(field[2])
		count[field[0]]++
		for how, printed := range map[string]string{
			"last":   begin + text,
			"raised": begin + "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\ntrainlib.errors.BackendFailure: " + text,
			"logged": begin + "2026-11-26 08:12:33,120 ERROR trainer.main: " + text,
		} {
			if f := Judge(exited(1).printing(printed+"\n"), BuiltinRules()); f.Verdict != verdict {
				t.Errorf("%s by %q, want %s: %s, %s: %s", f.Verdict, f.Rule, verdict, field[1], how, field[2])
			}
		}
	}
	if count["retry"] < 500 || count["fatal"] < 300 {
		t.Errorf("only %v", count)
	}
}
