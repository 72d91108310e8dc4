package rounds_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// shelf is a node's directory with checkpoints.
type shelf struct {
	t   *testing.T
	dir string
}

func newShelf(t *testing.T, steps ...int) shelf {
	s := shelf{t, t.TempDir()}
	for _, step := range steps {
		s.save(step)
	}
	return s
}

func (s shelf) path(step int) string { return filepath.Join(s.dir, fmt.Sprint("step-", step)) }

// save writes a checkpoint as a training script would, and tear leaves one that is half written.
func (s shelf) save(step int) {
	s.t.Helper()
	s.tear(step)
	s.write(step, "DONE")
}

func (s shelf) tear(step int) {
	s.t.Helper()
	if err := os.MkdirAll(s.path(step), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.write(step, "model")
}

func (s shelf) write(step int, name string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.path(step), name), []byte("x"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s shelf) lose(step int) {
	s.t.Helper()
	if err := os.RemoveAll(s.path(step)); err != nil {
		s.t.Fatal(err)
	}
}

func (s shelf) flag() string { return "--checkpoint-dir=" + s.dir }

// resuming is a job whose nodes look at checkpoints.
func resuming(t *testing.T, nodes int, flags ...string) *party {
	t.Helper()
	return sharedParty(t, fmt.Sprint(nodes), append([]string{
		"--checkpoint-pattern=step-*", "--checkpoint-marker=DONE", "--restart-backoff=1ms:2ms",
		"--resume-args=--from={resume_path} --at {resume_step}",
	}, flags...)...)
}

// from wants a worker to have been told to resume from there.
func (p *party) from(w *worker, decision string, step int, s shelf) {
	p.t.Helper()
	path := s.path(step)
	want := []string{"--from=" + path, "--at", fmt.Sprint(step)}
	if w.Decision != decision || w.Step != fmt.Sprint(step) || w.Path != path || !slices.Equal(w.Args, want) {
		p.fatalf("round %s of %s: %s, step %q, path %q, arguments %q; want %s %q", w.Round, w.Node, w.Decision, w.Step, w.Path,
			w.Args, decision, want)
	}
}

// fresh wants a worker to have been told that there is nothing to resume from.
func (p *party) fresh(w *worker) {
	p.t.Helper()
	if w.Decision != "fresh" || w.Step != "" || w.Path != "" || len(w.Args) > 0 {
		p.fatalf("round %s of %s: %s, step %q, path %q, arguments %q; want a fresh start", w.Round, w.Node, w.Decision, w.Step,
			w.Path, w.Args)
	}
}

// TestResumeFromWhatAllHave has two nodes with directories of their own. One has a checkpoint more, and later one that
// is torn.
func TestResumeFromWhatAllHave(t *testing.T) {
	t.Parallel()
	p := resuming(t, 2)
	a, b := newShelf(t, 100, 200), newShelf(t, 100)
	nodes := []*node{p.start("a", a.flag()), p.start("b", b.flag())}
	first := p.round(0, 2)
	p.from(of(first, "a"), "resume", 100, a)
	p.from(of(first, "b"), "resume", 100, b)
	for _, s := range []shelf{a, b} {
		s.save(300)
		s.tear(400)
	}
	first[0].Do("kill 9")
	second := p.round(1, 2)
	p.from(of(second, "a"), "resume", 300, a)
	p.from(of(second, "b"), "resume", 300, b)
	finish(second)
	for _, e := range p.all(nodes, succeeded) {
		if e.Checkpoint == nil || *e.Checkpoint.Step != 300 {
			t.Errorf("%s: the message tells of %+v", e.Node, e.Checkpoint)
		}
	}
}

// TestTheFirstSaveIsCut has two nodes with directories of their own, and the first save of all is whole on one of them
// only: both start over, and the half that nobody can use is set aside.
func TestTheFirstSaveIsCut(t *testing.T) {
	t.Parallel()
	p := resuming(t, 2, "--checkpoint-quarantine")
	shelves := map[string]shelf{"a": newShelf(t), "b": newShelf(t)}
	nodes := []*node{p.start("a", shelves["a"].flag()), p.start("b", shelves["b"].flag())}
	first := p.round(0, 2)
	shelves["a"].save(100)
	shelves["b"].tear(100)
	first[0].Do("kill 9")
	second := p.round(1, 2)
	for _, w := range second {
		p.fresh(w)
	}
	if _, err := os.Stat(shelves["a"].path(100)); err == nil {
		t.Error("what one of the nodes has saved is where its training finds it")
	}
	for _, s := range shelves {
		s.save(100)
	}
	second[0].Do("kill 9")
	third := p.round(2, 2)
	p.from(of(third, "a"), "resume", 100, shelves["a"])
	finish(third)
	for _, e := range p.all(nodes, succeeded) {
		if text := "the first save, of step 100, was cut on b"; !strings.Contains(e.Stderr, text) {
			t.Errorf("%s does not say %q: %s", e.Node, text, e.Stderr)
		}
	}
}

// TestLostAfterProgress takes away what had been reached: nobody may start over.
func TestLostAfterProgress(t *testing.T) {
	t.Parallel()
	for _, left := range [][]int{nil, {100}} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			t.Parallel()
			p := resuming(t, 2)
			a, b := newShelf(t, 100, 200), newShelf(t, 100, 200)
			nodes := []*node{p.start("a", a.flag()), p.start("b", b.flag())}
			first := p.round(0, 2)
			p.from(first[0], "resume", 200, map[string]shelf{"a": a, "b": b}[first[0].Node])
			a.lose(200)
			if left == nil {
				a.lose(100)
			}
			first[1].Do("kill 9")
			for _, e := range p.all(nodes, end{65, exitcodes.Fatal, "CheckpointUnusable"}) {
				if !strings.Contains(e.Message.Message, "step 200 had been reached") {
					t.Errorf("%s: %s", e.Node, e.Message.Message)
				}
			}
			if n := p.started(); n != 2 {
				t.Errorf("%d workers were started, want those of the first round", n)
			}
		})
	}
}

