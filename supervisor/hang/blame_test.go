package hang

import (
	"strings"
	"testing"
)

func TestBlame(t *testing.T) {
	step := func(n int64) *int64 { return &n }
	waits := func(name string) Stand {
		return Stand{Name: name, Step: step(29), Place: "all_reduce", Signature: "c10d", Waits: true}
	}
	sleeps := Stand{Name: "rank 2", Step: step(29), Place: "nap (train.py:30)", Signature: "nap"}
	stopped := waits("rank 1")
	stopped.Trouble = "process 12 (python) is stopped"
	behind := waits("rank 3")
	behind.Step = step(28)
	joined := func(n int64, s Stand) Stand {
		s.Collectives = &Collectives{Joined: n}
		return s
	}
	torch := func(enqueued, completed int64, s Stand) Stand {
		s.Collectives = &Collectives{enqueued, &completed}
		return s
	}
	pairs := func(s Stand) Stand { s.Pairs = true; return s }
	unknown := Stand{Name: "rank 4", Step: step(29)}
	left := Stand{Name: "rank 5", Step: step(29), Place: "no Python code, as at its end", Signature: "none", Since: true}
	const network = "all are in all_reduce: the network, the hardware, or a rank on another node"
	for _, test := range []struct {
		name   string
		stands []Stand
		guilty int
		why    string
	}{
		{"stands elsewhere", []Stand{waits("0"), waits("1"), sleeps, waits("3")}, 2, "it is in nap (train.py:30), the others in all_reduce"},
		{"of two", []Stand{waits("0"), sleeps}, 1, "it is in nap (train.py:30), while the others wait for it"},
		{"cannot go on", []Stand{waits("0"), stopped, waits("2"), sleeps}, 1, "its process 12 (python) is stopped; it is in all_reduce"},
		{"behind", []Stand{waits("0"), waits("1"), sleeps, behind}, 3, "it reported step 28 last, the others are further; it is in all_reduce"},
		{"has joined fewer collectives", []Stand{joined(31, waits("0")), joined(30, sleeps), joined(31, behind)}, 1,
			"it has joined 30 collectives, the others more; it is in nap (train.py:30)"},
		{"two have joined fewer", []Stand{joined(30, waits("0")), joined(30, waits("1")), joined(31, waits("2"))}, -1,
			"all are in all_reduce: the network, the hardware, or a rank on another node"},
		{"has not joined the one that the others are in", []Stand{torch(35, 29, waits("0")), torch(29, 29, waits("1")), torch(31, 29, waits("2"))}, 1,
			"it has joined 29 collectives, the others more; it is in all_reduce"},
		{"one has completed a broadcast more", []Stand{torch(35, 30, waits("0")), torch(29, 29, waits("1")), torch(31, 29, waits("2"))}, 1,
			"it has joined 29 collectives, the others more; it is in all_reduce"},
		{"ran ahead", []Stand{torch(35, 29, waits("0")), torch(30, 29, waits("1")), torch(31, 29, waits("2"))}, -1, network},
		{"waits for a message that the other never sent", []Stand{torch(11, 10, waits("0")), pairs(torch(10, 10, waits("1")))}, -1, network},
		{"all have ended theirs", []Stand{torch(30, 30, waits("0")), torch(29, 29, waits("1")), torch(30, 30, waits("2"))}, -1, network},
		{"one is unknown", []Stand{torch(30, 29, waits("0")), torch(29, 29, waits("1")), waits("2")}, -1, network},
		{"torch and NCCL", []Stand{torch(31, 30, waits("0")), joined(30, waits("1")), torch(31, 30, waits("2"))}, -1, network},
		{"NCCL's run ahead", []Stand{joined(35, waits("0")), joined(30, waits("1")), joined(31, waits("2"))}, -1, network},
		{"two are stopped", []Stand{stopped, stopped, waits("2")}, -1, "all are in all_reduce: the network, the hardware, or a rank on another node"},
		{"all wait", []Stand{waits("0"), waits("1")}, -1, "all are in all_reduce: the network, the hardware, or a rank on another node"},
		{"no stacks", []Stand{unknown, unknown}, -1, "it is unknown which rank the others wait for"},
		{"one stack is missing", []Stand{waits("0"), waits("1"), sleeps, unknown}, 2, "it is in nap (train.py:30), while the others wait for it"},
		{"two sleep", []Stand{waits("0"), sleeps, sleeps}, -1, "it is unknown which rank the others wait for; 0 is in all_reduce; rank 2, rank 2 are in nap (train.py:30)"},
		{"has failed since, alone", []Stand{left}, -1, "it has failed in the second half of the silence"},
		{"has failed since", []Stand{waits("0"), left}, -1,
			"it is unknown which rank the others wait for; 0 is in all_reduce; rank 5 is in no Python code, as at its end"},
		{"has failed since, of many", []Stand{waits("0"), waits("1"), waits("2"), left}, -1,
			"it is unknown which rank the others wait for; 0, 1, 2 are in all_reduce; rank 5 is in no Python code, as at its end"},
		{"sleeps, and another has failed since", []Stand{waits("0"), waits("1"), sleeps, left}, 2,
			"it is in nap (train.py:30), the others in all_reduce"},
		{"sleeps, and the only other one has failed since", []Stand{sleeps, left}, 0,
			"it is in nap (train.py:30), while the others wait for it"},
		{"all have failed since", []Stand{left, left}, -1,
			"all are in no Python code, as at its end: the network, the hardware, or a rank on another node"},
		{"alone", []Stand{sleeps}, 0, "it is in nap (train.py:30)"},
		{"alone, and waits", []Stand{waits("0")}, -1, "it is in all_reduce"},
		{"alone, and unknown", []Stand{unknown}, -1, "where it stands is not known"},
		{"nobody", nil, -1, "it is unknown which rank the others wait for"},
	} {
		if guilty, why := Blame(test.stands); guilty != test.guilty || why != test.why {
			t.Errorf("%s: %d, %q", test.name, guilty, why)
		}
		victims := test.why == network || strings.Contains(test.name, "have failed since") || strings.HasPrefix(test.name, "has failed since") || test.name == "alone, and waits" || strings.HasSuffix(test.why, "; it is in all_reduce") && test.stands[0].Collectives != nil
		if got := Victims(test.stands); got != victims {
			t.Errorf("%s: victims %v", test.name, got)
		}
	}
}

