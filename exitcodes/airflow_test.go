package exitcodes

import "testing"

// TestAirflow has lines as Airflow logs them, in both forms of its time: what stands before the words is taken off, and an outcome is known for one.
func TestAirflow(t *testing.T) {
	for _, head := range []string{"[2022-03-25, 19:09:45 IST] {taskinstance.py:1700} ", "[2022-03-25T19:09:45.123+0000] {taskinstance.py:1700} "} {
		lines := readLines([]byte(head+"ERROR - Task failed with exception\n"+head+"INFO - {a: 1} is kept\n{a.py:1} is nobody's\n"), newMeter(1<<16))
		if len(lines) != 3 || lines[0].shown() != "Task failed with exception" || lines[0].level != levelError || lines[0].clock.IsZero() {
			t.Fatalf("%q: %+v", head, lines)
		}
		if lines[1].shown() != "{a: 1} is kept" || lines[2].shown() != "{a.py:1} is nobody's" {
			t.Errorf("%q and %q", lines[1].shown(), lines[2].shown())
		}
		f := Judge(exited(1).printing(head+"ERROR - connection refused by the store\n"+head+"ERROR - Task failed with exception\n"), BuiltinRules())
		if f.Verdict != Retry || f.Evidence != "connection refused by the store" {
			t.Errorf("%s: %s", f.Verdict, f.Message)
		}
	}
}