// TestSameCrashFallsBack crashes at the same step again and again: the checkpoint before the newest is tried, and then
// it is over.
func TestSameCrashFallsBack(t *testing.T) {
	t.Parallel()
	p := resuming(t, 1, "--max-restarts", "10")
	s := newShelf(t, 100, 200)
	nodes := []*node{p.start("a", s.flag())}
	for round, want := range []struct {
		decision string
		step     int
	}{{"resume", 200}, {"resume", 200}, {"fallback", 100}, {"resume", 100}} {
		w := p.round(round, 1)[0]
		p.from(w, want.decision, want.step, s)
		w.Do("step 250")
		w.Do("kill 9")
	}
	nodes[0].Await(`"resuming from checkpoint" round=1 step=200 path=` + s.path(200) + " lost_steps=50")
	nodes[0].Await(`"going back to an older checkpoint" round=2 step=100 path=` + s.path(100) + " lost_steps=150")
	for _, e := range p.all(nodes, end{90, exitcodes.Fatal, "NoProgress"}) {
		if e.Step == nil || *e.Step != 250 {
			t.Errorf("the message tells of step %v", e.Step)
		}
	}
	if _, err := os.Stat(s.path(200)); err != nil {
		t.Errorf("what was gone back from: %v; nothing is moved without --checkpoint-quarantine", err)
	}
}

// TestNothingSavedYet fails before the first checkpoint: there is nothing to lose but what is said.
func TestNothingSavedYet(t *testing.T) {
	t.Parallel()
	p := resuming(t, 1)
	n := p.start("a", newShelf(t).flag())
	w := p.round(0, 1)[0]
	w.Do("step 30")
	w.Do("kill 9")
	w = p.round(1, 1)[0]
	p.fresh(w)
	n.Await(`"no checkpoint for the training: it starts over, unless it finds its own" round=1 lost_steps=30`)
	w.Do("exit 0")
	p.all([]*node{n}, succeeded)
}

