package agent

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/store"
)

// saves writes the checkpoint of a step, or one that is torn.
func saves(t *testing.T, dir string, step int, whole bool) {
	t.Helper()
	directory := filepath.Join(dir, fmt.Sprint("step-", step))
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model", "DONE"} {
		if name == "DONE" && !whole {
			continue
		}
		if err := os.WriteFile(filepath.Join(directory, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func directory(dir string) *checkpoint.Directory {
	return &checkpoint.Directory{
		Name: dir, Path: dir, Log: slog.New(slog.DiscardHandler),
		Scanner: checkpoint.Scanner{FS: os.DirFS(dir), Options: format.Options{
			Format: "custom", Rule: &format.Rule{Glob: "step-*", Step: regexp.MustCompile(`(\d+)`), Marker: "DONE"},
		}},
	}
}

// looking is a gang whose nodes have these directories.
func looking(t *testing.T, change func(*Config), dirs ...string) (parties []*party) {
	t.Helper()
	m, spec := store.NewInMemory(), rendezvous.DefaultSpec(len(dirs))
	spec.Resume.Look = true
	for i, dir := range dirs {
		parties = append(parties, join(t, m.Connect(clock), fmt.Sprint("node", i), spec, func(c *Config) {
			c.Checkpoints = directory(dir)
			if change != nil {
				change(c)
			}
		}))
	}
	return parties
}

func resumes(t *testing.T, p *party, round, step int, dir string) {
	t.Helper()
	s := p.starts(round)
	want := filepath.Join(dir, fmt.Sprint("step-", step))
	if r := s.Round.Resume; r.Step == nil || *r.Step != int64(step) || s.Resumed == nil || s.Resumed.Path != want {
		t.Errorf("%s: round %d begins from %+v, %+v, %v; want %s", p.name, round, r, s.Resumed, s.Unresumed, want)
	}
}

func TestTheNewestThatAllHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := t.TempDir(), t.TempDir()
		saves(t, a, 100, true)
		saves(t, a, 200, true)
		saves(t, b, 100, true)
		nodes := looking(t, nil, a, b)
		resumes(t, nodes[0], 0, 100, a)
		resumes(t, nodes[1], 0, 100, b)
	})
}

func TestATornOneIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		saves(t, dir, 100, true)
		saves(t, dir, 200, false)
		resumes(t, looking(t, nil, dir)[0], 0, 100, dir)
	})
}

// TestSavedAtTheLastMoment has a node that saves while it is being stopped, after the other has stopped already. Both read
// the same directory.
func TestSavedAtTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		nodes := looking(t, nil, dir, dir)
		for _, p := range nodes {
			if s := p.starts(0); s.Round.Resume.Decision != rendezvous.ResumeFresh || s.Resumed != nil {
				t.Fatalf("round 0 begins from %+v", s.Round.Resume)
			}
		}
		saves(t, dir, 100, true)
		nodes[0].Gone(0, killed, nil)
		if o := nodes[1].next(); o.Stop == nil {
			t.Fatalf("got %s, want a stop", describe(o))
		}
		time.Sleep(time.Minute)
		synctest.Wait() // node 0 has looked by now, if it ever does before the other has stopped
		saves(t, dir, 200, true)
		nodes[1].Gone(0, rendezvous.Outcome{}, nil)
		resumes(t, nodes[0], 1, 200, dir)
		resumes(t, nodes[1], 1, 200, dir)
	})
}

func TestWhatWasReachedIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		node := looking(t, nil, dir)[0]
		node.starts(0)
		saves(t, dir, 100, true)
		time.Sleep(2 * lookEvery) // it is seen while training goes on
		if c := node.Newest(); c == nil || c.Step != 100 {
			t.Errorf("the newest is %+v", c)
		}
		if err := os.RemoveAll(filepath.Join(dir, "step-100")); err != nil {
			t.Fatal(err)
		}
		node.Gone(0, killed, nil)
		e := node.ends()
		if e.Code != exitcodes.CodeCheckpointUnusable || e.Verdict != exitcodes.Fatal ||
			!strings.Contains(e.Message, "step 100 had been reached") {
			t.Errorf("%+v", e)
		}
	})
}

