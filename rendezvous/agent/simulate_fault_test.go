package agent_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
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
	"crash", "crash", "fail", "fail", "fail", "cut", "cut", "pause", "pause", "leave", "leave", "slow", "late", "move",
	"leader crashes before its write", "leader crashes after its write", "leader paused before its write", "restart",
	"suspend", "outage", "drain", "store lost", "flap", "key deleted", "key overwritten", "candidate deleted",
	"lease revoked", "news lost", "news lost",
	"job deleted", "round deleted", "members deleted", "node deleted", "all deleted", "candidate overwritten",
	"round overwritten", "garbage between",
}

type simConfig struct {
	seed     int64
	n, min   int
	unique   bool // names that the operator never gives twice
	pinned   bool
	volatile bool          // the store may be lost
	nameless bool          // the run has no uid of its own
	saves    bool          // the workers save checkpoints, which all nodes can read
	looks    bool          // the workers look at the file that tells when all save, and tell their steps
	together bool          // and nothing keeps them from doing so
	fatal    bool          // the first failure is fatal
	side     bool          // the node at place 0 has a role that restarts alone
	calm     bool          // workers whose peers are gone hang, they do not fail
	skew     time.Duration // the most by which the nodes' times of day differ from the true one
	sick     map[int]int   // by host: in how many rounds its workers fail for it
	script   func(*sim)    // at the beginning
	lift     func(*sim)    // once a host is banned and a round runs without it
	sizes    []int         // of a round; else any from min to n
	grow     bool          // the job grows at checkpoints
	work     time.Duration // of training, in one round; 0: simWork
	spread   time.Duration // within which the nodes begin; 0: simBegin
	whole    bool          // the first round is to have all nodes
	lateNews bool          // one node is cut off when the first round begins, and hears of it much later
	faults   []fault
	leader   *fault // what meets a leader, after it has written skip times
	skip     int
}

func simConfigOf(seed int64) simConfig {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	c := simConfig{
		seed: seed, n: 2 + rng.IntN(12), unique: rng.IntN(3) == 0, pinned: rng.IntN(4) == 0, volatile: rng.IntN(4) == 0,
		nameless: rng.IntN(4) == 0, fatal: rng.IntN(20) == 0, side: seed%7 == 0,
		saves: seed%3 == 0, skew: []time.Duration{0, time.Minute, time.Hour}[seed%5%3],
	}
	c.looks = seed%4 == 1
	if seed%10 == 0 { // as many as have their members in a list
		c.n = 17 + c.n
	}
	c.min = c.n
	if rng.IntN(3) == 0 {
		c.min = 1 + c.n/2
	}
	for range rng.IntN(8) {
		c.faults = append(c.faults, simFault(rng, c))
	}
	if slices.ContainsFunc(c.faults, fault.needsMemory) {
		for i, f := range c.faults {
			if f.hidesNews() {
				c.faults[i].kind = "fail"
			}
		}
	}
	return c
}

// needsMemory reports whether it takes a leader that remembers to repair this: what is gone from the store is known to nobody
// else.
func (f fault) needsMemory() bool {
	return slices.Contains([]string{"job deleted", "round deleted", "members deleted", "all deleted"}, f.kind)
}

// hidesNews reports whether it can keep all that have such a memory from seeing that it is needed.
func (f fault) hidesNews() bool {
	return strings.HasPrefix(f.kind, "leader ") || slices.Contains([]string{
		"crash", "cut", "pause", "slow", "late", "move", "outage", "store lost", "flap", "news lost", "drain",
	}, f.kind)
}

func simFault(rng *rand.Rand, c simConfig) fault {
	f := fault{
		at: time.Duration(rng.Int64N(int64(simCalm))), kind: simKinds[rng.IntN(len(simKinds))], node: rng.IntN(c.n),
		long: time.Duration(rng.Int64N(int64(40 * time.Second))),
	}
	if f.kind == "store lost" && !c.volatile || f.kind == "move" && c.unique {
		f.kind = "cut"
	}
	if strings.Contains(f.kind, "pause") {
		f.long = min(f.long, simPause)
	}
	return f
}
