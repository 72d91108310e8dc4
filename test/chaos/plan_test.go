package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is a job and what is done to it. It follows from its seed and from what the machine can do.
type plan struct {
	seed                 uint64
	nodes, ranks         int    // ranks on each node
	mode                 string // run or launch
	hosted               bool   // the store is within gangrun, on n0
	elastic, pinned      bool
	unique               bool // no two gangruns of one name run at once, and gangrun is told so
	container            bool // each gangrun is PID 1 of a namespace
	own, renames, helper bool // as the worker has them
	quarantine           bool
	hangs                bool
	records              bool     // the job's records are deleted; then nobody is taken away who remembers them
	fatal                bool     // a worker fails for good at the end
	early                bool     // what is done begins before the first round
	clocks               []uint64 // of the nodes, at the beginning
	faults               []fault
}

// fault is one thing that is done.
type fault struct {
	kind string
	at   time.Duration
	long time.Duration
	node int
	pick uint64 // which worker, way or member
}

func (f fault) String() string {
	return fmt.Sprintf("%v %s n%d/%d for %v", f.at.Round(time.Millisecond), f.kind, f.node, f.pick, f.long.Round(time.Millisecond))
}

func (p plan) String() string {
	text := fmt.Sprintf("seed %d: %s, %d nodes of %d", p.seed, p.mode, p.nodes, p.ranks)
	for _, trait := range []struct {
		name string
		is   bool
	}{
		{"store within gangrun", p.hosted}, {"elastic", p.elastic}, {"pinned", p.pinned}, {"unique", p.unique},
		{"containers", p.container}, {"own directories", p.own}, {"quarantine", p.quarantine}, {"renames", p.renames},
		{"helpers", p.helper}, {"hangs", p.hangs},
		{"records", p.records}, {"fatal", p.fatal}, {"early", p.early},
	} {
		if trait.is {
			text += ", " + trait.name
		}
	}
	return text
}

// machine is what can be done on this one.
type machine struct{ networks, tmpfs, cgroup, clocks bool }

// kind is a way to break something.
type kind struct {
	name   string
	weight int
	most   time.Duration // the longest; 0 for what does not last
	what   string        // of what only one thing goes wrong at a time: of a node its link, its gangrun; the etcd
	may    func(p plan, m machine) bool
}

func always(plan, machine) bool                 { return true }
func networks(_ plan, m machine) bool           { return m.networks }
func hasEtcd(p plan, _ machine) bool            { return !p.hosted }
func forgets(p plan, _ machine) bool            { return !p.records }
func forgetsAndNetworks(p plan, m machine) bool { return !p.records && m.networks }

var kinds = []kind{
	{"kill worker", 4, 0, "", always},
	{"crash worker", 2, 0, "", always},
	{"tear", 3, 0, "", always},
	{"tear late", 4, 0, "", func(p plan, _ machine) bool { return p.own }},
	{"stop worker", 2, 5 * time.Second, "", always},
	{"hang worker", 1, 0, "", always},
	{"out of memory", 1, 0, "", func(_ plan, m machine) bool { return m.cgroup }},
	{"kill gangrun", 4, 0, "gangrun", forgets},
	{"stop gangrun", 3, 5 * time.Second, "gangrun", forgets},
	{"end pod", 3, 0, "gangrun", forgets},
	{"kill member", 2, 6 * time.Second, "etcd", hasEtcd},
	{"stop member", 2, 6 * time.Second, "etcd", hasEtcd},
	{"outage", 1, 14 * time.Second, "etcd", func(p plan, _ machine) bool { return !p.hosted && !p.records }},
	{"cut", 3, 18 * time.Second, "link", forgetsAndNetworks},
	{"delay", 2, 6 * time.Second, "link", func(p plan, m machine) bool { return !p.hosted && !p.records }},
	{"lose packets", 2, 6 * time.Second, "link", networks},
	{"narrow", 2, 6 * time.Second, "link", networks},
	{"fill the disk", 2, 4 * time.Second, "disk", func(_ plan, m machine) bool { return m.tmpfs }},
	{"delete node", 2, 0, "", hasEtcd},
	{"delete candidates", 1, 0, "", hasEtcd},
	{"two leaders", 3, 2 * time.Second, "leader", func(p plan, _ machine) bool { return !p.hosted && !p.records }},
	{"set the clock", 2, 0, "", func(_ plan, m machine) bool { return m.clocks }},
	{"delete job", 3, 0, "", func(p plan, _ machine) bool { return p.records }},
	{"delete round", 3, 0, "", func(p plan, _ machine) bool { return p.records }},
}

