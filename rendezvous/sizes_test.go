package rendezvous

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func sizes(list ...int) Spec {
	s := sickSpec(list[0], list[len(list)-1])
	s.Sizes = list
	return s
}

func TestSize(t *testing.T) {
	for _, tc := range []struct {
		spec Spec
		want string // of 0, 1, 2, ... nodes
		text string
	}{
		{sizes(2, 4, 8), "0 0 2 2 4 4 4 4 8 8", "2,4,8"},
		{sizes(1, 3), "0 1 1 3 3 3 3 3 3 3", "1,3"},
		{sizes(4), "0 0 0 0 4 4 4 4 4 4", "4"},
		{sickSpec(2, 4), "0 0 2 3 4 4 4 4 4 4", "2:4"},
		{sickSpec(3, 3), "0 0 0 3 3 3 3 3 3 3", "3"},
	} {
		var got []string
		for nodes := range 10 {
			got = append(got, fmt.Sprint(tc.spec.Size(nodes)))
		}
		if text := strings.Join(got, " "); text != tc.want || tc.spec.NodesText() != tc.text {
			t.Errorf("%s: %s, want %s of %s", tc.spec.NodesText(), text, tc.want, tc.text)
		}
	}
	for size, want := range map[int]int{0: 2, 1: 2, 2: 4, 4: 8, 5: 8, 8: 0} {
		if got := sizes(2, 4, 8).NextSize(size); got != want {
			t.Errorf("above %d: %d, want %d", size, got, want)
		}
	}
	a, b := sizes(2, 4, 8), sizes(2, 8)
	if a.Hash() == b.Hash() || fmt.Sprint(a.Diff(b)) != "[sizes: [2 4 8], here [2 8]]" || len(a.Diff(sizes(2, 4, 8))) != 0 {
		t.Errorf("%v", a.Diff(b))
	}
}

// TestSizes is a job of 2, 4 or 8 nodes that comes, loses nodes and gets others: always the largest round that can be formed,
// those that are members keep their ranks as far as there are such, and the others wait.
func TestSizes(t *testing.T) {
	s := newStage(t, sizes(2, 4, 8))
	s.spec.LastCall = Duration(10 * time.Second)
	s.join("a")
	if d := s.settle(ActCreate); !strings.Contains(d.Why.Text, "1 of 2 nodes") {
		t.Errorf("waits: %s", d.Why.Text)
	}
	for _, name := range []string{"b", "c", "d", "e"} {
		s.join(name)
	}
	if d := s.settle(ActCall); !strings.Contains(d.Why.Text, "last call: 4 of at most 8") {
		t.Errorf("waits: %s", d.Why.Text)
	}
	s.sleep(10 * time.Second)
	s.run(ActForm)
	if s.ranks() != "abcd" {
		t.Fatalf("of five: %s", s.ranks())
	}
	lose := func(names ...string) {
		s.Helper()
		for _, name := range names {
			s.expire(name)
		}
		s.settle()
		s.sleep(s.spec.Fence.of())
		s.settle(ActStop)
		s.stopsAll()
		s.settle(ActForm)
		s.started()
	}
	if lose("b"); s.ranks() != "aecd" {
		t.Errorf("one of five lost, and the fifth was there: %s", s.ranks())
	}
	if lose("a"); s.ranks() != "ce" {
		t.Errorf("three are left: %s", s.ranks())
	}
	kept := s.ranks()
	for _, name := range []string{"f", "g"} {
		s.join(name)
	}
	s.fails("e")
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
	s.started()
	if len(s.ranks()) != 4 || s.ranks()[:2] != kept {
		t.Errorf("two have come: %s, before %s", s.ranks(), kept)
	}
}

