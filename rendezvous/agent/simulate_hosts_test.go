package agent_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// hosts is what becomes of the machines of a simulated job. All but jumped is guarded by sim.mu.
type hosts struct {
	left    map[string]int  // in how many rounds more the workers there fail for it
	struck  map[string]int  // by faults have been
	counted map[string]int  // by the leaders
	banned  map[string]bool // as the newest record says
	seen    map[string]*rendezvous.Host
	waited  string       // what the last node has said that waits for a ban to end
	spared  string       // the same for the next size
	jumped  atomic.Int64 // by how much all clocks have been put forward, in nanoseconds
}

func newHosts(sick map[int]int) *hosts {
	h := &hosts{
		left: map[string]int{}, struck: map[string]int{}, counted: map[string]int{}, banned: map[string]bool{},
		seen: map[string]*rendezvous.Host{},
	}
	for host, rounds := range sick {
		h.left[hostName(host)] = rounds
	}
	return h
}

func hostName(host int) string { return fmt.Sprint("boot", host%100_000) }

// sickens lets the machine fail its workers some time after they have started.
func (n *simNode) sickens(mine int) {
	s, host := n.s, hostName(n.host)
	if s.left[host] == 0 {
		return
	}
	n.later(2*time.Second+s.random(2*time.Second), func() {
		if n.started != mine || n.runs == "" || n.halting || s.left[host] == 0 {
			return
		}
		s.left[host]--
		s.struck[host]++
		s.failures++
		s.leaves++
		n.say214()
	})
}

// say214 is the end of a worker by a machine that is broken.
func (n *simNode) say214() {
	n.s.say("%s: its machine fails its workers", n.incarnation)
	n.failure = exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonNodeUnhealthy, Message: "Xid 79", Role: exitcodes.RoleRoot, NodeFault: true,
		Code: exitcodes.CodeNodeUnhealthy, Rank: -1, LocalRank: -1,
	}
	n.halting, n.alive[0] = true, false
	n.exits()
}

// hostWritten holds what a leader remembers of a host to what has happened there.
func (s *sim) hostWritten(kv store.KV) {
	host, _ := store.Unescape(strings.TrimPrefix(kv.Key, "hosts/"))
	h, err := rendezvous.ParseHost(kv.Key, kv.Value)
	if err != nil {
		s.violate("the leader writes what nobody can read: %v", err)
		return
	}
	before := s.seen[host]
	if before == nil || h.Round > before.Round && len(h.Faults) > 0 && h.Faults[len(h.Faults)-1].Round == h.Round {
		if h.Points > 0 {
			s.counted[host]++
		}
	}
	s.say("host %s: score %v in round %d, banned %v", host, h.Points, h.Round, h.Banned)
	s.seen[host], s.banned[host] = h, h.Banned
	if s.counted[host] > s.struck[host] {
		s.violate("%d faults of host %s are counted, and there were %d", s.counted[host], host, s.struck[host])
	}
}

// runsWithoutBanned reports whether a round runs that leaves a banned host out, whose node waits.
func (s *sim) runsWithoutBanned() bool {
	return s.job != nil && s.job.Phase == rendezvous.Running && len(s.job.Bans) > 0 && s.running[roundID(s.token, s.job.Round)] == 4 && s.waited != ""
}

// once does something as soon as that is so, with the lock held.
func (s *sim) once(is func() bool, do func()) {
	s.spawn(func() {
		for s.sleep(200 * time.Millisecond) {
			s.mu.Lock()
			if is() {
				do()
				s.mu.Unlock()
				return
			}
			s.mu.Unlock()
		}
	})
}

// sickJob is an elastic job of five, four of which suffice. Every restart admits whoever has come back; there are
// enough of them that one comes after a ban that the third fault brings late.
func sickJob(seed int64, sick map[int]int) simConfig {
	c := simConfig{seed: seed, n: 5, min: 4, saves: true, calm: true, sick: sick}
	for _, at := range []int{20, 36, 52, 68, 84, 100, 116} {
		c.faults = append(c.faults, fault{at: time.Duration(at) * time.Second, kind: "restart"})
	}
	return c
}

// TestASickHostIsBanned has one host of five fail in each of its rounds: after the third fault it is kept out, and the job
// comes to its end without it; its node says why it waits.
func TestASickHostIsBanned(t *testing.T) {
	for seed := range int64(4) {
		c := sickJob(seed, map[int]int{2: 1000})
		s := run(t, c)
		if s.wrong != "" {
			report(t, c, s)
		}
		if s.struck["boot2"] != 3 || s.counted["boot2"] != 3 || !s.banned["boot2"] || len(s.seen) != 1 {
			t.Errorf("seed %d: %d faults, %d counted, banned %v", seed, s.struck["boot2"], s.counted["boot2"], s.banned)
		}
		if r := s.previous; len(r.Members) != 4 || slices.ContainsFunc(r.Members, func(m rendezvous.Member) bool { return m.BootID == "boot2" }) {
			t.Errorf("seed %d: the last round is that of %+v", seed, r.Members)
		}
		if !strings.Contains(s.waited, "host boot2 is banned until") || !strings.Contains(s.waited, "NodeUnhealthy of n002") {
			t.Errorf("seed %d: its node has not said why it waits: %q", seed, s.waited)
		}
	}
}

