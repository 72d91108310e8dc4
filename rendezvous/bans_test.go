package rendezvous

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// sickSpec is that of a job of as many nodes with as few, which restarts for ever.
func sickSpec(least, most int) Spec {
	s := DefaultSpec(most)
	s.MinNodes, s.LastCall, s.LastCallRestart = least, 0, 0
	s.Restarts.Max, s.Restarts.MaxSameFailure, s.Restarts.Backoff = 1000, 0, 0
	return s
}

// sickStage runs such a job with three nodes.
func sickStage(t *testing.T, least, most int) *stage {
	s := newStage(t, sickSpec(least, most))
	for _, name := range []string{"a", "b", "c"} {
		s.join(name)
	}
	s.run(ActCreate, ActForm)
	return s
}

func onHost(host string) func(*Node) { return func(n *Node) { n.Host = host } }

// atFault is a failure for which the machine is to blame.
func atFault(o *Outcome) {
	o.NodeFault, o.Reason, o.Code = true, exitcodes.ReasonNodeUnhealthy, exitcodes.CodeNodeUnhealthy
}

// sickens lets the node of a sick host fail, go, and be replaced there.
func (s *stage) sickens(name string) {
	s.Helper()
	host := s.v.Nodes[name].HostName()
	s.fails(name, atFault)
	s.put(name, leaves)
	s.decide()
	s.stopsAll()
	s.put(name, hasLeft)
	s.join(name, onHost(host))
	for range 10 {
		if s.decide(); s.v.Job.Phase == Running {
			s.started()
			return
		}
	}
	s.Fatalf("no round: %s; %+v", s.last.Why.Text, s.v.Job)
}

// restarts lets a node fail, all stop, and the next round form.
func (s *stage) restarts(name string, change ...func(*Outcome)) {
	s.Helper()
	s.fails(name, change...)
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
}

func (s *stage) bans() string {
	var list []string
	for _, b := range s.v.Job.Bans {
		list = append(list, b.Host)
	}
	return strings.Join(list, " ")
}

// TestBanned is a job of four with a spare: the host on which a node fails three times is kept out then, the spare takes
// its rank, and six hours later it may take part again.
func TestBanned(t *testing.T) {
	s := newStage(t, sickSpec(4, 4))
	for _, name := range []string{"a", "b", "c", "d"} {
		s.join(name, onHost("host-"+name))
	}
	s.run(ActCreate, ActForm)
	s.sickens("b")
	s.sickens("b")
	if s.bans() != "" || s.ranks() != "abcd" {
		t.Fatalf("after two faults: banned %q, ranks %s", s.bans(), s.ranks())
	}
	s.join("e", onHost("host-e"))
	s.sickens("b")
	if s.bans() != "host-b" || s.ranks() != "aecd" {
		t.Fatalf("after three faults: banned %q, ranks %s, %+v", s.bans(), s.ranks(), s.v.Hosts)
	}
	h := s.v.Hosts["host-b"]
	if h == nil || !h.Banned || h.Points != 3 || len(h.Faults) != 3 || len(s.v.Hosts) != 1 {
		t.Fatalf("remembered: %+v", s.v.Hosts)
	}
	if b := s.v.Job.Ban("host-b", s.now); b == nil || b.Until.Sub(s.now) != halfLife || !strings.Contains(b.Says(), "NodeUnhealthy of b in round 2") {
		t.Fatalf("the nodes are told %+v", b)
	}
	again := func() {
		s.restarts("a")
		s.started()
	}
	s.sleep(halfLife - time.Second)
	if again(); s.ranks() != "aecd" || s.bans() != "host-b" {
		t.Errorf("before its end: banned %q, ranks %s", s.bans(), s.ranks())
	}
	s.sleep(2 * time.Second)
	s.expire("e")
	s.decide()
	s.sleep(s.spec.Fence.of())
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
	if s.ranks() != "abcd" || s.bans() != "" || s.v.Hosts["host-b"].Banned {
		t.Errorf("after its end: banned %q, ranks %s, %+v", s.bans(), s.ranks(), s.v.Hosts["host-b"])
	}
	s.started()
	s.sleep(4 * halfLife)
	again()
	if len(s.v.Hosts) != 0 {
		t.Errorf("a day later it is still remembered: %+v", s.v.Hosts)
	}
}

// TestNeeded: no job that could run waits for a ban to end.
func TestNeeded(t *testing.T) {
	t.Run("all nodes are needed", func(t *testing.T) {
		s := sickStage(t, 3, 3)
		for range 5 {
			s.sickens("b")
		}
		if s.bans() != "boot-b" || s.ranks() != "abc" {
			t.Errorf("banned %q, ranks %s", s.bans(), s.ranks())
		}
		s.join("d")
		s.restarts("a")
		if s.ranks() != "adc" {
			t.Errorf("a spare has come: ranks %s", s.ranks())
		}
	})
	t.Run("a pinned rank is needed", func(t *testing.T) {
		s := newStage(t, sickSpec(2, 2))
		s.join("a", pin(0))
		s.join("b", pin(1), onHost("x"))
		s.run(ActCreate, ActForm)
		s.v.Hosts = map[string]*Host{"x": {V: 1, Points: 9, At: s.now}}
		s.restarts("a")
		if s.ranks() != "ab" {
			t.Errorf("ranks %s", s.ranks())
		}
	})
	t.Run("an elastic job shrinks for a ban, not below its least", func(t *testing.T) {
		s := sickStage(t, 2, 4)
		for range 3 {
			s.sickens("b")
		}
		if s.ranks() != "ac" {
			t.Errorf("ranks %s", s.ranks())
		}
		s.expire("a")
		s.sleep(2 * s.spec.Fence.of())
		for range 5 {
			s.decide()
			s.sleep(2 * s.spec.Fence.of())
			s.stopsAll()
		}
		if s.v.Job.Phase != Running || len(s.ranks()) != 2 || !strings.Contains(s.ranks(), "b") {
			t.Errorf("%s, ranks %s", s.v.Job.Phase, s.ranks())
		}
	})
}

