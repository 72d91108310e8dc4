// Package check decides whether a job that was broken on purpose kept what is promised. It knows nothing of how: it
// reads what the workers wrote down, what was done, the exit codes and the termination messages, and nothing else.
package check

import (
	"fmt"

	"github.com/gangrun/gangrun/test/chaos/history"
)

var rules = []struct {
	name  string
	check func(*view) []string
}{
	{"R1: one round at a time", oneRound},
	{"R1: a rank starts once in a round", oneStart},
	{"R2: nothing of another round", nothingStale},
	{"R2: the job's record goes on from the one before", goesOn},
	{"R4: one resume point", oneResumePoint},
	{"no saved step is lost", nothingLost},
	{"R4: what a round begins at is on all disks", onAllDisks},
	{"R7: ranks are stable", stableRanks},
	{"R3: one verdict", oneVerdict},
	{"R5: local trouble stays local", local},
	{"a stop is obeyed", obeyed},
	{"R6: workers stop in time without the store", stopInTime},
	{"R6: a short outage stops nobody", outageStopsNobody},
	{"the same loss", sameLoss},
	{"nothing is left", nothingLeft},
	{"it comes to its end", comesToAnEnd},
}

// Check returns what went wrong, each with the rule's name.
func Check(j history.Job) (wrong []string) {
	v := newView(j)
	for _, r := range rules {
		found := r.check(v)
		for _, text := range found[:min(len(found), 5)] {
			wrong = append(wrong, r.name+": "+text)
		}
	}
	return wrong
}

func who(r history.Record) string {
	return fmt.Sprintf("rank %d of round %d (%s, its gangrun %d)", r.Rank, r.Round, r.Node, r.Pod)
}

func at(r history.Record) string { return fmt.Sprint("step ", r.Step) }