// TestAnotherGangrunRemembers starts over with the memory that the first has left beside the checkpoints.
func TestAnotherGangrunRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		saves(t, dir, 100, true)
		run := func(c *Config) { c.Node.RunUID = "one" }
		node := looking(t, run, dir)[0]
		resumes(t, node, 0, 100, dir)
		node.Close()
		if err := os.RemoveAll(filepath.Join(dir, "step-100")); err != nil {
			t.Fatal(err)
		}
		if e := looking(t, run, dir)[0].ends(); e.Code != exitcodes.CodeCheckpointUnusable {
			t.Errorf("the same run: %+v", e)
		}
		other := looking(t, func(c *Config) { c.Node.RunUID = "two" }, dir)[0]
		if s := other.starts(0); s.Round.Resume.Decision != rendezvous.ResumeFresh {
			t.Errorf("another run begins from %+v", s.Round.Resume)
		}
	})
}

// unreadable is a tree that gives errors for as long as it is broken.
type unreadable struct {
	fs.FS
	broken *atomic.Bool
}

func (u unreadable) Open(name string) (fs.File, error) {
	if u.broken.Load() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return u.FS.Open(name)
}

func TestNobodyStartsBeforeItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		saves(t, dir, 100, true)
		var broken atomic.Bool
		broken.Store(true)
		node := looking(t, func(c *Config) { c.Checkpoints.Scanner.FS = unreadable{os.DirFS(dir), &broken} }, dir)[0]
		time.Sleep(time.Minute)
		select {
		case o := <-node.Orders():
			t.Fatalf("got %s from a directory that cannot be read", describe(o))
		default:
		}
		broken.Store(false)
		resumes(t, node, 0, 100, dir)
	})
}

// told is what was logged about a directory in which nothing is saved.
type told struct {
	slog.Handler
	at *[]time.Time
	n  *[]string
}

func (h told) Enabled(context.Context, slog.Level) bool { return true }
func (h told) WithAttrs([]slog.Attr) slog.Handler       { return h }

func (h told) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn && strings.Contains(r.Message, "has saved no checkpoint") {
		text := ""
		r.Attrs(func(a slog.Attr) bool { text += a.Key + "=" + a.Value.String() + " "; return true })
		*h.at, *h.n = append(*h.at, r.Time), append(*h.n, text)
	}
	return nil
}

// TestNothingSaved warns once in a round when nothing is in the directory, or there is no directory, after the first
// steps or ten minutes of work.
func TestNothingSaved(t *testing.T) {
	for _, tt := range []struct {
		name    string
		missing bool          // the directory
		steps   int64         // reported after five minutes
		saves   time.Duration // after which a checkpoint is there
		from    time.Duration // the warning, 0: none
		says    string
	}{
		{name: "ten minutes without a word", from: 10 * time.Minute, says: "for=10m"},
		{name: "no directory", missing: true, from: 10 * time.Minute, says: "for=10m"},
		{name: "steps", steps: 7, from: 5 * time.Minute, says: "step=7"},
		{name: "step 0 is none", steps: 0, from: 10 * time.Minute},
		{name: "saved before", steps: 7, saves: 4 * time.Minute},
		{name: "saved at nine minutes", saves: 9 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				if tt.missing {
					dir = filepath.Join(dir, "none")
				}
				var at []time.Time
				var texts []string
				node := looking(t, func(c *Config) { c.Log = slog.New(told{slog.DiscardHandler, &at, &texts}) }, dir)[0]
				for round := range 2 {
					node.starts(round)
					begun := time.Now()
					synctest.Wait()
					at, texts = nil, nil
					for time.Since(begun) < 30*time.Minute {
						time.Sleep(time.Minute)
						if time.Since(begun) == 5*time.Minute {
							node.Stepped(tt.steps)
						}
						if tt.saves > 0 && time.Since(begun) == tt.saves && round == 0 {
							saves(t, dir, 5, true)
						}
					}
					synctest.Wait()
					switch {
					case tt.from == 0 && len(at) == 0:
					case tt.from == 0 || len(at) != 1:
						t.Errorf("round %d: warned %d times: %q", round, len(at), texts)
					default:
						after := at[0].Sub(begun)
						if after < tt.from || after > tt.from+2*lookEvery || !strings.Contains(texts[0], tt.says) ||
							!strings.Contains(texts[0], "dir="+dir) {
							t.Errorf("round %d: warned after %v, with %q; want %v and %q", round, after, texts[0], tt.from, tt.says)
						}
					}
					node.Gone(round, killed, nil)
				}
			})
		})
	}
}
