package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/test/harness"
)

const (
	thePage    = "../../docs/goodput.md"
	thePicture = "../../docs/goodput.svg"
)

// TestPage: the page and the picture are what the command makes, and README.md has its figures. What the shipped
// decisions or their defaults change, changes them: UPDATE_GOLDEN=1 rewrites page and picture.
func TestPage(t *testing.T) {
	text, svg := report()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		for _, err := range []error{write(thePicture, svg), replace(thePage, text)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if page := read(t, thePage); !strings.Contains(page, begins+text+harness.UntilHere) {
		t.Errorf("%s has other tables; make goodput writes them:\n%s", thePage, text)
	}
	if read(t, thePicture) != svg {
		t.Errorf("%s is another picture; make goodput draws it", thePicture)
	}
	a := llama3()
	figures := []string{fmt.Sprintf("%.1f %% of the time", train(a, gangrun(a)).percent(useful))}
	a.save = often
	figures = append(figures, fmt.Sprintf("%.1f %%", train(a, gangrun(a)).percent(useful)))
	for _, figure := range figures {
		for _, path := range []string{"../../README.md", thePage} {
			if !strings.Contains(read(t, path), figure) {
				t.Errorf("%s does not say %q", path, figure)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// an hour into training, whose last save was of 50 minutes.
const at, trained, saved = time.Hour, 55 * time.Minute, 50 * time.Minute

func strike(a assumptions, k kind) recovery { return newJob(a).recover(k, at, trained, trained, saved) }

// TestRecoveries: how long each interruption takes comes from the shipped decisions and their defaults.
func TestRecoveries(t *testing.T) {
	a := llama3()
	noSpare, shortFence := a, a
	noSpare.spares = 0
	shortFence.fence = rendezvous.Duration(30 * time.Second)
	quick := a.look + a.store // what a round takes to form where nobody is waited for
	for _, tc := range []struct {
		name               string
		a                  assumptions
		k                  kind
		detect, stop, form time.Duration
		resume             time.Duration
	}{
		{"a worker dies", a, exits, 0, a.stop, quick, saved},
		{"of its machine", a, breaks, 0, a.stop, quick, saved},
		{"of its machine, no spare", noSpare, breaks, 0, a.stop, a.replacement + a.store, saved},
		{"hang", a, hangs, hang.Usual + hang.ConfirmTime, a.stop, quick, saved},
		{"a node is lost, which is a hang before", a, lost, hang.Usual + hang.ConfirmTime, a.stop,
			agent.DefaultLease + rendezvous.DefaultFence - hang.Usual - hang.ConfirmTime - a.stop + quick, saved},
		{"a node is lost, short fence", shortFence, lost, agent.DefaultLease + 30*time.Second, a.stop, quick, saved},
	} {
		got := strike(tc.a, tc.k)
		// The detector looks once a second, or the leader waits as long for somebody who knows more than of a hang.
		if got.detect < tc.detect || got.detect > tc.detect+2*time.Second || got.stop != tc.stop ||
			got.form < tc.form-2*time.Second || got.form > max(tc.form, quick) || got.resume != tc.resume || got.ended {
			t.Errorf("%s: %+v, want %v %v %v", tc.name, got, tc.detect, tc.stop, tc.form)
		}
	}
}

// TestNodes: three nodes recover as the 2,048 do that the page speaks of.
func TestNodes(t *testing.T) {
	few, all := llama3(), llama3()
	all.nodes = 2048
	three, many := newJob(few), newJob(all)
	for k := range kinds {
		at := time.Duration(k+1) * at
		want := three.recover(k, at, trained, trained+at, saved+at)
		if got := many.recover(k, at, trained, trained+at, saved+at); got != want || got.ended {
			t.Errorf("%d: %+v, three nodes %+v", k, got, want)
		}
	}
}

// TestPlanned: what says before that it goes loses nothing, unless there is no time to save.
func TestPlanned(t *testing.T) {
	a := llama3()
	got := strike(a, planned)
	if got.saved != a.pause+a.written || got.trained < 2*a.step ||
		got.resume != trained+got.trained || got.detect != 0 {
		t.Errorf("with time: %+v", got)
	}
	a.notice = 10 * time.Second
	if got := strike(a, planned); got.resume != saved {
		t.Errorf("without: %+v", got)
	}
	if got := newJob(a).recover(planned, at, -time.Second, saved, saved); got.resume != saved || got.trained != 0 {
		t.Errorf("while it starts: %+v", got)
	}
}

// TestBudget: interruptions without progress are paused after and in the end too many, as the shipped budget says.
func TestBudget(t *testing.T) {
	a := llama3()
	j := newJob(a)
	now, restarts := time.Duration(0), rendezvous.DefaultSpec(1).Restarts.Max
	j.recover(exits, time.Hour, trained, trained, saved)
	for i := range restarts {
		now = j.now.Sub(j.start) + time.Minute
		got := j.recover(exits, now, -time.Second, saved, saved)
		if last := i == restarts-1; got.ended != last || got.form <= a.look+a.store {
			t.Errorf("restart %d without progress: %+v", i+1, got)
		}
	}
	if got := j.recover(exits, now+time.Hour, trained, trained, saved); got.ended || got.resume != saved {
		t.Errorf("the job that was run again: %+v", got)
	}
}

// TestHangUnseen: while nothing reported steps nothing is called a hang.
func TestHangUnseen(t *testing.T) {
	a := llama3()
	if got := newJob(a).recover(hangs, at, a.step, 0, 0); got.detect.Truncate(2*time.Second) != a.watchdog {
		t.Errorf("%+v", got)
	}
	if after, found := hangSeen(time.Minute, time.Hour); !found || after < hang.Factor*time.Minute {
		t.Errorf("steps of a minute: %v %v", after, found)
	}
}

// TestTime: no time is lost from the account, and interruptions come as often as they should.
func TestTime(t *testing.T) {
	a := llama3()
	for name, who := range map[string]recoverer{"gangrun": gangrun(a), "torchrun": torchrun(a)} {
		r := train(a, who)
		var all time.Duration
		for _, d := range r.spent {
			all += d
		}
		if off := (all - a.length).Abs(); off > 15*time.Minute { // the last recovery ends after the run
			t.Errorf("%s: %v of %v", name, all, a.length)
		}
	}
	if n := a.share(lost, 60).total(); n != a.total() {
		t.Errorf("a share changes %d to %d", a.total(), n)
	}
}
