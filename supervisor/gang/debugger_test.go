package gang

import (
	"strings"
	"testing"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
)

func TestWithoutDebugger(t *testing.T) {
	for in, want := range map[string]string{
		"python3 -m pdb train.py --x":                 "python3 train.py --x",
		"/usr/bin/python3.11 -u -X dev -m pdb a.py":   "/usr/bin/python3.11 -u -X dev a.py",
		"python -m pdb -c continue -m pkg.train -m x": "python -m pkg.train -m x",
		"python -m ipdb train.py":                     "python train.py",
		"python -m train -m pdb x":                    "",
		"python train.py -m pdb x":                    "",
		"python -c pass -m pdb":                       "",
		"python -m pdb":                               "",
		"sh -m pdb x":                                 "",
		"":                                            "",
	} {
		argv, had := WithoutDebugger(strings.Fields(in))
		if want == "" {
			want = in
		}
		if got := strings.Join(argv, " "); got != want || had != (in != want) {
			t.Errorf("%s: %s, %v", in, got, had)
		}
	}
}

// TestTheDebuggerIsForOneRank has a debugger for the rank with the terminal only, in each of the ways to ask for one.
func TestTheDebuggerIsForOneRank(t *testing.T) {
	for _, tt := range []struct {
		tty                int
		before, argv       string
		debugged, ordinary string
	}{
		{1, "", "python -m pdb a.py", "python -m pdb a.py", "python a.py"},
		{1, "gdb --args", "python a.py", "gdb --args python a.py", "python a.py"},
		{1, "nice -n 3", "python a.py", "nice -n 3 python a.py", "nice -n 3 python a.py"},
		{-1, "gdb --args", "python -m pdb a.py", "gdb --args python -m pdb a.py", "gdb --args python -m pdb a.py"},
	} {
		l := &Local{Ranks: 2, Framework: None, TTYRank: tt.tty, PerRank: strings.Fields(tt.before), Argv: strings.Fields(tt.argv)}
		workers, err := l.Workers(&agent.Start{Round: &rendezvous.Round{}})
		if err != nil {
			t.Fatal(err)
		}
		for rank, want := range map[int]string{0: tt.ordinary, 1: tt.debugged} {
			if got := strings.Join(workers[rank].Argv, " "); got != want {
				t.Errorf("%s %s, rank %d: %s, want %s", tt.before, tt.argv, rank, got, want)
			}
		}
	}
}
