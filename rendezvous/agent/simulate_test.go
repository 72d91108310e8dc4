package agent_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// The simulator runs whole jobs: real agents, each over a store that loses, delays and repeats what passes, with
// workers that are played by a stand-in. It holds every moment to the promises, and a job that is left in peace must
// come to its end. Time is the bubble's; what happens at one instant happens in any order, so a seed that fails may
// have to be run a few times to fail again.

var (
	simSeed   = flag.Int64("sim.seed", -1, "run only this seed of the simulator, with its trace")
	simFrom   = flag.Int64("sim.from", 0, "the first seed of the simulator")
	simShrink = flag.Duration("sim.shrink", 10*time.Second, "for how long the simulator looks for a shorter job that goes wrong")
	simSeeds  = flag.Int("sim.seeds", 0, "number of seeds of the simulator; 0: 400, or 10000 with GANGRUN_TEST_LONG=1")
)

const (
	simLease = 5 * time.Second
	simFence = 20 * time.Second
	simStop  = 3 * time.Second  // at most, until the workers are gone
	simWork  = 25 * time.Second // of training, in one round
	simPause = 10 * time.Second // the longest: less than half of the fence and the lease
	simBegin = 3 * time.Second  // within which the nodes begin
	simLate  = time.Minute      // for which a node is cut off that hears of the first round much later
	simCalm  = 90 * time.Second // no fault begins later
	simLimit = 500 * time.Second
)

// sim is one job. All but the store is guarded by mu, which nobody holds while waiting.
type sim struct {
	simConfig
	ctx    context.Context
	stop   context.CancelFunc
	tasks  sync.WaitGroup
	began  time.Time
	spec   rendezvous.Spec
	memory *store.InMemory
	server *store.Connection // where requests arrive; it is never cut

	mu       sync.Mutex
	rng      *rand.Rand
	nodes    []*simNode // that live
	log      []string
	wrong    string  // the first violation
	armed    []fault // what the leader's next write is to meet
	born     int
	failures int // that may have cost a restart
	leaves   int
	fatals   int
	records
	saved
	*hosts
	agreements
}

func (s *sim) now() time.Duration { return time.Since(s.began) }

func (s *sim) say(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%9.3f ", s.now().Seconds())+fmt.Sprintf(format, args...))
}

func (s *sim) violate(format string, args ...any) {
	if s.wrong == "" && s.ctx.Err() == nil {
		s.wrong = fmt.Sprintf("%9.3f ", s.now().Seconds()) + fmt.Sprintf(format, args...)
		s.say("VIOLATION: %s", s.wrong)
	}
}

// spawn runs a part of the simulation that ends with it.
func (s *sim) spawn(do func()) { s.tasks.Go(do) }

// sleep reports whether the simulation still goes on after that time.
func (s *sim) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.ctx.Err() == nil
	case <-s.ctx.Done():
		return false
	}
}

// after does something later, with the lock held.
func (s *sim) after(d time.Duration, do func()) {
	s.spawn(func() {
		if s.sleep(d) {
			s.mu.Lock()
			defer s.mu.Unlock()
			do()
		}
	})
}

// random needs the lock.
func (s *sim) random(most time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(int64(most) + 1))
}

// chance needs the lock, too.
func (s *sim) chance(one int) bool { return s.rng.IntN(one) == 0 }

// latency is one way to or from the store.
func (s *sim) latency() time.Duration { return time.Millisecond + s.random(4*time.Millisecond) }

// simulate runs one job to its end, or to a violation. It must run in a bubble.
func simulate(c simConfig) *sim {
	s := &sim{simConfig: c, rng: rand.New(rand.NewPCG(uint64(c.seed), 2)), began: time.Now(), memory: store.NewInMemory()}
	s.records, s.hosts = newRecords(), newHosts(c.sick)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.server = s.memory.Connect(s.now)
	s.spec = rendezvous.DefaultSpec(c.n)
	s.spec.MinNodes, s.spec.Fence, s.spec.LastCall = c.min, rendezvous.Duration(simFence), rendezvous.Duration(2*time.Second)
	r := &s.spec.Restarts
	r.Max, r.MaxSameFailure, r.BackoffMax = 1000, 0, rendezvous.Duration(2*time.Second)
	s.spec.Resume.Look, s.spec.Sizes = c.saves, c.sizes
	if c.grow {
		s.spec.Grow = rendezvous.GrowCheckpoint
	}
	if c.side {
		s.spec.Roles = map[string]rendezvous.RolePolicy{sideRole: {Restart: rendezvous.RestartSelf, Optional: true}}
	}
	s.spawn(s.observe)
	if c.lift != nil {
		s.once(s.runsWithoutBanned, func() { c.lift(s) })
	}
	s.mu.Lock()
	for i := range c.n {
		s.after(s.random(cmp.Or(c.spread, simBegin)), func() { s.birth(i, i) })
	}
	if c.script != nil {
		c.script(s)
	}
	for _, f := range c.faults {
		s.after(f.at, func() { s.strike(f) })
	}
	s.mu.Unlock()
	for s.now() < simLimit && s.sleep(time.Second) && !s.over() {
	}
	s.mu.Lock()
	s.finish()
	s.stop()
	nodes := s.nodes
	s.mu.Unlock()
	for _, n := range nodes {
		n.agent.Close()
	}
	s.tasks.Wait()
	_ = s.server.Close()
	return s
}

func (s *sim) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong != "" || len(s.nodes) == 0 && s.now() > simCalm && s.job != nil && s.job.End != nil
}

