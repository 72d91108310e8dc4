package supervisor

import (
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/gangrun/gangrun/internal/timer"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
)

// TestReportsAreTakenOnce: a report is handed on once, with what the other workers have said before, and what came before
// all of them ran is handed on again once they do.
func TestReportsAreTakenOnce(t *testing.T) {
	var got []string
	s := &Supervisor{
		log: slog.New(slog.DiscardHandler), heard: make(chan struct{}, 1), gathering: timer.Stopped(), timer: timer.Stopped(),
		cfg: Config{Agent: &agent.Agent{}, Observe: func(_ time.Time, ev node.Event, _ []node.Effect) {
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
	tells := func(i, step int) {
		fmt.Fprintf(ranks[i], "X_GANGRUN_STEP=%d", step)
		<-s.heard
		s.gatherReports() // at once: each one's first
	}
	s.takeReports(false)
	wants("nothing was heard")
	tells(0, 5)
	wants("one has told", " 5 -")
	s.takeReports(false)
	wants("nothing is new")
	for range 2 {
		fmt.Fprint(ranks[0], "X_GANGRUN_STEP=5")
		<-s.heard
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
}
