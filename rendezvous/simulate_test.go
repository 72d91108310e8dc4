package rendezvous

import (
	"cmp"
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// The simulator runs whole jobs of simulated nodes against a simulated store, with the real Observe, Decide, React and
// Guard. It holds every moment to the invariants, and a job that is left in peace must come to its end.

var (
	simSeed  = flag.Int64("sim.seed", -1, "run only this seed of the simulator, with its trace")
	simSeeds = flag.Int("sim.seeds", 1500, "number of seeds of the simulator")
)

const (
	simLease = 5 * time.Second
	simFence = 20 * time.Second
	simStop  = 3 * time.Second  // at most, until the workers are gone
	simWork  = 25 * time.Second // of training, in one round
	simPause = 10 * time.Second // the longest: less than half of the fence and the lease
	simCalm  = 90 * time.Second // no fault begins later
	simLimit = 400 * time.Second
)

// fault is one thing that goes wrong.
type fault struct {
	at   time.Duration
	kind string
	node int // which of the live nodes
	long time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("%v %s node %d for %v", f.at.Round(time.Millisecond), f.kind, f.node, f.long.Round(time.Millisecond))
}

var simKinds = []string{
	"crash", "crash", "fail", "fail", "fail", "cut", "cut", "pause", "pause", "leave", "leave", "slow", "lose", "move",
	"lead crashes before its write", "lead crashes after its write", "lead paused before its write", "restart", "suspend",
	"outage", "drain", "store lost", "flap",
}

type simConfig struct {
	seed     int64
	n, min   int
	unique   bool // names that the operator never gives twice
	pinned   bool
	embedded bool // the store may be lost
	nameless bool // the run has no uid of its own
	saves    bool // the workers save checkpoints, which all nodes can read
	fatal    bool // the first failure is fatal
	side     bool // the node at place 0 has a role that restarts alone
	calm     bool // workers whose peers are gone hang, they do not fail
	lateNews bool // one node is cut off when the first round begins, and hears of it much later
	tick     time.Duration
	faults   []fault
	lead     *fault // what meets a lead, after it has written skip times
	skip     int
	trace    bool
}

func simConfigOf(seed int64) simConfig {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	c := simConfig{
		seed: seed, n: 2 + rng.IntN(12), unique: rng.IntN(3) == 0, pinned: rng.IntN(4) == 0, embedded: rng.IntN(4) == 0,
		nameless: rng.IntN(4) == 0, fatal: rng.IntN(20) == 0, tick: 500 * time.Millisecond,
	}
	if seed%50 == 0 {
		c.n = 40
	}
	c.saves = seed%3 == 0
	c.side = seed%7 == 0
	c.min = c.n
	if rng.IntN(3) == 0 {
		c.min = 1 + c.n/2
	}
	for range rng.IntN(8) {
		c.faults = append(c.faults, simFault(rng, c))
	}
	return c
}

func simFault(rng *rand.Rand, c simConfig) fault {
	f := fault{
		at: time.Duration(rng.Int64N(int64(simCalm))), kind: simKinds[rng.IntN(len(simKinds))], node: rng.IntN(c.n),
		long: time.Duration(rng.Int64N(int64(40 * time.Second))),
	}
	if f.kind == "store lost" && !c.embedded || f.kind == "move" && c.unique {
		f.kind = "cut"
	}
	if strings.Contains(f.kind, "pause") {
		f.long = min(f.long, simPause)
	}
	return f
}

// event is something that happens at a time; of one time, in the order they were asked for.
type event struct {
	at time.Duration
	id int
	do func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].id < q[j].id
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(e any)   { *q = append(*q, e.(event)) }
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

type sim struct {
	simConfig
	rng   *rand.Rand
	now   time.Duration
	queue events
	ids   int
	store *simStore
	nodes []*simNode // that live
	spec  Spec
	log   []string
	wrong string // the first violation

	armed    []fault // what the lead's next write is to meet
	running  map[string]int
	rounds   map[string]*Round
	previous *Round
	ends     map[string]End
	failures int // that may have cost a restart
	leaves   int
	fatals   int
	born     int
	everDone map[string]bool
	steps    int64   // that were saved ever
	saved    []int64 // steps, newest first
}

func (s *sim) say(format string, args ...any) {
	if s.trace {
		s.log = append(s.log, fmt.Sprintf("%9.3f ", s.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

func (s *sim) violate(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf("%9.3f ", s.now.Seconds()) + fmt.Sprintf(format, args...)
		s.say("VIOLATION: %s", s.wrong)
	}
}

func (s *sim) after(d time.Duration, do func()) {
	s.ids++
	heap.Push(&s.queue, event{s.now + d, s.ids, do})
}

func (s *sim) random(most time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(int64(most) + 1))
}

// latency is one way to or from the store.
func (s *sim) latency() time.Duration { return time.Millisecond + s.random(4*time.Millisecond) }

// simulate runs one job to its end, or to a violation.
func simulate(c simConfig) *sim {
	s := &sim{
		simConfig: c, rng: rand.New(rand.NewPCG(uint64(c.seed), 2)), running: map[string]int{}, rounds: map[string]*Round{},
		ends: map[string]End{}, everDone: map[string]bool{},
	}
	s.spec = DefaultSpec(c.n)
	s.spec.MinNodes, s.spec.Fence, s.spec.LastCall = c.min, Duration(simFence), Duration(2*time.Second)
	s.spec.Restarts.Max, s.spec.Restarts.MaxSameFailure, s.spec.Restarts.BackoffMax = 1000, 0, Duration(2*time.Second)
	s.spec.Resume.Look = c.saves
	if c.side {
		s.spec.Roles = map[string]RolePolicy{sideRole: {Restart: RestartSelf, Optional: true}}
	}
	s.newStore()
	for i := range c.n {
		s.after(s.random(3*time.Second), func() { s.birth(i, i) })
	}
	for _, f := range c.faults {
		s.after(f.at, func() { s.strike(f) })
	}
	for s.wrong == "" && len(s.queue) > 0 && s.now < simLimit {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		e.do()
		if len(s.nodes) == 0 && s.now > simCalm && s.store.job != nil && s.store.job.Phase.finished() {
			break
		}
	}
	s.finish()
	return s
}

func (s *sim) finish() {
	if s.wrong != "" {
		return
	}
	j := s.store.job
	switch {
	case j == nil:
		s.violate("no job at the end")
	case s.fatals > 0 && j.Phase == Failed:
	case j.Phase != Succeeded:
		why := ""
		for _, n := range s.nodes {
			why += fmt.Sprintf("\n   %s#%d %s round %d: %s", n.name, n.number, n.self.State, n.self.Round, n.why)
		}
		s.violate("no progress: phase %s of round %d, lead: %s%s", j.Phase, j.Round, s.store.why, why)
	}
	if j != nil && (j.Budget.Total > s.failures || j.Budget.Preemptions > s.leaves) {
		s.violate("R2: %d restarts charged for %d failures, %d preemptions for %d leaves", j.Budget.Total, s.failures, j.Budget.Preemptions, s.leaves)
	}
}

func (n *simNode) pause(d time.Duration) {
	n.paused = max(n.paused, n.s.now+d)
	n.later(0, n.step) // it looks at the clock before anything else
}

// strike lets a fault happen.
func (s *sim) strike(f fault) {
	if strings.HasPrefix(f.kind, "lead ") {
		s.armed = append(s.armed, f)
		return
	}
	s.say("fault: %s", f)
	if len(s.nodes) == 0 {
		return
	}
	n := s.nodes[f.node%len(s.nodes)]
	switch f.kind {
	case "crash":
		s.failures++
		s.say("%s: crashes", n.self.Incarnation)
		n.die(true)
	case "fail":
		if n.runs == "" || n.halting || s.now < n.paused {
			return
		}
		s.failures++
		if s.fatal {
			s.fatals++
			n.ended(exitcodes.Fatal, "Injected", "root")
			return
		}
		n.ended(exitcodes.Retry, "Injected", "root")
	case "cut":
		s.failures++
		n.cutUntil = max(n.cutUntil, s.now+f.long)
	case "flap": // away, back for a moment, away again
		s.failures += 2
		n.cutUntil = max(n.cutUntil, s.now+simLease+2*time.Second)
		s.after(simLease+2500*time.Millisecond+s.random(time.Second), func() { n.cutUntil = max(n.cutUntil, s.now+f.long) })
	case "move": // the operator gives the name to another pod while the old one lives, cut off
		s.failures++
		n.cutUntil = max(n.cutUntil, s.now+f.long)
		place, host := n.place, s.born+1000
		if s.rng.IntN(2) == 0 {
			host = n.host + 100_000 // another container on the same machine
		}
		s.after(s.random(8*time.Second), func() { s.birth(place, host) })
	case "pause":
		s.failures++
		n.pause(f.long)
	case "leave":
		s.leaves++
		n.self.Leaving = true
		n.write()
		n.step()
	case "drain":
		for _, n := range slices.Clone(s.nodes) {
			s.leaves++
			n.self.Leaving = true
			n.write()
			n.step()
		}
	case "slow":
		s.failures += s.echoes(f)
		n.slow = s.now + f.long
	case "lose":
		s.failures += s.echoes(f)
		n.deaf = s.now + f.long
	case "outage":
		s.failures++
		for _, n := range s.nodes {
			n.cutUntil = max(n.cutUntil, s.now+f.long)
			s.failures++
		}
	case "store lost":
		if j := s.store.job; j != nil && j.Phase.finished() {
			return // its host waits until all have read the end
		}
		s.failures += len(s.nodes)
		s.newStore()
	case "restart", "suspend":
		id := fmt.Sprint(f.kind, f.at)
		s.send(Control{V: 1, ID: id, Verb: f.kind})
		s.after(s.random(5*time.Second), func() { s.send(Control{V: 1, ID: id, Verb: f.kind}) })
		if f.kind == "suspend" {
			s.after(10*time.Second+f.long, func() { s.send(Control{V: 1, ID: id + "resume", Verb: VerbResume}) })
			// A command can be lost with the store; whoever sent it looks again.
			s.after(simCalm+20*time.Second-s.now, func() { s.send(Control{V: 1, ID: id + "again", Verb: VerbResume}) })
		}
	}
}

// echoes bounds how often a node that starts late, since it does not hear, can make the others fail.
func (s *sim) echoes(f fault) int { return 1 + int(f.long/(3*time.Second)) }

func (s *sim) send(c Control) {
	s.store.rev++
	s.store.controls = append(s.store.controls, ControlEntry{c, s.store.rev})
	s.wakeLead()
}

// shrink drops faults as long as the run still goes wrong, and returns the last run with its trace.
func shrink(c simConfig) *sim {
	for i := 0; i < len(c.faults); {
		less := c
		less.faults = slices.Delete(slices.Clone(c.faults), i, i+1)
		if simulate(less).wrong != "" {
			c = less
		} else {
			i++
		}
	}
	c.trace = true
	return simulate(c)
}

func report(t *testing.T, c simConfig) {
	t.Helper()
	s := shrink(c)
	t.Fatalf("seed %d (run it alone with -sim.seed=%d): %s\n%+v\nfaults:\n%v\n%s",
		c.seed, c.seed, s.wrong, simConfig{seed: c.seed, n: s.n, min: s.min, unique: s.unique, pinned: s.pinned, embedded: s.embedded, nameless: s.nameless},
		s.faults, strings.Join(last(s.log, 400), "\n"))
}

func TestSimulation(t *testing.T) {
	if *simSeed >= 0 {
		report(t, simConfigOf(*simSeed))
	}
	seeds := *simSeeds
	if testing.Short() {
		seeds = cmp.Or(seeds/10, 1)
	}
	for seed := range int64(seeds) {
		if c := simConfigOf(seed); simulate(c).wrong != "" {
			report(t, c)
		}
	}
}

// TestSimulationOfThousands is about size: the same, with more nodes than anybody has tested with.
func TestSimulationOfThousands(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: make test-long")
	}
	for seed, n := range []int{1000, 2000} {
		c := simConfig{seed: int64(seed), n: n, min: n - 8*seed, unique: seed == 0, tick: 1500 * time.Millisecond}
		for i, kind := range []string{"crash", "fail", "cut", "pause", "leave", "lead crashes after its write", "fail"} {
			c.faults = append(c.faults, fault{at: 10*time.Second + time.Duration(i)*9*time.Second, kind: kind, node: 37 * i, long: 8 * time.Second})
		}
		if simulate(c).wrong != "" {
			report(t, c)
		}
	}
}

// TestTheLeadCrashesAtEveryWrite kills or stops the lead before and after each write of a job that has a restart, a
// departure and a loss.
func TestTheLeadCrashesAtEveryWrite(t *testing.T) {
	for _, kind := range []string{"lead crashes before its write", "lead crashes after its write", "lead paused before its write"} {
		for seed := range int64(4) {
			writes := 0
			for write := 0; ; write++ {
				c := simConfig{seed: seed, n: 4, min: 4, unique: seed%2 == 0, tick: 500 * time.Millisecond, faults: []fault{
					{at: 8 * time.Second, kind: "fail", node: 1},
					{at: 20 * time.Second, kind: "leave", node: 2},
					{at: 40 * time.Second, kind: "crash", node: 3},
				}}
				c.skip, c.lead = write, &fault{kind: kind, long: simPause}
				s := simulate(c)
				if s.wrong != "" {
					c.trace = true
					s = simulate(c)
					t.Fatalf("%s %d, seed %d: %s\n%s", kind, write, seed, s.wrong, strings.Join(s.log, "\n"))
				}
				writes = write
				if s.lead != nil {
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
		for seed := range int64(40) {
			c := simConfig{seed: seed, n: 6, min: 6, calm: seed%2 == 0, tick: 500 * time.Millisecond}
			c.faults = []fault{{at: 10 * time.Second, kind: "outage", long: tc.long}}
			s := simulate(c)
			if s.wrong != "" {
				report(t, c)
			}
			if j := s.store.job; j.Round != tc.round || j.Budget.Total > 0 || j.Budget.Preemptions > 0 {
				t.Fatalf("outage of %v, seed %d: round %d, want %d; budget %+v", tc.long, seed, j.Round, tc.round, j.Budget)
			}
		}
	}
}

// TestANodeThatHearsTooLateStartsNothing cuts a node off just when a round begins, of which it then hears so late that
// the others have long begun the next one without it.
func TestANodeThatHearsTooLateStartsNothing(t *testing.T) {
	for seed := range int64(20) {
		c := simConfig{seed: seed, n: 3, min: 2, calm: true, lateNews: true, tick: 500 * time.Millisecond}
		if simulate(c).wrong != "" {
			report(t, c)
		}
	}
}