// TestQuarantine moves aside what is torn, and what was gone back from.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	p := resuming(t, 1, "--checkpoint-quarantine", "--max-restarts", "10")
	s := newShelf(t, 100, 200)
	s.tear(300)
	n := p.start("a", s.flag())
	for round := range 2 {
		w := p.round(round, 1)[0]
		p.from(w, "resume", 200, s)
		w.Do("step 250")
		w.Do("kill 9")
	}
	last := p.round(2, 1)[0]
	p.from(last, "fallback", 100, s)
	for _, step := range []int{200, 300} {
		name := fmt.Sprint("step-", step)
		if _, err := os.Stat(filepath.Join(s.dir, "quarantine", name, "model")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.path(step)); err == nil {
			t.Errorf("%s is still where the training finds it", name)
		}
	}
	last.Do("exit 0")
	p.all([]*node{n}, succeeded)
}

// TestProgressGivesRestartsBack fails twenty times with a budget of three, each time after a newer checkpoint.
func TestProgressGivesRestartsBack(t *testing.T) {
	t.Parallel()
	p := resuming(t, 2, "--max-restarts", "3")
	s := newShelf(t)
	nodes := p.startAll(2, s.flag())
	const failures = 20
	for round := range failures {
		workers := p.round(round, 2)
		for _, w := range workers {
			if round == 0 {
				p.fresh(w)
			} else {
				p.from(w, "resume", 50*round, s)
			}
		}
		s.save(50 * (round + 1))
		workers[round%2].Do("kill 9")
	}
	finish(p.round(failures, 2))
	for _, e := range p.all(nodes, succeeded) {
		if e.Restarts.Used != 1 {
			t.Errorf("%s: %d restarts are used", e.Node, e.Restarts.Used)
		}
	}
}

// TestSilentRestart has a worker that was told where to resume and starts over all the same.
func TestSilentRestart(t *testing.T) {
	t.Parallel()
	t.Run("fatal", func(t *testing.T) {
		t.Parallel()
		p := resuming(t, 2)
		s := newShelf(t, 100, 200)
		nodes := p.startAll(2, s.flag())
		workers := p.round(0, 2)
		workers[0].Do("step 201")
		workers[1].Do("step 1")
		for _, e := range p.all(nodes, end{65, exitcodes.Fatal, "CheckpointUnusable"}) {
			if !strings.Contains(e.RootCause.Evidence, "step 200") || !strings.Contains(e.RootCause.Evidence, "reported step 1") {
				t.Errorf("%s: the cause is %+v", e.Node, e.RootCause)
			}
		}
	})
	t.Run("fallback", func(t *testing.T) {
		t.Parallel()
		p := resuming(t, 2, "--on-silent-restart", "fallback")
		s := newShelf(t, 100, 200)
		nodes := p.startAll(2, s.flag())
		p.round(0, 2)[1].Do("step 1")
		second := p.round(1, 2)
		p.from(second[0], "fallback", 100, s)
		second[1].Do("step 101")
		finish(second)
		p.all(nodes, succeeded)
	})
}

// TestNobodyKnows has a directory that cannot be read: that is not one without checkpoints.
func TestNobodyKnows(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	p := resuming(t, 1, "--join-timeout=3s")
	nodes := []*node{p.start("a", "--checkpoint-dir="+server.URL+"/manifest.json")}
	for _, e := range p.all(nodes, end{211, exitcodes.Retry, "RendezvousTimeout"}) {
		if !strings.Contains(e.Message.Message, "it is unknown which checkpoints exist") {
			t.Errorf("%s", e.Message.Message)
		}
	}
	if n := p.started(); n != 0 {
		t.Errorf("%d workers were started", n)
	}
}

// TestAnotherJobsDirectory is refused: two jobs in one directory would take each other's checkpoints.
func TestAnotherJobsDirectory(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	p := resuming(t, 1)
	n := p.start("a", s.flag())
	p.fresh(p.round(0, 1)[0])
	s.save(100)
	of(p.round(0, 1), "a").Do("exit 0")
	p.all([]*node{n}, succeeded)

	other := resuming(t, 1, "--job", jobName(t)+"-other")
	n = other.start("a", s.flag())
	for _, e := range other.all([]*node{n}, end{65, exitcodes.Fatal, "CheckpointUnusable"}) {
		if !strings.Contains(e.Message.Message, jobName(t)) {
			t.Errorf("%s", e.Message.Message)
		}
	}
}
