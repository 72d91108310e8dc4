// Package chaos_test breaks jobs on purpose. Several gangruns, each with a network of its own where that is allowed,
// train over an etcd of three members or over the store within one of them, while a schedule that follows from a seed
// kills, stops, cuts off, delays, fills and deletes. What the workers wrote down, the exit codes and the termination
// messages then have to keep every promise; package check says which.
package chaos_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
	"github.com/gangrun/gangrun/test/harness/etcdserver"
	"github.com/gangrun/gangrun/test/harness/network"
)

var (
	seedFlag    = flag.Uint64("chaos.seed", 0, "the first job's seed; 0: that of make test")
	minutesFlag = flag.Float64("chaos.minutes", 0, "how long jobs are begun; 0: the sample of make test, 2.5 minutes at most")
	jobsFlag    = flag.Int("chaos.jobs", 0, "how many jobs; 0: no limit")
	slotsFlag   = flag.Int("chaos.slots", 4, "how many jobs at once")
	shrinkFlag  = flag.Duration("chaos.shrink", 0, "for how long to look for fewer faults that go wrong, too")
	listFlag    = flag.Bool("chaos.list", false, "only tell what would be done")
)

func TestMain(m *testing.M) {
	etcdserver.Main()
	harness.ClearEnvironment()
	code := m.Run()
	_ = os.Remove(group())
	os.Exit(code)
}

// crew is slots, and the programs.
type crew struct {
	t              *testing.T
	machine        machine
	slots          []*slot
	binary, worker string
}

func newCrew(t *testing.T, withClocks bool) *crew {
	t.Helper()
	c := &crew{t: t, worker: filepath.Join(t.TempDir(), "worker")}
	build := exec.Command("go", "build", "-o", c.worker, "./test/chaos/worker")
	build.Dir, build.Env = harness.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %s", out)
	}
	root := os.Geteuid() == 0
	c.machine = machine{networks: root, tmpfs: root, cgroup: root && makeGroup(), clocks: withClocks}
	t.Logf("this machine has %+v", c.machine)
	if c.binary = harness.Binary(t); withClocks {
		c.binary = buildWithClock(t)
	}
	for range *slotsFlag {
		s := &slot{}
		if root {
			s.net = network.New(t)
			for range 4 {
				s.spaces = append(s.spaces, s.net.Join())
			}
		}
		c.slots = append(c.slots, s)
	}
	return c
}

// tally is what came of many jobs.
type tally struct {
	jobs, faults, rounds, saved int
	kinds                       map[string]int
	wrong                       []result
}

func (t *tally) String() string {
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(t.kinds)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", name, t.kinds[name]))
	}
	return fmt.Sprintf("%d faults in %d jobs of %d rounds with %d saves, %d jobs went wrong: %s", t.faults, t.jobs, t.rounds, t.saved,
		len(t.wrong), strings.Join(kinds, ", "))
}

// play runs jobs of one seed after the other until there is enough.
func (c *crew) play(seed uint64, enough func(*tally) bool) *tally {
	c.t.Helper()
	var mu sync.Mutex
	all := &tally{kinds: map[string]int{}}
	var slots sync.WaitGroup
	for _, s := range c.slots {
		slots.Go(func() {
			for {
				mu.Lock()
				stop := enough(all)
				next := seed
				seed++
				if !stop {
					all.jobs++
				}
				mu.Unlock()
				if stop {
					return
				}
				r := play(newPlan(next, c.machine), s, c.binary, c.worker)
				mu.Lock()
				c.count(all, r)
				mu.Unlock()
			}
		})
	}
	slots.Wait()
	return all
}

func (c *crew) count(all *tally, r result) {
	all.faults += r.faults()
	all.rounds += r.rounds
	all.saved += r.saved
	for name, n := range r.struck {
		all.kinds[name] += n
	}
	if r.err != nil {
		r.wrong = append(r.wrong, "the test itself: "+r.err.Error())
	}
	c.t.Logf("%v: %d faults, %d rounds, %d saves, %v, %v",
		r.plan, r.faults(), r.rounds, r.saved, r.took.Round(time.Second), r.struck)
	if len(r.wrong) > 0 {
		all.wrong = append(all.wrong, r)
		c.t.Logf("WRONG, seed %d, files in %s\n%s\n%s", r.seed, r.dir, strings.Join(r.wrong, "\n"), r.listed())
	}
}

// sampleSeed begins the sample of make test, which is the same everywhere: what a new seed finds is for make chaos.
const sampleSeed = 40000

// TestChaos is a sample: 150 faults in CI, two jobs elsewhere, or as many as there is time for. make chaos is more of
// it.
func TestChaos(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = sampleSeed
	}
	if *listFlag {
		for i := range uint64(max(*jobsFlag, 1)) {
			t.Log(newPlan(seed+i, machine{true, true, true, true}).listed())
		}
		return
	}
	c := newCrew(t, os.Getenv("CI") != "" || *minutesFlag > 0 || *jobsFlag > 0)
	most, minutes := 2*faultsOf, 2.5
	if os.Getenv("CI") != "" {
		most = 150
	}
	if *minutesFlag > 0 {
		most, minutes = 1<<30, *minutesFlag
	}
	began := time.Now()
	all := c.play(seed, func(all *tally) bool {
		// Those that still run are counted as what they will have: else the last ones would be begun in vain.
		return all.jobs*faultsOf >= most || time.Since(began).Minutes() > minutes || *jobsFlag > 0 && all.jobs >= *jobsFlag ||
			len(all.wrong) > 0 && *shrinkFlag > 0
	})
	t.Logf("seeds from %d, %v: %v", seed, time.Since(began).Round(time.Second), all)
	for _, r := range all.wrong {
		t.Errorf("seed %d (alone: make chaos SEED=%d JOBS=1)\n%s", r.seed, r.seed, strings.Join(r.wrong, "\n"))
	}
	if all.faults == 0 {
		t.Error("nothing was done to any job")
	}
	if len(all.wrong) > 0 && *shrinkFlag > 0 {
		c.shrink(all.wrong[0].plan)
	}
}

// shrink leaves out one fault after the other, as long as the job still goes wrong.
func (c *crew) shrink(p plan) {
	until := time.Now().Add(*shrinkFlag)
	for i := 0; i < len(p.faults) && time.Now().Before(until); {
		less := p
		less.faults = slices.Delete(slices.Clone(p.faults), i, i+1)
		if r := play(less, c.slots[0], c.binary, c.worker); len(r.wrong) > 0 && r.err == nil {
			p = less
			c.t.Logf("it goes wrong without number %d as well: %s", i, r.wrong[0])
		} else {
			i++
		}
	}
	c.t.Logf("what is left:\n%s", p.listed())
}