// TestFleet: where all are sick only the worst are kept out, one of ten.
func TestFleet(t *testing.T) {
	for _, tc := range []struct{ nodes, sick, banned int }{
		{5, 5, 1}, {5, 1, 1}, {9, 9, 1}, {19, 19, 1}, {20, 20, 2}, {40, 40, 4}, {40, 3, 3}, {40, 0, 0},
	} {
		s := newStage(t, sickSpec(1, tc.nodes))
		s.v.Hosts = map[string]*Host{}
		for i := range tc.nodes {
			name := fmt.Sprintf("n%02d", i)
			s.join(name, onHost(name))
			if i < tc.sick {
				s.v.Hosts[name] = &Host{V: 1, Points: 3 + float64(i), At: s.now, Round: -1}
			}
		}
		s.run(ActCreate, ActForm)
		if got := len(s.v.Job.Bans); got != tc.banned || len(s.v.Round.Members) != tc.nodes-tc.banned {
			t.Errorf("%+v: %d banned, a round of %d", tc, got, len(s.v.Round.Members))
		}
		for _, b := range s.v.Job.Bans { // the worst
			if s.v.Hosts[b.Host].Points < 3+float64(tc.sick-tc.banned) {
				t.Errorf("%+v: banned %s with %v", tc, b.Host, s.v.Hosts[b.Host].Points)
			}
		}
		marked := 0
		for _, h := range s.v.Hosts {
			if h.Banned {
				marked++
			}
		}
		if marked != tc.banned {
			t.Errorf("%+v: %d records say that they are banned", tc, marked)
		}
	}
}

// TestUnban lifts a ban and what led to it, and a fault of this very round is not counted again.
func TestUnban(t *testing.T) {
	s := sickStage(t, 2, 3)
	for range 3 {
		s.sickens("b")
	}
	s.command("x", VerbUnban, func(c *Control) { c.Host = "boot-b" })
	s.command("y", VerbUnban, func(c *Control) { c.Host = "nobody" })
	s.settle(ActCommand)
	if s.bans() != "" || s.v.Hosts["boot-b"].Points != 0 || s.v.Hosts["boot-b"].Banned || s.v.Hosts["nobody"] != nil {
		t.Fatalf("banned %q, %+v", s.bans(), s.v.Hosts["boot-b"])
	}
	if states := Hosts(s.v, s.now); len(states) != 0 {
		t.Errorf("still shown: %+v", states)
	}
	s.restarts("a")
	if len(s.ranks()) != 3 {
		t.Errorf("ranks %s", s.ranks())
	}

	s.started()
	s.fails("c", atFault)
	s.decide()
	if s.v.Hosts["boot-c"] == nil {
		t.Fatal("not counted")
	}
	s.command("z", VerbUnban, func(c *Control) { c.Host = "boot-c" })
	s.decide()
	s.decide() // its outcome is still there
	if h := s.v.Hosts["boot-c"]; h.Points != 0 {
		t.Errorf("counted again: %+v", h)
	}
}

// TestOnlySoManyHosts: of more than are remembered those with the lowest scores go, and where all have had a fault in this
// round no more are counted: the leader comes to rest.
func TestOnlySoManyHosts(t *testing.T) {
	s := runningStage(t, sickSpec(3, 3))
	s.v.Hosts = map[string]*Host{}
	for i := range maxHosts {
		s.v.Hosts[fmt.Sprint("h", i)] = &Host{V: 1, Points: 1 + float64(i), At: s.now, Round: -1}
	}
	s.fails("b", atFault)
	s.settle(ActStop)
	if s.v.Hosts["boot-b"] == nil || s.v.Hosts["h0"] != nil || len(s.v.Hosts) != maxHosts {
		t.Errorf("%d hosts: %+v", len(s.v.Hosts), s.v.Hosts["boot-b"])
	}
	for name := range s.v.Hosts {
		s.v.Hosts[name] = &Host{V: 1, Points: 1, At: s.now, Round: s.v.Job.Round}
	}
	delete(s.v.Hosts, "boot-b")
	s.v.Hosts["h0"] = &Host{V: 1, Points: 1, At: s.now, Round: s.v.Job.Round}
	s.settle()
}

// TestManyHostsAtOnce: where many machines fail in one round, what is known of them changes over several decisions, each
// small enough for one transaction.
func TestManyHostsAtOnce(t *testing.T) {
	const nodes = 60
	s := newStage(t, sickSpec(nodes, nodes))
	for i := range nodes {
		s.join(fmt.Sprintf("n%02d", i))
	}
	s.run(ActCreate, ActForm)
	s.v.Hosts = map[string]*Host{}
	for i := range maxHosts {
		s.v.Hosts[fmt.Sprint("h", i)] = &Host{V: 1, Points: forgotten / 2, At: s.now, Round: -2}
	}
	s.all(func(n *Node) { n.Sick = "its GPU has gone" })
	for range 10 {
		d := s.decide()
		if len(d.Hosts) > hostChanges+2 {
			t.Fatalf("%d records of hosts in one transaction", len(d.Hosts))
		}
		if d.Action == ActWait {
			break
		}
	}
	s.settle()
	if s.v.Hosts["h0"] != nil || s.v.Hosts["boot-n00"] == nil || len(s.v.Hosts) != maxHosts {
		t.Errorf("%d hosts are remembered, the first as %+v", len(s.v.Hosts), s.v.Hosts["boot-n00"])
	}
}
