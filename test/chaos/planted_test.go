package chaos_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/mutant"
)

// planted are promises that are broken in gangrun itself, one at a time.
var planted = []struct{ name, file, old, new string }{
	{
		"a node acknowledges before its workers are gone", "rendezvous/agent/order.go",
		"	n.order(Order{Stop: stop})\n", "	n.order(Order{Stop: stop})\n	n.gone(step.Round, rendezvous.Outcome{}, nil)\n",
	},
	{
		"the resume vote ignores a node", "rendezvous/resume.go",
		"		own := slices.Clone(n.Checkpoints.Steps)\n",
		"		own := slices.Clone(n.Checkpoints.Steps)\n		if n.name == nodes[len(nodes)-1].name {\n" +
			"			own = slices.Clone(nodes[0].Checkpoints.Steps)\n		}\n",
	},
	{
		"the leader does not compare", "rendezvous/agent/leader_write.go",
		"If: []store.Cond{l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)}", "",
	},
	{
		"a stop is forgotten while the store does not answer", "rendezvous/react.go",
		"	case s.Guard.Expired(at):\n		return hurry(", "	case false:\n		return hurry(",
	},
}

// plantedFaults is how many faults each has to be found within.
const plantedFaults = 200

// TestPlantedFits: what has changed since cannot be planted any more, and whoever changes it is to hear that at once.
func TestPlantedFits(t *testing.T) {
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) { mutant.Overlay(t, filepath.Join(harness.Root(), p.file), p.old, p.new) })
	}
}

// TestPlanted plants each, and wants a job to go wrong.
func TestPlanted(t *testing.T) {
	if os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("takes minutes: make test-long")
	}
	c := newCrew(t, false)
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			c := *c
			c.t, c.binary = t, build(t, mutant.Overlay(t, filepath.Join(harness.Root(), p.file), p.old, p.new))
			first := max(*seedFlag, 1)
			all := c.play(first, func(all *tally) bool {
				return len(all.wrong) > 0 || (all.jobs+1)*(faultsOf+1) > plantedFaults
			})
			if len(all.wrong) == 0 {
				t.Fatalf("not found: %v", all)
			}
			found := all.wrong[0]
			t.Logf("found by seed %d, within %d faults: %s", found.seed, int(found.seed-first+1)*(faultsOf+1), strings.Join(found.wrong, "\n"))
		})
	}
}