// TestAlone: the only rank of a node that waits in a collective, by its record, is not to blame, wherever its stack shows it to
// be; one that waits for nobody is.
func TestAlone(t *testing.T) {
	in := func(joined, completed int64) []Group {
		return []Group{{Name: "0", What: "process group 0 (default_pg)", Joined: joined, Completed: completed, Call: "all_reduce"}}
	}
	for name, test := range map[string]struct {
		stand   Stand
		want    int
		why     string
		victims bool
	}{
		"in a collective": {Stand{Name: "rank 0", Place: "item (train.py:9)", Groups: in(31, 30)}, -1,
			"it waits in collective 31 of process group 0 (default_pg): all_reduce; it is in item (train.py:9)", true},
		"elsewhere":      {Stand{Name: "rank 1", Place: "sleep (train.py:9)", Groups: in(30, 30)}, 0, "it is in sleep (train.py:9)", false},
		"by its stack":   {Stand{Name: "rank 1", Place: "synchronize (train.py:9)", Waits: true}, -1, "it is in synchronize (train.py:9)", true},
		"nothing known":  {Stand{Name: "rank 1"}, -1, "where it stands is not known", false},
		"its own kernel": {Stand{Name: "rank 1", Place: "item (train.py:9)"}, 0, "it is in item (train.py:9)", false},
	} {
		if got, why := Blame([]Stand{test.stand}); got != test.want || why != test.why {
			t.Errorf("%s: %d %q", name, got, why)
		}
		if got := Victims([]Stand{test.stand}); got != test.victims {
			t.Errorf("%s: victims %v", name, got)
		}
	}
}

