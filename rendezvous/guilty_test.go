package rendezvous

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestGuilty chooses among what nodes of two ranks each tell: n0 has the ranks 0 and 1, n1 has 2 and 3, and so on.
func TestGuilty(t *testing.T) {
	failed := func(role string, rank int, names ...int) *Outcome {
		return &Outcome{
			Verdict: exitcodes.Retry, Code: 210, Reason: "PeerLost", Role: role, Rank: rank, Names: names,
			Message: fmt.Sprintf("rank %d lost its peer", rank), Evidence: "Connection closed by peer",
		}
	}
	lost := func(role string, rank int, hosts ...string) *Outcome {
		o := failed(role, rank)
		o.Hosts = hosts
		return o
	}
	said := func(rank int, beside *Outcome) *Outcome {
		if beside == nil {
			beside = &Outcome{Rank: -1}
		}
		beside.Said = &Said{Verdict: exitcodes.Fatal, Code: 1, Reason: "CodeError", Rule: "code.syntax", Evidence: fmt.Sprintf("KeyError: %d", rank), Rank: rank}
		return beside
	}
	fatal := func(o *Outcome) *Outcome {
		o.Verdict, o.Code, o.Message = exitcodes.Fatal, 3, "rank 5 exited 3"
		return o
	}
	for name, tt := range map[string]struct {
		reports []report
		node    string
		verdict exitcodes.Verdict
		rank    int
		says    string
	}{
		"nobody":                         {nil, "", "", 0, ""},
		"the first root by the store":    {[]report{{"n0", 9, failed("root", 0)}, {"n1", 8, failed("root", 2)}}, "n1", exitcodes.Retry, 2, "rank 2"},
		"a root over a first echo":       {[]report{{"n0", 1, failed("cascade", 0)}, {"n1", 2, fatal(failed("root", 2))}}, "n1", exitcodes.Fatal, 2, "exited 3"},
		"an echo alone":                  {[]report{{"n0", 1, failed("cascade", 0)}}, "n0", exitcodes.Retry, 0, "lost its peer"},
		"what another's worker had said": {[]report{{"n0", 1, failed("cascade", 0)}, {"n1", 2, said(3, nil)}}, "n1", exitcodes.Fatal, 3, "rank 3 was stopped when it had failed already: KeyError: 3; the other candidate: Connection"},
		"what a worker beside it had":    {[]report{{"n0", 1, said(1, failed("suspect", 0))}}, "n0", exitcodes.Fatal, 1, "KeyError: 1"},
		"a root over what was said":      {[]report{{"n0", 1, failed("cascade", 0)}, {"n1", 2, said(3, nil)}, {"n2", 3, failed("root", 4)}}, "n2", exitcodes.Retry, 4, "rank 4"},
		"of two, the first":              {[]report{{"n0", 1, failed("cascade", 0)}, {"n1", 3, said(3, nil)}, {"n2", 2, said(4, nil)}}, "n2", exitcodes.Fatal, 4, "KeyError: 4"},
		"of two, the one that is named":  {[]report{{"n0", 1, failed("suspect", 0, 3, 9)}, {"n1", 3, said(3, nil)}, {"n2", 2, said(4, nil)}}, "n1", exitcodes.Fatal, 3, "KeyError: 3"},
		"the named one said nothing":     {[]report{{"n0", 1, failed("suspect", 0, 5, 99)}}, "n0", exitcodes.Retry, 0, "lost its peer; the suspect is rank 5 on n2, named by rank 0: it said nothing itself of a failure"},
		"the named one lost it, too":     {[]report{{"n0", 1, failed("suspect", 0, 5)}, {"n2", 2, failed("cascade", 5)}}, "n0", exitcodes.Retry, 0, "lost its peer\x00"},
		"at an address":                  {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.2")}}, "n0", exitcodes.Retry, 0, "lost its peer; the suspect is node n2 (10.0.0.2), named by rank 0: it said nothing itself of a failure\x00"},
		"at a name":                      {[]report{{"n0", 1, lost("cascade", 0, "n2.cluster.local")}}, "n0", exitcodes.Retry, 0, "the suspect is node n2 (n2.cluster.local)"},
		"at its machine's name":          {[]report{{"n0", 1, lost("cascade", 0, "gpu-2.hpc")}}, "n0", exitcodes.Retry, 0, "the suspect is node n2 (gpu-2.hpc)"},
		"at an address as IPv6 has it":   {[]report{{"n0", 1, lost("cascade", 0, "::ffff:10.0.0.2")}}, "n0", exitcodes.Retry, 0, "the suspect is node n2 (::ffff:10.0.0.2)"},
		"at two members' machine":        {[]report{{"n0", 1, lost("cascade", 0, "gpu-4")}}, "n0", exitcodes.Retry, 0, "lost its peer\x00"},
		"at the address of one rank":     {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.3")}}, "n0", exitcodes.Retry, 0, "the suspect is rank 6 on n3 (10.0.0.3), named by rank 0"},
		"at its own address":             {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.0")}}, "n0", exitcodes.Retry, 0, "lost its peer\x00"},
		"at nobody's address":            {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.9")}}, "n0", exitcodes.Retry, 0, "lost its peer\x00"},
		"at two members' address":        {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.4")}}, "n0", exitcodes.Retry, 0, "lost its peer\x00"},
		"an address that has spoken":     {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.2")}, {"n2", 2, failed("cascade", 4)}}, "n0", exitcodes.Retry, 0, "lost its peer\x00"},
		"of two, the one at an address":  {[]report{{"n0", 1, lost("cascade", 0, "10.0.0.1")}, {"n2", 2, said(4, nil)}, {"n1", 3, said(3, nil)}}, "n1", exitcodes.Fatal, 3, "KeyError: 3"},
		"nobody failed by himself":       {[]report{{"n1", 2, said(3, nil)}}, "n1", exitcodes.Fatal, 3, "had failed already: KeyError: 3"},
	} {
		t.Run(name, func(t *testing.T) {
			var r Round
			nodes := map[string]NodeEntry{}
			for i, slots := range []int{2, 2, 2, 1, 2, 2} {
				name := fmt.Sprint("n", i)
				r.Members = append(r.Members, Member{Name: name, Slots: slots})
				nodes[name] = NodeEntry{Node: &Node{Address: fmt.Sprint("10.0.0.", min(i, 4)), Host: fmt.Sprint("gpu-", min(i, 4))}}
			}
			var before []string
			for _, r := range tt.reports {
				before = append(before, r.outcome.Message)
			}
			turn := &turn{View: View{Round: &r, Nodes: nodes}}
			got, found := turn.guilty(tt.reports)
			if found != (tt.node != "") {
				t.Fatalf("found %v: %+v", found, got)
			}
			for i, r := range tt.reports {
				if r.outcome.Message != before[i] {
					t.Errorf("the report of %s was changed: %q", r.node, r.outcome.Message)
				}
			}
			if !found {
				return
			}
			o := got.outcome
			if got.node != tt.node || o.Verdict != tt.verdict || o.Rank != tt.rank || !strings.Contains(o.Message+"\x00", tt.says) {
				t.Errorf("%s: %s of rank %d, %q; want %s: %s of rank %d, %q", got.node, o.Verdict, o.Rank, o.Message, tt.node, tt.verdict, tt.rank, tt.says)
			}
			if strings.Contains(o.Message, "rank 99") {
				t.Errorf("%q names a rank that nobody has", o.Message)
			}
			if got := exitcodes.CodeVerdict(o.Code); got != tt.verdict {
				t.Errorf("code %d for %s", o.Code, tt.verdict)
			}
		})
	}
}
