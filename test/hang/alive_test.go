package hang_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// TestTakeTheirTime has real processes take their time in the ways in which training does, longer than the limit: none
// of them is ended. With --hang-timeout 3s what they do is told, where it is not short; with defaults, which takes
// minutes, nothing is. make test takes a sample of the former.
func TestTakeTheirTime(t *testing.T) {
	hows := []string{"eval", "checkpoint", "first", "recompile", "traceback", "final", "stopped"}
	type run struct {
		how, sign     string
		step, seconds float64 // seconds
		flags         []string
	}
	var runs []run
	for _, how := range hows {
		// An evaluation of twenty steps, a first step of fifty.
		runs = append(runs, run{how, "told", 0.2, 10, []string{"--hang-timeout", "3s", "--exit-timeout", "3s"}})
	}
	// A step that began right before everything was stopped, for longer than the limit, and no longer than a busy machine may take.
	runs = append(runs, run{"stopped", "told", 2, 4, []string{"--hang-timeout", "3s", "--exit-timeout", "3s"}})
	if os.Getenv("GANGRUN_TEST_LONG") != "" {
		for _, how := range hows {
			runs = append(runs, run{how, "untold", 1.5, 75, nil})
		}
		runs = append(runs, run{"checkpoint", "untold", 1.5, 150, nil}, run{"traceback", "untold", 1, 180, nil})
	} else {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		runs = runs[:2]
	}
	python := harness.Program(t, "python3", "install python3")
	script := harness.Script(t, "alive.py")
	// All at the same time: they mostly sleep.
	var wait []func()
	for _, r := range runs {
		dir := t.TempDir()
		log := filepath.Join(dir, "message")
		argv := append([]string{harness.Binary(t), "local", "-n", "3", "--termination-log", log, "--log-dir", dir}, r.flags...)
		env := []string{fmt.Sprint("STEP=", r.step), fmt.Sprint("LONG=", r.seconds), "FOLDER=" + dir}
		p := harness.Start(t, 2*limit, env, append(argv, "--", python, script, r.how, r.sign)...)
		stopped := make(chan error, 1)
		if r.how == "stopped" {
			p.Await("stop me")
			all := family(t, p.PID())
			go func() { stopped <- stopAll(all, time.Duration(r.seconds*float64(time.Second))) }()
		} else {
			stopped <- nil
		}
		wait = append(wait, func() {
			t.Run(fmt.Sprint(r.how, " ", r.sign, " ", r.seconds), func(t *testing.T) {
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				e := ended{p.Wait(), harness.Message(t, log), dir}
				e.says(t, 0, "Succeeded")
				restarts := 0
				if r.how == "recompile" {
					restarts = 1 // of its own
				}
				if n := strings.Count(e.Stderr, "msg=restarted"); n != restarts || strings.Contains(e.Stderr, "make no progress") ||
					strings.Contains(e.Stderr, "ending it") || strings.Count(e.Stdout, "done\n") < 3 {
					t.Errorf("%d restarts, want %d: %s\n%s", n, restarts, e.Stdout, e.Stderr)
				}
			})
		})
	}
	for _, ended := range wait {
		ended()
	}
}

// family are a process and all that descend from it.
func family(t *testing.T, pid int) []int {
	t.Helper()
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		for _, task := range tasks {
			children, _ := os.ReadFile(task)
			for _, child := range strings.Fields(string(children)) {
				n, err := strconv.Atoi(child)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, n)
			}
		}
	}
	if len(all) < 4 {
		t.Fatalf("%v, want gangrun and three ranks", all)
	}
	return all
}

// stopAll stops processes for that time, as a suspended machine does.
func stopAll(all []int, length time.Duration) (err error) {
	for _, pid := range all {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGSTOP))
	}
	time.Sleep(length)
	for _, pid := range all {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT))
	}
	return err
}
