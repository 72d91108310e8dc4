package mutants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness/mutant"
)

// removed are the mechanisms of which docs/rounds.md tells what happens without: each with what the simulator says when
// it runs the schedule of that name (agent/simulate_schedules_test.go).
var removed = []struct{ name, says, file, old, new string }{
	{"the fence is not waited for", "R1", "fence.go", "case !t.now.Before(r.until):", "case true:"},
	{"a stop is forgotten while the store does not answer", "R1", "react.go",
		"	case s.Guard.Expired(at):\n		return hurry(", "	case false:\n		return hurry("},
	{"the start guard is dropped", "R1", "guard.go",
		"return max(g.GoneBy()-g.StopTime, g.Sent) }", "return 1 << 62 }"},
	{"news from before a lease count with it", "R1", "agent/order.go",
		"return n.link.lease != nil && (w.rejoin || w.under != n.link.lease)", "return w == nil"},
	{"a node acknowledges before its workers are gone", "R1", "agent/order.go",
		"	n.order(Order{Stop: stop})\n", "	n.order(Order{Stop: stop})\n	n.gone(step.Round, rendezvous.Outcome{}, nil)\n"},
	{"any newcomer proves a death", "R1", "fence.go", "if newcomer.Unique && m.Unique {", "if true {"},
	{"a lease is taken over without proof", "R1", "agent/writer.go", "case own.Leased:", "case false:"},
	{"the leader does not compare", "R7", "agent/leader_write.go",
		"If: []store.Cond{l.held.Held(), store.Unchanged(jobKey, l.view.JobRev)}}\n	header, err", "}\n	header, err"},
	{"a node does not compare what it knows", "no progress", "agent/node.go", "			n.compare()\n", ""},
	{"a deleted record is not put back", "R2", "agent/restore.go", "	if newest == nil || ", "	if true || "},
	{"a new store is trusted at once", "R1", "forming.go",
		"if t.now.Before(until) && !t.wholeGang(candidates) {", "if false && t.now.Before(until) {"},
	{"a look from before the stop counts", "R4", "resume.go",
		"case c == nil || c.Asked < t.job.SinceSeq || c.Asked > t.job.Seq:", "case c == nil:"},
	{"a list of members comes after its round", "round 0 names members that are not there", "agent/leader_write.go",
		"	txn.Then = append(txn.Then, store.Put(named, value))\n	return header, nil\n",
		"	late, _ := context.WithTimeout(l.ctx, writeTime)\n	context.AfterFunc(late, func() {\n" +
			"		_, _ = l.store.Commit(l.ctx, store.Txn{Then: []store.Op{store.Put(named, value)}})\n	})\n	return header, nil\n"},
	{"nobody waits for the last call", "too few", "forming.go", "	if wait == 0 {\n", "	if true {\n"},
}

// TestEachScheduleIsRed removes one mechanism after the other: the schedule that docs/rounds.md tells of has to break
// what the page says.
func TestEachScheduleIsRed(t *testing.T) {
	if os.Getenv("GANGRUN_TEST_LONG") == "" {
		t.Skip("takes minutes: make test-long")
	}
	for _, m := range removed {
		t.Run(m.name, func(t *testing.T) {
			overlay := mutant.Overlay(t, filepath.Join("..", m.file), m.old, m.new)
			pattern := "^TestSchedules$/^" + strings.ReplaceAll(m.name, " ", "_") + "$"
			cmd := exec.CommandContext(t.Context(),
				"go", "test", "-count=1", "-timeout", "2m", "-overlay", overlay, "-run", pattern, "./agent")
			cmd.Dir = ".."
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatal("it goes well all the same")
			}
			if !strings.Contains(string(out), " "+m.says) || !strings.Contains(string(out), "VIOLATION") {
				t.Errorf("it does not say %q:\n%.2000s", m.says, out)
			}
		})
	}
}