// faultsOf is how many faults a job has. Every other one over an etcd has one more: the etcd is gone for so long that workers
// have to stop.
const (
	faultsOf   = 14
	lastOutage = fence/2 + slack + 3*time.Second
	slack      = 3 * time.Second
)

func newPlan(seed uint64, m machine) plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	one := func(of int) bool { return rng.IntN(of) == 0 }
	p := plan{seed: seed, nodes: 3 + rng.IntN(2), ranks: 1 + rng.IntN(2), mode: "launch"}
	if one(3) {
		p.mode, p.ranks = "run", 1
	}
	p.hosted, p.elastic, p.pinned, p.unique = one(3), one(4), one(3), one(2)
	p.container, p.own, p.renames, p.helper, p.hangs = m.networks && one(2), one(2), one(2), one(2), one(2)
	p.records, p.fatal, p.early, p.quarantine = one(5), one(6), one(4), one(3)
	if p.fatal { // launch starts again after any failure, as torchrun does
		p.mode, p.ranks = "run", 1
	}
	p.early = p.early && !p.own
	if p.hosted { // only then may another host take its place
		p.unique, p.records = true, false
		p.elastic = false // its end goes with its host, and who comes after that waits for another
	}
	if p.elastic { // nobody is missed: a node that nobody replaces keeps its disk, and what its gangrun left behind
		p.own, p.pinned, p.helper = false, false, p.helper && p.container
	}
	for range p.nodes {
		p.clocks = append(p.clocks, rng.Uint64()>>40)
	}
	span := faultsOf * 1200 * time.Millisecond
	busy := map[string]time.Duration{}
	for range faultsOf {
		f := fault{at: time.Duration(rng.Int64N(int64(span))), node: rng.IntN(p.nodes), pick: rng.Uint64() >> 40}
		p.faults = append(p.faults, f)
	}
	slices.SortFunc(p.faults, func(a, b fault) int { return int(a.at - b.at) })
	for i := range p.faults {
		f := &p.faults[i]
		for f.kind == "" {
			k := kinds[weighted(rng)]
			what := k.what
			if what == "link" || what == "gangrun" {
				what += fmt.Sprint(f.node)
			}
			if !k.may(p, m) || k.what != "" && busy[what] > f.at {
				continue
			}
			f.kind = k.name
			if k.most > 0 {
				f.long = 300*time.Millisecond + time.Duration(rng.Int64N(int64(k.most)))
				if one(2) {
					f.long /= 3
				}
			}
			busy[what] = f.at + f.long + 1500*time.Millisecond
			if k.name == "two leaders" {
				busy[what] += 5 * time.Second
			}
		}
	}
	if seed%2 == 1 && !p.hosted && !p.records {
		// Most that are drawn are too short for workers to be stopped, or end at a cut where they get nowhere anyhow.
		last := fault{kind: "outage", at: max(span, busy["etcd"]) + time.Second, long: lastOutage, pick: rng.Uint64() >> 40}
		p.faults = append(p.faults, last)
	}
	return p
}

func weighted(rng *rand.Rand) int {
	all := 0
	for _, k := range kinds {
		all += k.weight
	}
	n := rng.IntN(all)
	for i, k := range kinds {
		if n -= k.weight; n < 0 {
			return i
		}
	}
	panic("unreachable")
}

// listed is the plan with everything that is done.
func (p plan) listed() string {
	lines := []string{p.String()}
	for i, f := range p.faults {
		lines = append(lines, fmt.Sprintf("  %2d  %v", i, f))
	}
	return strings.Join(lines, "\n")
}
