// Package network gives tests machines of their own in the network: namespaces that are linked to this one and to each
// other, and what can go wrong between them.
package network

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// Network is some namespaces that reach each other and this machine.
type Network struct {
	// Host is the address of this machine in it.
	Host string

	t      testing.TB
	id     int
	bridge string
	spaces int
}

// New makes a network without namespaces so far. It is removed when the test ends. Where that is not allowed, New ends the
// test as harness.Missing does.
func New(t testing.TB) *Network {
	t.Helper()
	harness.Program(t, "ip", "install iproute2")
	if os.Geteuid() != 0 {
		harness.Missing(t, "a network namespace", "run the tests as root")
	}
	n := &Network{t: t}
	var out []byte
	err := fmt.Errorf("no number is free")
	for range 20 { // another test may have that number
		n.id = 1 + rand.N(250)
		n.bridge, n.Host = fmt.Sprintf("gr%d", n.id), fmt.Sprintf("10.213.%d.1", n.id)
		if out, err = exec.Command("ip", "link", "add", n.bridge, "type", "bridge").CombinedOutput(); err == nil {
			break
		}
	}
	if err != nil {
		harness.Missing(t, "a network bridge ("+strings.TrimSpace(string(out))+")", "run the tests where ip link works")
	}
	t.Cleanup(func() { n.do("ip", "link", "delete", n.bridge) })
	n.do("ip", "address", "add", n.Host+"/24", "dev", n.bridge)
	n.do("ip", "link", "set", n.bridge, "up")
	return n
}

func (n *Network) do(argv ...string) {
	n.t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		n.t.Errorf("%q: %v: %s", argv, err, out)
	}
}

// Space is a namespace: a machine.
type Space struct {
	Name, Address string

	n    *Network
	here string // this end of the link
}

// Join adds a namespace, with a link.
func (n *Network) Join() *Space {
	n.t.Helper()
	n.spaces++
	s := &Space{
		Name: fmt.Sprintf("gangrun%d-%d-%d", os.Getpid(), n.id, n.spaces), n: n,
		Address: fmt.Sprintf("10.213.%d.%d", n.id, 1+n.spaces), here: fmt.Sprintf("gr%d-%d", n.id, n.spaces),
	}
	if out, err := exec.Command("ip", "netns", "add", s.Name).CombinedOutput(); err != nil {
		harness.Missing(n.t, "a network namespace ("+strings.TrimSpace(string(out))+")", "run the tests where ip netns works")
	}
	n.t.Cleanup(func() { n.do("ip", "netns", "delete", s.Name) })
	n.do("ip", "link", "add", s.here, "type", "veth", "peer", "name", "out", "netns", s.Name)
	n.do("ip", "link", "set", s.here, "master", n.bridge, "up")
	n.do("ip", "-n", s.Name, "address", "add", s.Address+"/24", "dev", "out")
	n.do("ip", "-n", s.Name, "link", "set", "lo", "up")
	s.Heal()
	return s
}

// Enter is what has to come before a command that is to run there.
func (s *Space) Enter() []string { return []string{"ip", "netns", "exec", s.Name} }

// Do runs a command there.
func (s *Space) Do(argv ...string) {
	s.n.t.Helper()
	s.n.do(append(s.Enter(), argv...)...)
}

// Cut takes the link away, and Heal brings it back.
func (s *Space) Cut() { s.n.do("ip", "-n", s.Name, "link", "set", "out", "down") }

// Heal is the end of Cut.
func (s *Space) Heal() { s.n.do("ip", "-n", s.Name, "link", "set", "out", "up") }

// Cuts are the ways to cut a namespace off from this machine, each with what heals it: both directions; what comes from it,
// so that nothing is heard of it, while it hears others; what goes to it, so that its requests arrive and no answer comes
// back; and all of it, within the namespace, by a rule.
var Cuts = map[string]func(s *Space) (heal func()){
	"both directions": func(s *Space) func() { s.Cut(); return s.Heal },
	"from it": func(s *Space) func() {
		s.n.do("ip", "-n", s.Name, "route", "add", "blackhole", s.n.Host+"/32")
		return func() { s.n.do("ip", "-n", s.Name, "route", "delete", "blackhole", s.n.Host+"/32") }
	},
	"to it": func(s *Space) func() {
		s.n.do("ip", "route", "add", "blackhole", s.Address+"/32")
		return func() { s.n.do("ip", "route", "delete", "blackhole", s.Address+"/32") }
	},
	"a firewall": func(s *Space) func() { // which drops what it sees, and answers nobody
		return s.rules("-j", "DROP")
	},
}

// Lose loses packets in both directions, each with that probability.
func (s *Space) Lose(probability float64) (heal func()) {
	return s.rules("-m", "statistic", "--mode", "random", "--probability", fmt.Sprint(probability), "-j", "DROP")
}

// rules adds a rule for what comes and what goes.
func (s *Space) rules(rule ...string) (heal func()) {
	harness.Program(s.n.t, "iptables", "install iptables")
	each := func(what string) {
		for _, chain := range []string{"INPUT", "OUTPUT"} {
			s.Do(append([]string{"iptables", "-w", what, chain}, rule...)...)
		}
	}
	each("-A")
	return func() { each("-D") }
}

// Narrow lets so many kilobits a second through, in each direction.
func (s *Space) Narrow(kbit int) (heal func()) {
	limit := []string{"root", "tbf", "rate", fmt.Sprint(kbit, "kbit"), "burst", "4kb", "latency", "200ms"}
	s.n.do(append([]string{"tc", "qdisc", "add", "dev", s.here}, limit...)...)
	s.Do(append([]string{"tc", "qdisc", "add", "dev", "out"}, limit...)...)
	return func() {
		s.n.do("tc", "qdisc", "delete", "dev", s.here, "root")
		s.Do("tc", "qdisc", "delete", "dev", "out", "root")
	}
}
