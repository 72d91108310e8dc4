// Package mutants takes single lines out of the rounds, one at a time, and wants a test to turn red for each.
package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness/mutant"
)

// Each mutant is one promise that is not kept. Its tests are those that run with it in the usual time.
var mutants = []struct{ name, file, old, new, packages string }{
	{
		"the leader does not compare", "agent/leader_write.go",
		"If: []store.Cond{l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)}", "", "./agent",
	},
	{
		"the leader compares its election only", "agent/leader_write.go",
		"l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)", "l.held.Held()", "./agent",
	},
	{
		"a node acknowledges before its workers are gone", "agent/order.go",
		"	n.order(Order{Stop: stop})\n", "	n.order(Order{Stop: stop})\n	n.gone(step.Round, rendezvous.Outcome{}, nil)\n", "./agent",
	},
	{
		"a node concludes a round while a worker of it runs", "../supervisor/node/exit.go",
		"		if !w.judged {\n			return\n", "		if !w.judged {\n			continue\n", "./agent ../supervisor/node",
	},
	{
		"the start guard is dropped by the node", "react.go",
		"case s.Guard.Expired(at):\n		return Step{Do: ActWait", "case false:\n		return Step{Do: ActWait", ". ./agent",
	},
	{
		"the start guard is dropped by the agent", "agent/agent.go",
		"return int64(a.clock()) < a.mayStart.Load()", "return true", "./agent",
	},
	{
		"a stop is forgotten while the store does not answer", "react.go",
		"	case s.Guard.Expired(at):\n		return hurry(", "	case false:\n		return hurry(", ". ./agent",
	},
	{
		"a lease is taken over without proof", "agent/writer.go",
		"case own.Leased:", "case false:", "./agent",
	},
	{
		"any newcomer revokes the lease before it", "fence.go",
		"return newcomer.BootID != \"\" && newcomer.PIDNS != \"\" &&", "return true || ", "./agent",
	},
	{
		"any newcomer proves a death", "fence.go",
		"if newcomer.Unique && m.Unique {", "if true {", ". ./agent",
	},
	{
		"the budget is never charged", "budget.go",
		"	b.Used++\n	b.Total++\n", "", ".",
	},
	{
		"the resume vote ignores a node", "resume.go",
		"		own := slices.Clone(n.Checkpoints.Steps)\n", "		own := slices.Clone(n.Checkpoints.Steps)\n		if n.name == nodes[len(nodes)-1].name {\n			own = slices.Clone(nodes[0].Checkpoints.Steps)\n		}\n", ".",
	},
	{
		"a late event is accepted", "agent/link.go",
		"u.Rev <= n.readRev && u.Token == n.reading.Store", "false", "./agent",
	},
	{
		"a node does not compare what it knows", "agent/node.go",
		"			n.compare()\n", "", "./agent",
	},
	{
		"a fault is counted at every look", "bans.go", "h != nil && f.Round <= h.Round", "false", ".",
	},
	{
		"a ban keeps nobody out", "bans.go",
		"func(c named) bool { return slices.Contains(banned, c.HostName()) })", "func(c named) bool { return false })", ".",
	},
	{
		"a whole fleet is banned", "bans.go", "list[:min(len(list), max(1, t.hostsSeen()/bannedShare))]", "list", ".",
	},
	{
		"a round of any size", "assign.go", "n := spec.Size(len(sorted))",
		"n := min(len(sorted), spec.MaxNodes)\n	if n < spec.MinNodes {\n		n = 0\n	}", ".",
	},
	{
		"a deleted key is a death", "fence.go",
		"if t.Candidates[CandidateName(m.Name, m.Incarnation)] &&", "if false &&", ".",
	},
	{
		"the leader decides beyond what it has proven", "agent/leader.go",
		"now, l.asked = l.asked, time.Time{}", "l.asked = time.Time{}", "./agent",
	},
	{
		"the leader asks again and again", "agent/leader.go",
		"if l.asked.IsZero() {", "if true {", "./agent",
	},
	{
		"a later round is not looked for", "agent/node.go",
		"r != nil && r.Number == j.Round && r.RunUID == j.RunUID", "r != nil", "./agent",
	},
	{
		"a restored backup is charged", "running.go",
		"if t.wentBack() {", "if false {", ". ./agent",
	},
	{
		"a number is given twice", "forming.go",
		"j.NextRound = t.nextRound()", "_ = t.nextRound", ". ./agent",
	},
	{
		"a failed compare shows nothing", "agent/leader.go",
		"l.view.JobRev == r.jobRev", "false", "./agent",
	},
}

// TestEveryMutantFits: a line that has changed can be taken out no more, and whoever changes it is to hear that at once.
func TestEveryMutantFits(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) { mutant.Overlay(t, filepath.Join("..", m.file), m.old, m.new) })
	}
	for _, m := range removed {
		t.Run(m.name, func(t *testing.T) { mutant.Overlay(t, filepath.Join("..", m.file), m.old, m.new) })
	}
}

func TestEveryMutantIsFound(t *testing.T) {
	if os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("takes minutes: make test-long")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			overlay := mutant.Overlay(t, filepath.Join("..", m.file), m.old, m.new)
			args := append([]string{"test", "-count=1", "-failfast", "-timeout", "2m", "-overlay", overlay}, strings.Fields(m.packages)...)
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "GANGRUN_TEST_LONG=") // it is to be found in the usual time
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("no test turns red")
			}
			red := ""
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "--- FAIL: ") {
					red += " " + strings.Fields(line)[2]
				}
			}
			if red == "" {
				t.Fatalf("it does not even run:\n%s", out)
			}
			t.Logf("found by%s", red)
		})
	}
}
