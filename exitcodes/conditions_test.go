package exitcodes

import "testing"

// TestConditions has the wordings of testdata/conditions.tsv end a process with code 1, as the sources of the programs named
// there print them ("seen": as that program has printed them for us): conditions that pass, and beside them what the same
// programs say of a request that will fail again. Each is raised by a script, or is the last that was printed.
func TestConditions(t *testing.T) {
	const frames = "Traceback (most recent call last):\n  File \"/app/train.py\", line 77, in <module>\n    main()\n  File \"/app/train.py\", line 33, in main\n    batch = fetch(item)\n"
	count := map[string]int{}
	for _, field := range table(t, "conditions.tsv", 4) {
		verdict, how, text := Verdict(field[0]), field[1], unfolded.Replace(field[3])
		count[field[0]+" "+how]++
		printed := "Loading configuration from run.yaml\nModel has 124000000 parameters\n"
		if how == "raised" {
			printed += frames
		}
		f := Judge(exited(1).printing(printed+text+"\n"), BuiltinRules())
		if f.Verdict != verdict {
			t.Errorf("%s by %q, want %s: %s: %s", f.Verdict, f.Rule, verdict, field[2], field[3])
		}
	}
	for _, kind := range []string{"retry raised", "retry last", "fatal raised", "fatal last"} {
		if count[kind] < 30 {
			t.Errorf("only %d of %q", count[kind], kind)
		}
	}
}
