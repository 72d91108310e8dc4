package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEveryKeyInEveryPhase deletes each kind of key by hand, or writes garbage into it, in each phase of a job that has
// a failure, with many nodes and with few. The promises hold whatever it is: no two rounds at once, one verdict, and
// the job comes to its end. Of what matters to a node somebody speaks.
func TestEveryKeyInEveryPhase(t *testing.T) {
	const says = "was deleted|was overwritten|cannot be used|has changed since|reappeared|rereading everything|held nothing that could be used"
	phases := map[string]time.Duration{
		"forming": 500 * time.Millisecond, "running": 12 * time.Second, "stopping": 20*time.Second + 300*time.Millisecond,
		"running again": 30 * time.Second,
	}
	spoken := map[string]bool{ // of one that nobody reads there is nothing to say
		"delete: node": true, "garbage: node": true, "delete: job": true, "garbage: job": true, "delete: round": true,
		"garbage: round": true, "garbage: command": true,
	}
	for _, n := range []int{3, 18} { // 18: their members are in a list
		for _, key := range []string{"job", "round", "list", "node", "candidate", "progress", "host", "command"} {
			for _, what := range []string{"delete", "garbage"} {
				for phase, at := range phases {
					if testing.Short() && phase != "stopping" {
						continue
					}
					kind := what + ": " + key
					t.Run(fmt.Sprintf("%d nodes/%s/%s", n, kind, phase), func(t *testing.T) {
						c := simConfig{seed: int64(n), n: n, min: n, faults: []fault{
							{at: 20 * time.Second, kind: "fail", node: 1}, {at: at, kind: kind, node: 1, long: 10 * time.Second},
						}}
						s := run(t, c)
						if s.wrong != "" {
							report(t, c, s)
						}
						if phase != "running" || !spoken[kind] {
							return
						}
						log := strings.Join(s.log, "\n")
						for some := range strings.SplitSeq(says, "|") {
							if strings.Contains(log, some) {
								return
							}
						}
						t.Errorf("nobody says anything of it:\n%s", log)
					})
				}
			}
		}
	}
}
