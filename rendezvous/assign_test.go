package rendezvous

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestAssign(t *testing.T) {
	had := func(rank int) func(*Node) { return func(n *Node) { n.Rank = &rank } }
	again := func(n *Node) { n.Incarnation += "#2" }
	last := &Round{Members: []Member{{Name: "a", Incarnation: "a"}, {Name: "b", Incarnation: "b"}}}
	type there struct {
		name string
		edit []func(*Node)
	}
	is := func(name string, edit ...func(*Node)) there { return there{name, edit} }
	for name, tc := range map[string]struct {
		spec    Spec
		there   []there // the oldest first; the incarnation is the name, but for who is there again
		before  *Round
		chosen  []string
		missing []string
		spare   []string
	}{
		"by age": {spec: DefaultSpec(3), there: []there{is("c"), is("a"), is("b")}, chosen: []string{"c", "a", "b"}},
		"brought to a new store": {
			spec: DefaultSpec(3), there: []there{is("a", had(2)), is("b", had(0)), is("c", had(1))},
			chosen: []string{"b", "c", "a"},
		},
		"brought, with a hole for an older newcomer": {
			spec: DefaultSpec(3), there: []there{is("x"), is("b", had(0)), is("c", had(2))},
			chosen: []string{"b", "x", "c"},
		},
		"who brings a rank has a place before an older newcomer": {
			spec: DefaultSpec(2), there: []there{is("x"), is("a", had(0)), is("b", had(1))},
			chosen: []string{"a", "b"}, spare: []string{"x"},
		},
		"brought twice": {
			spec: DefaultSpec(2), there: []there{is("a", had(1)), is("b", had(1))}, chosen: []string{"b", "a"},
		},
		"brought, and too high": {
			spec: DefaultSpec(2), there: []there{is("a", had(7)), is("b", had(0))}, chosen: []string{"b", "a"},
		},
		"where there is a record, what is brought does not count": {
			spec: DefaultSpec(2), before: last, there: []there{is("b", had(0)), is("a", had(1))},
			chosen: []string{"a", "b"},
		},
		"a replacement has a place before an older newcomer": {
			spec: DefaultSpec(2), before: last, there: []there{is("x"), is("a", again), is("b")},
			chosen: []string{"a", "b"}, spare: []string{"x"},
		},
		"who is still there has a place before an older replacement": {
			spec: DefaultSpec(1), before: last, there: []there{is("a", again), is("b")},
			chosen: []string{"b"}, spare: []string{"a"},
		},
		"pinned, whatever was brought": {
			spec: DefaultSpec(2), there: []there{is("a", pin(1), had(0)), is("b", pin(0), had(1))},
			chosen: []string{"b", "a"},
		},
		"pinned twice, one had a rank before": {
			spec: DefaultSpec(2), there: []there{is("x", pin(0)), is("a", pin(0), had(0)), is("b", pin(1))},
			chosen: []string{"a", "b"}, spare: []string{"x"},
		},
		"pinned too high": {
			spec: DefaultSpec(2), there: []there{is("a", pin(2)), is("b", pin(0))},
			missing: []string{"rank 1"}, spare: []string{"a"},
		},
		"who is missing": {spec: DefaultSpec(2), before: last, there: []there{is("a")}, missing: []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var candidates []named
			for i, c := range tc.there {
				n := &Node{Incarnation: c.name}
				for _, f := range c.edit {
					f(n)
				}
				candidates = append(candidates, named{c.name, NodeEntry{Node: n, CreateRev: int64(i + 1)}})
			}
			a := assign(tc.spec, candidates, tc.before)
			chosen := names(a.chosen)
			if !slices.Equal(chosen, tc.chosen) || !slices.Equal(a.missing, tc.missing) ||
				!slices.Equal(a.spare, tc.spare) {
				t.Errorf("chosen %v, missing %v, spare %v; want %v, %v, %v",
					chosen, a.missing, a.spare, tc.chosen, tc.missing, tc.spare)
			}
		})
	}
}

func TestPinnedRanks(t *testing.T) {
	s := newStage(t, DefaultSpec(3))
	s.join("a", pin(2))
	s.join("b", pin(0))
	d := s.settle(ActCreate)
	if !reflect.DeepEqual(d.Why.Nodes, []string{"rank 1"}) {
		t.Errorf("missing %v, want rank 1", d.Why.Nodes)
	}
	s.join("d", pin(0))
	if d = s.settle(); !strings.Contains(d.Why.Text, "without a place") {
		t.Errorf("nothing about a rank given twice: %s", d.Why.Text)
	}
	s.join("c", pin(1))
	s.run(ActForm)
	if s.ranks() != "bca" {
		t.Errorf("ranks %s, want bca", s.ranks())
	}
	s.fails("b")
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
	if s.ranks() != "bca" {
		t.Errorf("ranks %s after a restart, want bca", s.ranks())
	}
}

func TestRanksStayAndAReplacementTakesTheHole(t *testing.T) {
	s := runningStage(t, DefaultSpec(4))
	s.join("z") // a spare
	s.settle()
	s.expire("b")
	s.settle()
	s.sleep(DefaultFence)
	s.settle(ActStop)
	s.stopped(StopLoss, "b")
	s.stopsAll()
	s.settle(ActForm)
	if s.ranks() != "azcd" {
		t.Errorf("ranks %s, want azcd: the spare takes the place of b", s.ranks())
	}
	if s.v.Job.Budget.Used != 1 {
		t.Errorf("a loss without a word costs %d restarts, want 1", s.v.Job.Budget.Used)
	}
	s.started()
	s.put("c", leaves)
	s.settle(ActStop)
	s.stopsAll()
	s.put("c", hasLeft)
	s.settle(ActGather)
	s.join("c")
	s.settle(ActForm)
	if s.ranks() != "azcd" {
		t.Errorf("ranks %s, want azcd: the replacement of c takes its place", s.ranks())
	}
	if b := s.v.Job.Budget; b.Used != 1 || b.Preemptions != 1 {
		t.Errorf("budget %+v: a departure has its own", b)
	}
}

func TestAReplacementIsKnownByItsName(t *testing.T) {
	s := runningStage(t, DefaultSpec(3))
	s.expire("b")
	s.settle()
	s.join("b") // same boot and PID namespace: proof
	s.settle(ActStop)
	s.stopsAll()
	s.join("x")
	s.settle(ActForm)
	if s.ranks() != "abc" {
		t.Errorf("ranks %s, want abc", s.ranks())
	}
}