// TestGroups: a rank that is missing in a group smaller than the job is found, whoever waits for those that wait for it;
// ranks that are no members, that ran ahead, or that wait for somebody else are not.
func TestGroups(t *testing.T) {
	in := func(name string, joined, completed int64) Group {
		return Group{Name: name, What: "process group " + name, Joined: joined, Completed: completed}
	}
	whole := func(g Group) Group { g.Whole = true; return g }
	rank := func(n string, groups ...Group) Stand { return Stand{Name: "rank " + n, Groups: groups} }
	pairs := func(s Stand) Stand { s.Pairs = true; return s }
	for name, test := range map[string]struct {
		stands []Stand
		want   int
		why    string
	}{
		"one of two in a group": {[]Stand{
			rank("0", in("1", 9, 9)), rank("1", in("1", 9, 9)), rank("2", in("2", 4, 4)), rank("3", in("2", 5, 4)),
		}, 2, "it has not joined collective 5 of process group 2, in which rank 3 stands"},
		"tensor and data parallel: whoever waits for who waits": {[]Stand{
			rank("0", in("tp0", 8, 8), in("dp0", 4, 3)), rank("1", in("tp0", 8, 8), in("dp1", 4, 3)),
			rank("2", in("tp1", 7, 7), in("dp0", 3, 3)), rank("3", in("tp1", 8, 7), in("dp1", 3, 3)),
		}, 2, "it has not joined collective 4 of process group dp0, in which rank 0 stands"},
		"who waits in another group is not to blame": {[]Stand{
			rank("0", in("a", 5, 4)), rank("1", in("a", 4, 4), in("elsewhere", 3, 2)),
		}, -1, ""},
		"who waits in one that all have joined is": {[]Stand{
			rank("0", in("a", 5, 4), whole(in("b", 3, 2))), rank("1", in("a", 4, 4), whole(in("b", 3, 2))),
		}, 1, "it has not joined collective 5 of process group a, in which rank 0 stands"},
		"who waits for a message is not": {[]Stand{rank("0", in("a", 5, 4)), pairs(rank("1", in("a", 4, 4)))}, -1, ""},
		"who ran ahead":                  {[]Stand{rank("0", in("a", 9, 4)), rank("1", in("a", 5, 4))}, -1, ""},
		"different orders": {[]Stand{
			rank("0", in("a", 5, 4), in("b", 4, 4)), rank("1", in("a", 4, 4), in("b", 5, 4)),
		}, -1, ""},
		"two are missing": {[]Stand{rank("0", in("a", 5, 4)), rank("1", in("a", 4, 4)), rank("2", in("a", 4, 4))}, -1, ""},
		"nobody waits":    {[]Stand{rank("0", in("a", 5, 5)), rank("1", in("a", 4, 4))}, -1, ""},
	} {
		if got, why := byGroups(test.stands); got != test.want || why != test.why {
			t.Errorf("%s: %d %q, want %d %q", name, got, why, test.want, test.why)
		}
	}
	// A rank that has joined fewer of the whole job's collectives since it waits in a smaller group is not to blame.
	done := func(n int64) *int64 { return &n }
	stands := []Stand{
		rank("0", in("0", 7, 6)), rank("1", in("0", 6, 6), in("tp", 5, 4)), rank("2", in("0", 7, 6), in("tp", 4, 4)), rank("3", in("0", 7, 6)),
	}
	for i, n := range []int64{7, 6, 7, 7} {
		stands[i].Collectives = &Collectives{Joined: n, Completed: done(6)}
	}
	if got, why := Blame(stands); got >= 0 {
		t.Errorf("%d %q", got, why)
	}
}
