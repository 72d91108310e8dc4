package supervisor

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gangrun/gangrun/internal/shared"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/hang"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// TestHangs: a shell shows three steps and then none. It is no Python, so it is stopped as any worker.
func TestHangs(t *testing.T) {
	for _, test := range []struct {
		mode hang.Mode
		code int
		says string
	}{
		{hang.Auto, 212, "rank 0 made no progress: no step for "},
		{hang.Observe, 0, "the workers appear to hang"},
		{hang.Off, 0, ""},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			dir := t.TempDir()
			r := newTrial(t, shell("for i in 1 2 3; do echo step $i; sleep 0.2; done; sleep 3"))
			var err error
			if r.cfg.StepLines, err = progress.Custom(`step (\d+)`); err != nil {
				t.Fatal(err)
			}
			r.cfg.Hang = hang.Policy{Mode: test.mode, Timeout: 700 * time.Millisecond}
			r.cfg.PythonStacks, r.cfg.HangDir = true, func() string { return dir }
			if code := r.run(t); code != test.code {
				t.Errorf("exits with %d, want %d: %s", code, test.code, &r.err)
			}
			if !strings.Contains(r.err.String(), test.says) {
				t.Errorf("%q is not in %s", test.says, &r.err)
			}
			kept, _ := filepath.Glob(filepath.Join(dir, "hang_n_round0_*", "state.txt"))
			if want := test.says != ""; want != (len(kept) == 1) {
				t.Errorf("evidence in %q", kept)
			} else if want {
				if text, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(text), "(sleep) state S") {
					t.Errorf("%v: %s", err, text)
				}
			}
		})
	}
}

// TestRearmed: a round ends within a checkpoint, for which there are minutes. The next one has the limit of its steps, once
// there were two.
func TestRearmed(t *testing.T) {
	const steps = `for i in 1 2 3; do echo " iteration $i/ 100 | elapsed time per iteration (ms): 200 |"; sleep 0.2; done; `
	r := newTrial(t, shell(steps+`if test $GANGRUN_ROUND = 0; then echo "saving checkpoint at iteration 3 to /ckpt"; sleep 0.5; kill -9 $$; fi; exec sleep 60`))
	r.cfg.NoRestart, r.cfg.MaxRestarts = false, 1
	r.spec.Restarts = rendezvous.Restarts{Max: 1}
	r.cfg.StepLines = progress.Find("megatron")
	r.cfg.Hang, r.cfg.HangDir = hang.Policy{Timeout: 700 * time.Millisecond}, t.TempDir
	began := time.Now()
	if r.run(t); len(r.ended) != 2 || !strings.Contains(r.err.String(), "rank 0 made no progress: no step for ") {
		t.Errorf("%d rounds: %s", len(r.ended), &r.err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestShortEpochs: of epochs that are shorter than the time between two looks the same step is seen every time, whichever
// way it is told. They are no hang.
func TestShortEpochs(t *testing.T) {
	lines, err := progress.Custom(`step (\d+)`)
	if err != nil {
		t.Fatal(err)
	}
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := hang.New(hang.Policy{Timeout: 5 * time.Second}, 1, time.Now())
			h := &health{log: slog.New(slog.DiscardHandler), detector: d, endings: hang.NewEndings(0, 1, time.Now()), signs: make([]progress.Sign, 1)}
			w := &worker{progress: progress.NewReader(lines)}
			prints, last := w.progress.Stream(), int64(2)
			for epoch := range 20 {
				if told {
					h.told(0, 0, []notify.Report{{Step: &last, Steps: 2 * (epoch + 1), Stepped: true}}, time.Now())
				} else {
					prints([]byte("step 1\nstep 2\n"))
					h.read(d, 0, w, time.Now())
				}
				if epoch == 0 { // two different ones are seen
					first := int64(1)
					h.tells(d, 0, hang.Sign{Step: &first}, time.Now())
				}
				time.Sleep(time.Second)
				if do := d.Tick(time.Now()); do.Suspect != nil {
					t.Fatalf("told %t, epoch %d: %s", told, epoch, do.Suspect)
				}
			}
			time.Sleep(5 * time.Second)
			if do := d.Tick(time.Now()); do.Suspect == nil {
				t.Error("the end of them is a hang")
			}
		})
	}
}

// TestBroken: a fault in the detection costs the detection, and is said.
func TestBroken(t *testing.T) {
	var log shared.Buffer
	h := &health{log: slog.New(slog.NewTextHandler(&log, nil))} // without a detector every call is a fault
	deadline := time.Now().Add(time.Hour)
	if next := h.next(deadline); next != deadline {
		t.Error(next)
	}
	h.ended(0)
	if h.silent() || strings.Count(log.String(), "training continues") != 1 {
		t.Error(log.String())
	}
	(*health)(nil).ended(0)
	if next := (*health)(nil).next(deadline); next != deadline {
		t.Error(next)
	}
}

// TestStacksVariable: the workers write their stacks unless somebody has said something about it.
func TestStacksVariable(t *testing.T) {
	for _, test := range []struct {
		stacks bool
		own    string // of the user's environment
		want   string
	}{{true, "", "1"}, {false, "", "none"}, {true, "PYTHONFAULTHANDLER=", "empty"}, {true, "PYTHONFAULTHANDLER=0", "0"}} {
		s := &Supervisor{cfg: Config{PythonStacks: test.stacks}, scratch: scratch{log: slog.New(slog.DiscardHandler)}, heard: make(chan struct{}, 1)}
		w := &worker{spec: Worker{Env: []string{"PATH=/bin"}, ErrorFile: "/none"}}
		if test.own != "" {
			w.spec.Env = append(w.spec.Env, test.own)
		}
		got := "none"
		for _, entry := range s.environment(w, 0, 0) {
			if value, found := strings.CutPrefix(entry, "PYTHONFAULTHANDLER="); found {
				if got = value; got == "" {
					got = "empty"
				}
			}
		}
		if got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
		w.forget()
		s.scratch.remove()
	}
}
