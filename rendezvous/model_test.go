//go:build model

package rendezvous

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

// The model proves the design, not this code: it calls none of it, so it is no part of the usual tests. Run it with
// go test -tags model ./rendezvous when the design changes; the simulator (package agent) drives the code itself.

// The model of the round protocol with an external, linearizable store: every order of events within its bounds is
// examined. Three node names of two incarnations each, rounds 0 to 2, and a few faults. Lead actions have the names
// that Decide gives them, node actions those of React.
//
// Time is abstract. A lease lasts 1 tick, the fence 2. A tick cannot pass while somebody has to act before it: a node
// whose deadline has come kills its workers first, and a pause ends after at most one tick.

var (
	modelFaults = flag.Int("model.faults", 2, "number of faults in one run of the model")
	modelStates = flag.Int("model.states", 900_000, "give up a configuration beyond this many states")
)

// modelLimit bounds the states of one configuration.
func modelLimit() int {
	if testing.Short() {
		return min(*modelStates, 100_000)
	}
	return *modelStates
}

// mechanisms that can be taken out of the model.
type mechanisms struct {
	noCompare   bool // the leader's write does not compare the job's revision
	noElection  bool // nor its own election key
	readBefore  bool // a node that lost its lease continues with what it knew, and reads later
	oldWatch    bool // what an old watch delivers late counts
	noGuard     bool // workers are started although the node's deadline has passed
	fromAnswer  bool // the deadline counts from the answer of a renewal
	oldSilence  bool // silence goes on although the key was there in between
	leaveStops  bool // who says that it is leaving counts as stopped
	anyProof    bool // any newcomer of the name is a proof of death
	twoWrites   bool // the job's record and the round's are written one after the other
	orphans     bool // workers outlive their gangrun
	deadline    uint8
	pauses      bool
	noDeadlines bool
	// only bounds the search to some kinds of faults, by the first letters of their names; all when empty. faults is
	// how many of them; the flag's number when 0.
	only   string
	faults int
}

// has reports whether a kind of fault may happen.
func (m mechanisms) has(kind string) bool {
	return m.only == "" || slices.Contains(strings.Fields(m.only), kind)
}

const (
	mForming = iota
	mRunning
	mStopping
	mHalf // two writes: the round's record is written, the job's is not
)

const (
	mUnborn = iota
	mAlive
	mDead
	mProof // alive, and a proof that the incarnation before it is dead
)

const ( // states of a key
	mThere = iota
	mStopped
	mLeft
	mLeaving
)

const mFence = 3 // a member's silence, when it counts as gone: 1 + ticks

// TestModel finds nothing with all mechanisms in place.
func TestModel(t *testing.T) {
	for name, m := range map[string]mechanisms{
		"short deadline, pauses":     {pauses: true},
		"long deadline, no pauses":   {deadline: 2},
		"without the election check": {pauses: true, noElection: true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newModel(m, *modelFaults, modelLimit())
			whole := x.explore()
			if x.broken != "" {
				t.Fatal(x.broken)
			}
			t.Logf("%d states, whole: %v", len(x.states), whole)
		})
	}
}

// TestModelNeedsEveryMechanism takes out one mechanism after the other, and must find what breaks.
func TestModelNeedsEveryMechanism(t *testing.T) {
	for name, m := range map[string]mechanisms{
		"compare of the job's revision": {noCompare: true, only: "fail lag", faults: 2},
		"compare of job and election":   {noCompare: true, noElection: true, pauses: true, only: "pause cut fail", faults: 2},
		"read with the put":             {readBefore: true, only: "cut", faults: 1},
		"old watch dropped":             {oldWatch: true, only: "cut delay", faults: 2},
		"start guard":                   {noGuard: true, only: "cut", faults: 1},
		"deadline from the sending":     {fromAnswer: true, deadline: 2, only: "cut", faults: 1},
		"silence starts over":           {oldSilence: true, deadline: 2, only: "cut", faults: 2},
		"leaving is not stopped":        {leaveStops: true, only: "leave", faults: 1},
		"proof of death":                {anyProof: true, only: "cut replaced", faults: 2},
		"one transaction":               {twoWrites: true, only: "crash", faults: 1},
		"workers die with gangrun":      {orphans: true, only: "crash", faults: 1},
		"kill deadline":                 {noDeadlines: true, only: "cut", faults: 1},
		"deadline, pause, fence":        {deadline: 2, pauses: true, only: "pause cut", faults: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && m.faults > 1 && m.deadline > 1 {
				t.Skip("takes seconds: make test-long")
			}
			x := newModel(m, *modelFaults, 3**modelStates)
			whole := x.explore()
			if x.broken == "" {
				t.Fatalf("nothing breaks in %d states, whole: %v", len(x.states), whole)
			}
			if testing.Verbose() {
				t.Logf("%d states; %d steps:\n%s", len(x.states), strings.Count(x.broken, "\n"), x.broken)
			}
		})
	}
}