// TestABanEnds puts all clocks forward by half a day, or lifts the ban: the host takes part again.
func TestABanEnds(t *testing.T) {
	for name, lift := range map[string]func(*sim){
		"in time":  func(s *sim) { s.jumped.Store(int64(6*time.Hour + time.Second)) },
		"by unban": func(s *sim) { s.byHandUnban("boot2") },
		"too soon": func(s *sim) { s.jumped.Store(int64(5 * time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := sickJob(1, map[int]int{2: 3})
			c.lift = lift
			s := run(t, c)
			if s.wrong != "" {
				report(t, c, s)
			}
			want := 5
			if name == "too soon" {
				want = 4
			}
			if len(s.previous.Members) != want || s.banned["boot2"] != (want == 4) || s.struck["boot2"] != 3 {
				t.Errorf("a last round of %d, banned %v, %d faults; what happened:\n%s", len(s.previous.Members), s.banned, s.struck["boot2"], strings.Join(s.log, "\n"))
			}
		})
	}
}

// TestASickFleet has every host fail in some rounds: not all are banned away, and the job comes to its end.
func TestASickFleet(t *testing.T) {
	for seed := range int64(3) {
		c := sickJob(seed, map[int]int{0: 3, 1: 4, 2: 5, 3: 3, 4: 3})
		s := run(t, c)
		if s.wrong != "" {
			report(t, c, s)
		}
		banned := 0
		for _, is := range s.banned {
			if is {
				banned++
			}
		}
		if banned > 1 {
			t.Errorf("seed %d: %v are banned", seed, slices.Sorted(maps.Keys(s.banned)))
		}
	}
}

// TestFaultsAreCountedOnce has leaders die before and after their writes, networks fail and clocks differ by up to an hour,
// while one host is sick: no fault is counted twice (hostWritten), and the job comes to its end.
func TestFaultsAreCountedOnce(t *testing.T) {
	seeds := int64(40)
	if testing.Short() {
		seeds = 8
	}
	counted := 0
	for seed := range seeds {
		c := simConfigOf(seed)
		c.n, c.min, c.sick, c.saves, c.grow, c.fatal, c.side, c.pinned = 6, 3, map[int]int{0: 5, 1: 1}, true, seed%2 == 0, false, false, false
		for i := range c.faults {
			c.faults[i].node %= c.n
		}
		c.skip, c.leader = int(seed%12), &fault{kind: simKinds[slices.Index(simKinds, "leader crashes before its write")+int(seed%3)], long: simPause}
		s := run(t, c)
		if s.wrong != "" {
			report(t, c, s)
		}
		counted += s.counted["boot0"]
	}
	if counted < int(seeds) {
		t.Errorf("only %d faults were counted in %d jobs: the test tests nothing", counted, seeds)
	}
}

// TestSizesInTheSimulator holds jobs of a few sizes to them, whatever happens to their nodes.
func TestSizesInTheSimulator(t *testing.T) {
	seeds := int64(60)
	if testing.Short() {
		seeds = 12
	}
	formed := map[int]int{}
	for seed := range seeds {
		c := simConfigOf(seed)
		c.n, c.min, c.sizes, c.fatal, c.side, c.grow = 8, 2, []int{2, 4, 8}, false, false, seed%2 == 0
		s := run(t, c)
		if s.wrong != "" {
			report(t, c, s)
		}
		for id, r := range s.rounds {
			if formed[len(r.Members)]++; s.spec.Size(len(r.Members)) != len(r.Members) {
				t.Errorf("seed %d: round %s has %d members", seed, id, len(r.Members))
			}
		}
	}
	if formed[4] == 0 || formed[8] == 0 {
		t.Errorf("rounds by size: %v: the test tests too little", formed)
	}
}

// TestSizesGoDownAndUp has eight come, takes five away for good, and then brings five back: rounds of 8, 2, and 8 again.
func TestSizesGoDownAndUp(t *testing.T) {
	for seed := range int64(4) {
		c := simConfig{seed: seed, n: 8, min: 2, sizes: []int{2, 4, 8}, calm: true}
		c.script = func(s *sim) {
			s.after(12*time.Second, func() {
				for _, n := range slices.Clone(s.nodes)[:5] {
					s.failures++
					n.die(false)
				}
			})
			s.after(50*time.Second, func() {
				for place := range 8 {
					if !slices.ContainsFunc(s.nodes, func(n *simNode) bool { return n.place == place }) {
						s.birth(place, 100+place)
					}
				}
			})
			s.after(56*time.Second, func() { s.send("grow", rendezvous.VerbRestart) })
		}
		s := run(t, c)
		if s.wrong != "" {
			report(t, c, s)
		}
		var got []int
		for round := range s.job.Round + 1 {
			got = append(got, len(s.rounds[roundID(s.token, round)].Members))
		}
		if len(got) != 3 || got[0] != 8 && got[0] != 4 || got[1] != 2 || got[2] != 8 { // 4, where the last came late
			t.Errorf("seed %d: rounds of %v, want 8, 2 and 8", seed, got)
		}
		if want := "with 2; the next size is 4 (2,4,8)"; !strings.Contains(s.spared, want) {
			t.Errorf("seed %d: the third has not said why it waits: %q", seed, s.spared)
		}
	}
}

// byHandUnban is what gangrun unban sends.
func (s *sim) byHandUnban(host string) {
	value, err := rendezvous.Encode(&rendezvous.Control{V: 1, ID: "unban", Verb: rendezvous.VerbUnban, Host: host})
	if err == nil {
		_, err = s.server.Commit(s.ctx, store.Txn{Then: []store.Op{store.Put("control/unban", value)}})
	}
	if err != nil {
		s.violate("command: %v", err)
	}
}
