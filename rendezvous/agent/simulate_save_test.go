package agent_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/node"
)

const (
	simStep  = 2 * time.Second  // of training
	simGrace = 20 * time.Second // that workers have which look at the file
)

// agreements are the steps at which all were to save, and at which they have.
type agreements struct {
	agreed  map[string]*rendezvous.Save
	savedAt map[string]map[string]int64 // by round and node
	all     map[string]time.Duration    // since when all members of a round have workers
}

// agreedOn holds the leader to it that a step is agreed on once.
func (s *sim) agreedOn(j *rendezvous.Job) {
	if j.Save == nil || !j.Save.Agreed || j.Phase != rendezvous.Running {
		return
	}
	id := roundID(j.Store, j.Round)
	if before := s.agreed[id]; before != nil && rendezvous.StopText(before.Step) != rendezvous.StopText(j.Save.Step) {
		s.violate("round %s was to save at %s, and now at %s", id, rendezvous.StopText(before.Step), rendezvous.StopText(j.Save.Step))
	}
	if s.agreed == nil {
		s.agreed = map[string]*rendezvous.Save{}
	}
	s.agreed[id] = j.Save
	s.say("round %s is to save at %s", id, rendezvous.StopText(j.Save.Step))
}

// tell is the file.
func (n *simNode) tell(e node.Tell) node.Event {
	n.s.say("%s: its workers are told %s", n.incarnation, e.Text)
	n.stopAt = e.Text
	return node.Told{Round: e.Round}
}

// trains lets the workers tell the steps that all members of the round make together, and look at the file after each.
func (n *simNode) trains(mine int) {
	s := n.s
	if n.started != mine || n.runs == "" || n.halting {
		return
	}
	if r := s.rounds[n.runs]; r != nil && s.begun[n.runs] >= len(r.Members) && s.all[n.runs] == 0 {
		if s.all == nil {
			s.all = map[string]time.Duration{}
		}
		s.all[n.runs] = s.now()
	}
	if since := s.all[n.runs]; since > 0 {
		n.at = max(n.at, int64((s.now()-since)/simStep))
	}
	at := n.at
	told := node.Report{Step: &at, Most: &at, MostAt: time.Now(), Looks: true}
	n.step(node.Reported{told, told})
	if stop, err := strconv.ParseInt(n.stopAt, 10, 64); n.stopAt != "" && (err != nil || n.at >= stop) {
		n.savesAndLeaves()
		return
	}
	n.later(simStep/4, func() { n.trains(mine) })
}

func (n *simNode) savesAndLeaves() {
	s := n.s
	s.say("%s: its workers save at step %d, and leave", n.incarnation, n.at)
	if s.savedAt == nil {
		s.savedAt = map[string]map[string]int64{}
	}
	if s.savedAt[n.runs] == nil {
		s.savedAt[n.runs] = map[string]int64{}
	}
	s.savedAt[n.runs][n.name] = n.at
	n.halting = true
	n.gone()
	n.step(node.Exited{Worker: 0, Status: exitcodes.Status{}, At: time.Now()})
	n.step(node.Exited{Worker: 1, Status: exitcodes.Status{}, At: time.Now(), Alone: true})
}

// allSaved checks that in each round for which a step was agreed all members have saved at that step.
func (s *sim) allSaved() {
	for id, save := range s.agreed {
		for _, m := range s.rounds[id].Members {
			at, saved := s.savedAt[id][m.Name]
			if !s.everDone[id+m.Name] && (!saved || save.Step == nil || at != *save.Step) {
				s.violate("round %s was to save at %s: %s saved at %d (%v)", id, rendezvous.StopText(save.Step), m.Name, at, saved)
			}
		}
	}
}

// TestAllSave calls nodes away and suspends the job at random moments. In each round for which a step was agreed all have
// saved at that step.
func TestAllSave(t *testing.T) {
	saves := 0
	seeds := int64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		c := simConfig{seed: seed, n: 1 + rng.IntN(7), looks: true, together: true, calm: true, skew: time.Minute, pinned: seed%3 == 0}
		c.min = c.n
		for k := range 4 {
			at := time.Duration(10+k*20)*time.Second + time.Duration(rng.Int64N(int64(10*time.Second)))
			c.faults = append(c.faults, fault{
				at: at, kind: []string{"leave", "drain", "suspend", "leave"}[rng.IntN(4)], node: rng.IntN(c.n),
			})
		}
		s := run(t, c)
		if s.wrong != "" {
			t.Fatalf("seed %d: %s\n%+v\n%s", seed, s.wrong, c, strings.Join(s.log[max(0, len(s.log)-400):], "\n"))
		}
		for _, at := range s.savedAt {
			saves += len(at)
		}
	}
	if saves < int(seeds) {
		t.Errorf("only %d saves: the test tests nothing", saves)
	}
	t.Logf("%d nodes saved at the step that was agreed", saves)
}