// TestSizesGrow grows at a checkpoint only where the next size can be formed: a round that ends for less would be formed
// again as it was.
func TestSizesGrow(t *testing.T) {
	spec := sizes(2, 4)
	spec.Grow, spec.Resume.Look = GrowCheckpoint, true
	s := newStage(t, spec)
	for _, name := range []string{"a", "b", "c"} {
		s.join(name, checkpoints(10))
	}
	s.run(ActCreate, ActForm)
	s.all(checkpoints(20))
	if d := s.settle(); s.v.Job.Phase != Running {
		t.Fatalf("%+v", d)
	}
	s.join("d", checkpoints(20))
	s.settle(ActStop)
	s.stopped(StopGrow, "")
	s.stopsAll()
	s.all(checkpoints(20))
	for s.v.Job.Phase != Running {
		s.decide()
	}
	if len(s.ranks()) != 4 {
		t.Errorf("ranks %s", s.ranks())
	}
}

// TestBannedDoesNotGrow: nobody is stopped to admit a node that is banned, and so would not be admitted.
func TestBannedDoesNotGrow(t *testing.T) {
	spec := sickSpec(2, 4)
	spec.Grow, spec.Resume.Look = GrowCheckpoint, true
	s := newStage(t, spec)
	s.v.Hosts = map[string]*Host{"boot-c": {V: 1, Points: 3, At: s.now, Round: -1}}
	for _, name := range []string{"a", "b", "c"} {
		s.join(name, checkpoints(10))
	}
	s.run(ActCreate, ActForm)
	s.all(checkpoints(20))
	if s.settle(); s.ranks() != "ab" {
		t.Errorf("ranks %s", s.ranks())
	}
	s.join("d", checkpoints(20))
	s.settle(ActStop)
	s.stopped(StopGrow, "")
}

// TestPinnedSizes gives the ranks of a smaller round to the lowest pins.
func TestPinnedSizes(t *testing.T) {
	s := newStage(t, sizes(2, 4))
	for i, name := range []string{"a", "b", "c", "d"} {
		if name != "b" {
			s.join(name, pin(i))
		}
	}
	s.run(ActCreate, ActForm)
	if s.ranks() != "ac" {
		t.Errorf("ranks %s", s.ranks())
	}
	s.join("b", pin(1))
	s.fails("a")
	s.settle(ActStop)
	s.stopsAll()
	s.settle(ActForm)
	if s.ranks() != "abcd" {
		t.Errorf("ranks %s", s.ranks())
	}
}

// TestWaitsForASize says what a node without a place waits for.
func TestWaitsForASize(t *testing.T) {
	spec := sizes(2, 4, 8)
	job := &Job{Store: "s", RunUID: "u", Phase: Running, Round: 3, Spec: spec}
	round := &Round{Store: "s", RunUID: "u", Number: 3, Members: []Member{{Name: "a", Incarnation: "a1"}, {Name: "b", Incarnation: "b1"}}}
	self := Self{Name: "c", Incarnation: "c1", Store: "s", RunUID: "u", Spec: spec, State: NodeWaiting, Round: -1}
	step := React(self, Reading{Store: "s", Job: job, Round: round}, 0)
	if want := "round 3 runs without this node, with 2; the next size is 4 (2,4,8)"; step.Do != ActWait || step.Why != want {
		t.Errorf("%s: %q, want %q", step.Do, step.Why, want)
	}
}

func FuzzParseSizes(f *testing.F) {
	f.Add("2,4,8")
	f.Add("8,2")
	f.Fuzz(func(t *testing.T, text string) {
		sizes, err := ParseSizes(text)
		if err != nil {
			return
		}
		if !slices.IsSorted(sizes) || len(slices.Compact(slices.Clone(sizes))) != len(sizes) || len(sizes) > maxSizes ||
			sizes[0] < 1 || sizes[len(sizes)-1] > maxNodes {
			t.Errorf("%q: %v", text, sizes)
		}
		s := Spec{Sizes: sizes}
		if n := s.Size(sizes[0]); n != sizes[0] {
			t.Errorf("%q: of %d nodes a round of %d", text, sizes[0], n)
		}
	})
}

func FuzzDuration(f *testing.F) {
	f.Add("1m30s")
	f.Add("-2540400h10m10s")
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if d.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := d.MarshalText()
		if err != nil || again.UnmarshalText(written) != nil || again != d {
			t.Errorf("%q is read as %v, written as %q, and read as %v", text, d, written, again)
		}
	})
}
