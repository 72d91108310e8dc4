package exitcodes

import (
	"testing"
	"time"
)

// TestStoppedRanksErrorFile reads what torch recorded of a rank that had failed and was stopped before it ended: its output may
// go somewhere else.
func TestStoppedRanksErrorFile(t *testing.T) {
	stop := noon.Add(700 * time.Millisecond)
	for _, tt := range []struct {
		name, exception string
		at              time.Time
		output          string
		evidence        string // empty: it had said nothing
	}{
		{"a bug, seconds before", badHeads, noon.Add(-3 * time.Second), "step 1\n", badHeads},
		{"a bug, seconds before, and no output", badHeads, noon.Add(-3 * time.Second), "", badHeads},
		{"what nothing knows, seconds before", "RuntimeError: the moon is full", noon.Add(-3 * time.Second), "step 1\n", "RuntimeError: the moon is full"},
		{"a bug in the second of the stop", "KeyError: 'x'", noon, "step 1\n", "KeyError: 'x'"},
		{"what nothing knows in the second of the stop", "RuntimeError: asked to go", noon, "step 1\n", ""},
		{"after the stop", "KeyError: 'x'", noon.Add(time.Second), "step 1\n", ""},
		{"an echo", reset, noon.Add(-3 * time.Second), "step 1\n", ""},
		{"a signal", "SignalException: Process 7 got signal: 15", noon.Add(-3 * time.Second), "", ""},
		{"of an incarnation before", badHeads, noon.Add(-2 * time.Hour), "step 1\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Outcome{Rank: 3, LocalRank: 3, Status: Status{Signal: sigterm}, Stop: StoppedByGang, StoppedAt: stop, At: stop,
				StartedAt: noon.Add(-time.Hour), Output: []byte(tt.output), ErrorFile: recorded(tt.exception, tt.at, 0)}
			said := Judge(o, BuiltinRules()).Said
			switch {
			case said == nil && tt.evidence == "":
			case said == nil:
				t.Error("it had said nothing")
			case said.Evidence != tt.evidence || said.Verdict != Fatal || said.Rank != 3:
				t.Errorf("rank %d, %s by %q", said.Rank, said.Verdict, said.Evidence)
			}
		})
	}
}
