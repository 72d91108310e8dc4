package supervisor

import (
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gangrun/gangrun/internal/timer"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// TestReportsAreTakenOnce: a report is handed on once, with what the other workers have said before, and what came before
// all of them ran is handed on again once they do.
func TestReportsAreTakenOnce(t *testing.T) {
	var got []string
	s := &Supervisor{
		log: slog.New(slog.DiscardHandler), heard: make(chan struct{}, 1), gathering: timer.Stopped(), timer: timer.Stopped(),
		cfg: Config{Agent: &agent.Agent{}, Observe: func(_ time.Time, ev node.Event, _ []node.Effect) {
			if _, ok := ev.(node.Save); ok {
				got = append(got, "save")
			}
			if _, ok := ev.(node.Ask); ok {
				got = append(got, "ask")
			}
			reports, ok := ev.(node.Reported)
			if !ok {
				return
			}
			text := ""
			for _, r := range reports {
				if r.Step == nil {
					text += " -"
				} else {
					text += fmt.Sprint(" ", *r.Step)
				}
			}
			got = append(got, text)
		}},
	}
	s.node, _ = node.New(node.Policy{}, time.Now())
	s.round.start = &agent.Start{Round: &rendezvous.Round{}}
	ears, err := notify.NewEars(s.heard)
	if err != nil {
		t.Fatal(err)
	}
	defer ears.Close()
	s.ears = ears
	var ranks []net.Conn
	for i := range 2 {
		socket, err := ears.Listen(filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		rank, err := net.Dial("unixgram", socket.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer rank.Close()
		ranks, s.round.workers = append(ranks, rank), append(s.round.workers, &worker{spec: Worker{Rank: i}, notify: socket})
	}
	wants := func(what string, want ...string) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		got = nil
	}
	awakes := func() {
		t.Helper()
		select {
		case <-s.heard:
		case <-time.After(10 * time.Second):
			t.Fatal("nobody is woken")
		}
	}
	tells := func(i, step int) {
		fmt.Fprintf(ranks[i], "X_GANGRUN_STEP=%d", step)
		awakes()
		s.gatherReports() // at once: each one's first
	}
	s.takeReports(false)
	wants("nothing was heard")
	tells(0, 5)
	wants("one has told", " 5 -")
	s.takeReports(false)
	wants("nothing is new")
	time.Sleep(2 * gatherTime)
	for range 2 {
		fmt.Fprint(ranks[0], "X_GANGRUN_STEP=5")
		awakes()
		s.gatherReports()
	}
	wants("they are gathered")
	<-s.gathering.C
	s.takeReports(false)
	wants("both at once", " 5 -")
	tells(1, 4)
	wants("the other one has", " 5 4")

	now := time.Now()
	s.node.Step(node.Begin{}, now)
	s.node.Step(node.Prepared{Workers: []node.Worker{{Rank: 0}, {Rank: 1}}, MayStart: true}, now)
	for i := range 2 {
		s.node.Step(node.Forked{Worker: i, PID: 1000 + i}, now)
	}
	if s.node.State() != node.Running {
		t.Fatal(s.node.State())
	}
	s.watchPace()
	select {
	case <-s.heard:
	default:
		t.Error("the loop does not hear that it is to look again")
	}
	s.takeReports(false)
	wants("all run", " 5 4")
	s.hear()
	wants("a look at all of them", " 5 4")

	// Who asks how far they are hears of what was reported right before, and does not wait for it.
	fmt.Fprint(ranks[0], "X_GANGRUN_STEP=6")
	s.ordered(agent.Order{Save: &agent.Save{Round: 7}}) // of another round: nothing follows
	wants("a save", " 6 4", "save")
	fmt.Fprint(ranks[1], "X_GANGRUN_STEP=6")
	s.ordered(agent.Order{Ask: &agent.Ask{Round: 7}})
	wants("a question", " 6 6", "ask")

	// From now on what comes within a moment wakes nobody twice, and is not read before somebody looks.
	time.Sleep(2 * gatherTime)
	select {
	case <-s.heard:
	default:
	}
	for i := range ranks {
		fmt.Fprint(ranks[i], "X_GANGRUN_STEP=7")
		if i == 0 {
			awakes()
			s.gatherReports()
		}
	}
	select {
	case <-s.heard:
		t.Error("woken again")
	case <-time.After(gatherTime / 2):
	}
	wants("they lie")
	<-s.gathering.C
	s.takeReports(false)
	wants("both at once", " 7 7")
}

// TestOneProcessor: while workers run gangrun uses one processor, and before and after that as many as it may.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, one := range []bool{true, false} {
		runtime.GOMAXPROCS(3)
		r := newTrial(t, shell("exit 0"))
		seen := map[string]int{}
		r.cfg.OneProcessor = one
		r.cfg.Observe = func(_ time.Time, ev node.Event, _ []node.Effect) {
			seen[fmt.Sprintf("%T", ev)] = runtime.GOMAXPROCS(0)
		}
		if code := r.run(t); code != 0 {
			t.Fatal(code)
		}
		want := map[bool]int{true: 1, false: 3}[one]
		if seen["node.Prepared"] != 3 || seen["node.Exited"] != want {
			t.Errorf("one %t: %v", one, seen)
		}
		if after := runtime.GOMAXPROCS(0); one && after != defaultProcessors() || !one && after != 3 {
			t.Errorf("one %t: %d afterwards", one, after)
		}
	}
}

// TestHurries: while evidence of a hang is gathered, and until they are gone, gangrun uses as many as it may.
func TestHurries(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	many := defaultProcessors()
	if many < 2 {
		t.Skip("there is one processor")
	}
	r := newTrial(t, shell("for i in 1 2 3; do echo step $i; sleep 0.2; done; sleep 60"))
	var err error
	if r.cfg.StepLines, err = progress.Custom(`step (\d+)`); err != nil {
		t.Fatal(err)
	}
	r.cfg.Hang, r.cfg.HangDir = hang.Policy{Timeout: 700 * time.Millisecond}, t.TempDir
	r.cfg.OneProcessor = true
	seen := map[string]int{}
	r.cfg.Observe = func(_ time.Time, ev node.Event, _ []node.Effect) {
		seen[fmt.Sprintf("%T %d", ev, runtime.GOMAXPROCS(0))]++
	}
	if code := r.run(t); code != 212 {
		t.Fatal(code)
	}
	if seen["node.Tick 1"] == 0 || seen[fmt.Sprint("node.Hung ", many)] != 1 || seen[fmt.Sprint("node.Dumped ", many)] != 1 {
		t.Error(seen)
	}
}

// defaultProcessors is how many Go uses by itself.
func defaultProcessors() int {
	n := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(n)
	runtime.SetDefaultGOMAXPROCS()
	return runtime.GOMAXPROCS(0)
}