// finish wants what a job that is left in peace comes to.
func (s *sim) finish() {
	if s.wrong != "" {
		return
	}
	j := s.job
	switch {
	case j == nil:
		s.violate("no job at the end")
		return
	case s.fatals > 0 && j.Phase == rendezvous.Failed:
	case j.Phase != rendezvous.Succeeded:
		why := ""
		for _, n := range s.nodes {
			why += fmt.Sprintf("\n   %s runs %q: %s", n.incarnation, n.runs, n.why)
		}
		s.violate("no progress: phase %s of round %d%s", j.Phase, j.Round, why)
	}
	if s.together {
		s.allSaved()
	}
	if r := s.rounds[roundID(s.token, 0)]; s.whole && r != nil && len(r.Members) < s.n {
		s.violate("too few: %d of %d nodes are in the first round", len(r.Members), s.n)
	}
	if j.Budget.Total > s.failures || j.Budget.Preemptions > s.leaves {
		s.violate("R2: %d restarts charged for %d failures, %d preemptions for %d leaves",
			j.Budget.Total, s.failures, j.Budget.Preemptions, s.leaves)
	}
}

// run is simulate in a bubble of its own.
func run(t *testing.T, c simConfig) (s *sim) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { s = simulate(c) })
	return s
}

// attempts is how often a seed is run again before it counts as one that goes well.
const attempts = 4

// fails runs a configuration until it goes wrong, a few times at most.
func fails(t *testing.T, c simConfig) *sim {
	for range attempts {
		if s := run(t, c); s.wrong != "" {
			return s
		}
	}
	return nil
}

// report looks for a shorter job that goes wrong, and tells of its last run with its trace: of the first one, where no
// other goes wrong.
func report(t *testing.T, first simConfig, wrong *sim) {
	t.Helper()
	again, c := "", first
	s := fails(t, c)
	if s == nil {
		s, again = wrong, ", which did not go wrong again"
	} else {
		c, s = shrink(t, c, s)
	}
	t.Fatalf("seed %d (run it alone with -sim.seed=%d)%s: %s\n%+v\n%s", first.seed, first.seed, again, s.wrong, c,
		strings.Join(s.log[max(0, len(s.log)-400):], "\n"))
}

func TestSimulation(t *testing.T) {
	if *simSeed >= 0 {
		c := simConfigOf(*simSeed)
		report(t, c, run(t, c))
	}
	seeds := 400
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		seeds = 10_000
	}
	seeds = cmp.Or(*simSeeds, seeds)
	if testing.Short() {
		seeds = cmp.Or(seeds/10, 1)
	}
	for seed := range int64(seeds) {
		c := simConfigOf(*simFrom + seed)
		if s := run(t, c); s.wrong != "" {
			report(t, c, s)
		}
	}
}

// TestAFarewellIsSaidAgain runs the seed that has deleted everything of a job just when a node had said farewell, and
// the others still trained up to the save that all make: it has left, and is not lost.
func TestAFarewellIsSaidAgain(t *testing.T) {
	for range 2 * attempts {
		if c := simConfigOf(3161); run(t, c).wrong != "" {
			report(t, c, run(t, c))
		}
	}
}

// TestTheLeaderCrashesAtEveryWrite kills or stops the leader before and after each write of a job that has a restart,
// a departure and a loss.
func TestTheLeaderCrashesAtEveryWrite(t *testing.T) {
	for _, kind := range []string{
		"leader crashes before its write", "leader crashes after its write", "leader paused before its write",
	} {
		for seed := range int64(2) {
			writes := 0
			for write := 0; ; write++ {
				c := simConfig{seed: seed, n: 4, min: 4, unique: seed%2 == 0, faults: []fault{
					{at: 8 * time.Second, kind: "fail", node: 1},
					{at: 20 * time.Second, kind: "leave", node: 2},
					{at: 40 * time.Second, kind: "crash", node: 3},
				}}
				c.skip, c.leader = write, &fault{kind: kind, long: simPause}
				s := run(t, c)
				if s.wrong != "" {
					report(t, c, s)
				}
				writes = write
				if s.leader != nil {
					break // there were not that many writes
				}
			}
			if writes < 6 {
				t.Errorf("only %d writes: the test tests nothing", writes)
			}
		}
	}
}

// TestAnOutageCostsNothing takes the store away from all nodes. A short outage nobody notices; after a long one they
// begin again, and no restart is charged.
func TestAnOutageCostsNothing(t *testing.T) {
	for _, tc := range []struct {
		long  time.Duration
		round int
	}{{4 * time.Second, 0}, {12 * time.Second, 1}, {60 * time.Second, 1}} {
		for seed := range int64(6) {
			c := simConfig{seed: seed, n: 6, min: 6, calm: seed%2 == 0}
			c.faults = []fault{{at: 10 * time.Second, kind: "outage", long: tc.long}}
			s := run(t, c)
			if s.wrong != "" {
				report(t, c, s)
			}
			if j := s.job; j.Round != tc.round || j.Budget.Total > 0 || j.Budget.Preemptions > 0 {
				t.Fatalf("outage of %v, seed %d: round %d, want %d; budget %+v", tc.long, seed, j.Round, tc.round, j.Budget)
			}
		}
	}
}

// TestANodeThatHearsTooLateStartsNothing cuts a node off just when a round begins, of which it then hears so late that
// the others have long begun the next one without it.
func TestANodeThatHearsTooLateStartsNothing(t *testing.T) {
	for seed := range int64(6) {
		c := simConfig{seed: seed, n: 3, min: 2, calm: true, lateNews: true}
		if s := run(t, c); s.wrong != "" {
			report(t, c, s)
		}
	}
}
