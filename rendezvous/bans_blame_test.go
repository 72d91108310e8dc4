package rendezvous

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestWhoIsBlamed is for what a host is blamed: what the machine does, and a hang where something tells on which node it
// began.
func TestWhoIsBlamed(t *testing.T) {
	hang := func(role string) func(*Outcome) {
		return func(o *Outcome) { o.Reason, o.Role, o.Code = exitcodes.ReasonHang, role, exitcodes.CodeHang }
	}
	for _, tc := range []struct {
		name  string
		fails func(*stage)
		want  string
	}{
		{"an ordinary failure", func(s *stage) { s.fails("b") }, ""},
		{"a broken GPU", func(s *stage) { s.fails("b", atFault); s.put("b", leaves) }, "boot-b"},
		{"a broken machine and a bug elsewhere", func(s *stage) { s.fails("a"); s.fails("b", atFault); s.put("b", leaves) }, "boot-b"},
		{"two broken machines", func(s *stage) { s.fails("c", atFault); s.fails("b", atFault) }, "boot-b boot-c"},
		{"a hang of a rank there", func(s *stage) { s.fails("b", hang("root")) }, "boot-b"},
		{"a hang of nobody knows whom", func(s *stage) { s.fails("b", hang("suspect")) }, ""},
		{"a hang, and c has come least far", func(s *stage) {
			s.fails("b", hang("cascade"))
			s.v.Reached = map[string]*Reached{
				"a": {Round: s.v.Job.Round, Step: ptr(int64(7))}, "b": {Round: s.v.Job.Round, Step: ptr(int64(7))},
				"c": {Round: s.v.Job.Round, Step: ptr(int64(5))},
			}
		}, "boot-c"},
		{"a hang, and two have come least far", func(s *stage) {
			s.fails("b", hang("cascade"))
			s.v.Reached = map[string]*Reached{
				"a": {Round: s.v.Job.Round, Step: ptr(int64(7))}, "b": {Round: s.v.Job.Round, Step: ptr(int64(5))},
				"c": {Round: s.v.Job.Round, Step: ptr(int64(5))},
			}
		}, ""},
		{"a machine that its own probes find sick", func(s *stage) {
			s.fails("a")
			s.decide()
			s.stopsAll()
			s.put("b", leaves, func(n *Node) { n.Sick = "GPU 3 is lost" })
		}, "boot-b"},
		{"the same of a node that has left already", func(s *stage) {
			s.fails("a")
			s.decide()
			s.stopsAll()
			s.put("b", hasLeft, func(n *Node) { n.Sick = "GPU 3 is lost" })
		}, "boot-b"},
		{"a departure", func(s *stage) { s.put("b", leaves) }, ""},
		{"a loss", func(s *stage) { s.expire("b"); s.sleep(2 * s.spec.Fence.of()) }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := runningStage(t, sickSpec(3, 3))
			tc.fails(s)
			for range 20 { // every look, also of a leader that knows nothing of the one before
				s.decide()
				s.v.Observations = Observations{}
				s.stopsAll()
			}
			var got []string
			for host, h := range s.v.Hosts {
				got = append(got, host)
				if h.Points != 1 || len(h.Faults) != 1 {
					t.Errorf("%s was counted %v times: %+v", host, h.Points, h.Faults)
				}
			}
			if slices.Sort(got); strings.Join(got, " ") != tc.want {
				t.Errorf("blamed: %q, want %q; %+v", got, tc.want, s.v.Job.Stop)
			}
		})
	}
}

// TestTheOnlyOneOfItsRole takes part in an elastic job although its host is banned: the job cannot do without a role.
func TestTheOnlyOneOfItsRole(t *testing.T) {
	role := func(r string) func(*Node) { return func(n *Node) { n.Role = r } }
	for name, tt := range map[string]struct {
		also []string // roles of others on hosts that are fit
		want string   // who is chosen
	}{
		"it is needed":         {nil, "a chief on host-a, b worker on host-b, c worker on host-c"},
		"another one is there": {[]string{"chief"}, "b worker on host-b, c worker on host-c, x chief on host-x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, sickSpec(2, 5))
			s.v.Hosts = map[string]*Host{"host-a": {V: 1, Points: banAt, At: s.now}}
			s.join("a", onHost("host-a"), role("chief"))
			s.join("a2", onHost("host-a"), role("worker"))
			s.join("b", onHost("host-b"), role("worker"))
			s.join("c", onHost("host-c"), role("worker"))
			for _, r := range tt.also {
				s.join("x", onHost("host-x"), role(r))
			}
			s.settle(ActCreate, ActForm)
			var got []string
			for _, m := range s.v.Round.Members {
				got = append(got, fmt.Sprintf("%s %s on %s", m.Name, m.Role, m.HostName()))
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("%s; want %s", text, tt.want)
			}
		})
	}
}
