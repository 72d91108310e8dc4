package node

import (
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

var hooked = Policy{OnExit: []string{"on-exit:a", "on-exit:b"}, OnJobEnd: []string{"on-job-end:c"}}

// after is a run whose worker exits with the code after 10 s, and the job with it.
func after(t *testing.T, p Policy, code int) *world {
	w := newWorld(t, p).start(0, 0).exits(10*s, 0, code)
	w.took()
	return w.end(10 * s)
}

// hookExits ends the hook that runs.
func (w *world) hookExits(at time.Duration, code int) *world {
	return w.at(at, Exited{Worker: Hook, Status: exitcodes.Status{Code: code}, At: noon.Add(at), Alone: w.left == nil})
}

// TestHooksRun is the table of docs/hooks.md: the training's end stays the training's.
func TestHooksRun(t *testing.T) {
	for name, tt := range map[string]struct {
		policy  Policy
		worker  int
		codes   []int
		verdict exitcodes.Verdict
		code    int
		says    string
	}{
		"all succeed":        {hooked, 0, []int{0, 0, 0}, exitcodes.Success, 0, ""},
		"one fails":          {hooked, 0, []int{0, 7, 0}, exitcodes.Fatal, 92, "the exit hook on-exit:b ended with exit code 7"},
		"two fail":           {hooked, 0, []int{4, 7, 0}, exitcodes.Fatal, 92, "on-exit:a ended with exit code 4, and 1 more failed"},
		"one fails, ignored": {Policy{OnExit: hooked.OnExit, HookIgnore: true}, 0, []int{0, 7}, exitcodes.Success, 0, ""},
		"after a failure":    {hooked, 3, []int{0, 0, 0}, exitcodes.Fatal, 3, "exited 3"},
		"both fail":          {hooked, 3, []int{1, 1, 1}, exitcodes.Fatal, 3, "exited 3"},
		"worth a retry":      {hooked, 137, []int{1, 1, 1}, exitcodes.Retry, 137, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := after(t, tt.policy, tt.worker)
			for i, code := range tt.codes {
				w.hookExits(11*s+time.Duration(i)*s, code)
			}
			w.ended(tt.verdict, tt.code, tt.says)
			for i, h := range w.n.final.Hooks {
				if h.ExitCode != tt.codes[i] {
					t.Errorf("%v", w.n.final.Hooks)
				}
			}
		})
	}
}

// TestHooksOrder runs them one after the other, those of the job's end only where this node has ended it.
func TestHooksOrder(t *testing.T) {
	w := after(t, hooked, 0)
	w.wants("hook 0")
	w.hookExits(11*s, 0).wants("hook 1")
	w.hookExits(12*s, 0).wants("hook 2")
	w.hookExits(13*s, 0).wants("")

	w = newWorld(t, hooked).start(0, 0).exits(10*s, 0, 0)
	w.at(10*s, End{End: rendezvous.End{Verdict: exitcodes.Success}})
	w.took()
	w.hookExits(11*s, 0).hookExits(12*s, 0).ended(exitcodes.Success, 0, "")
}

// TestHookTakesTooLong is killed after its timeout and --restart-grace.
func TestHookTakesTooLong(t *testing.T) {
	w := after(t, hooked, 0)
	w.took()
	w.at(40*s - 1).wants("")
	w.at(40 * s).wants("SIGTERM to hook's group, SIGCONT to hook's group")
	w.at(45 * s).wants("SIGKILL to hook's group")
	w.at(45*s, Exited{Worker: Hook, Status: exitcodes.Status{Signal: 9}, Alone: true}).wants("hook 1")
	w.hookExits(46*s, 0).hookExits(47*s, 0).ended(exitcodes.Fatal, 92, "on-exit:a did not end within 30s")
	if w.n.final.Hooks[0].ExitCode != 124 || w.n.final.LogTail != "its output\n" {
		t.Errorf("%+v, %q", w.n.final.Hooks, w.n.final.LogTail)
	}

	// One that SIGKILL does not end is left alone.
	w = after(t, Policy{OnExit: []string{"a"}}, 0)
	w.at(80*s, Looked{Hook, []Process{{Deep: true}}})
	w.ended(exitcodes.Fatal, 92, "did not end within")
}

func TestHookThatCannotStart(t *testing.T) {
	w := newWorld(t, hooked)
	w.hooks = map[int]Failure{0: {Why: "cannot start a: not found", Code: 127}, 1: {Why: "no more processes"}}
	w.start(0, 0).exits(10*s, 0, 0).end(10*s).hookExits(11*s, 0)
	w.ended(exitcodes.Fatal, 92, "on-exit:a could not be started: cannot start a: not found, and 1 more failed")
	if h := w.n.final.Hooks; h[0].ExitCode != 127 || h[1].ExitCode != 126 || h[2].ExitCode != 0 {
		t.Errorf("%+v", h)
	}
}

// TestHooksAfterAStop have what the workers have left of the grace.
func TestHooksAfterAStop(t *testing.T) {
	w := newWorld(t, hooked).start(0, 0).signal(0, SIGTERM).exits(20*s, 0, 143)
	w.took()
	w.at(20*s, End{End: rendezvous.End{Verdict: exitcodes.Suspended}}).wants("hook 0")
	w.at(24 * s).wants("SIGTERM to hook's group, SIGCONT to hook's group")
	w.at(25 * s).wants("SIGKILL to hook's group")
	w.at(25*s, Exited{Worker: Hook, Status: exitcodes.Status{Signal: 9}, Alone: true})
	w.ended(exitcodes.Preempted, 143, "")
	if h := w.n.final.Hooks; len(h) != 2 || h[0].ExitCode != 124 || h[1].ExitCode != 124 {
		t.Errorf("%+v", h)
	}
}

// TestStopDuringHooks starts the clock of the grace and changes no verdict; later signals are passed on, and a second
// SIGINT ends the wait.
func TestStopDuringHooks(t *testing.T) {
	p := Policy{OnExit: []string{"a"}, HookTimeout: 1000 * s}
	w := after(t, p, 0)
	w.took()
	w.signal(20*s, SIGTERM).wants("")
	w.signal(21*s, SIGTERM).wants("SIGTERM to hook's group")
	w.signal(21*s, Signal(28)).wants("")
	w.at(44 * s).wants("SIGTERM to hook's group, SIGCONT to hook's group")
	w.at(45 * s).wants("SIGKILL to hook's group")
	w.at(45*s, Exited{Worker: Hook, Status: exitcodes.Status{Signal: 9}, Alone: true})
	w.ended(exitcodes.Fatal, 92, "did not end before the grace was over")

	w = after(t, p, 3)
	w.took()
	w.signal(20*s, SIGINT).wants("")
	w.signal(21*s, SIGINT).wants("SIGINT to hook's group, SIGTERM to hook's group, SIGCONT to hook's group, SIGKILL to hook's group")
	w.at(21*s, Exited{Worker: Hook, Status: exitcodes.Status{Signal: 9}, Alone: true})
	w.ended(exitcodes.Fatal, 3, "")
}

// TestHookLeavesSomethingBehind removes it as after a worker.
func TestHookLeavesSomethingBehind(t *testing.T) {
	for leftovers, wants := range map[Leftovers]string{
		LeftoversKill: "SIGTERM to what is left", LeftoversTerm: "SIGTERM to what is left", LeftoversLeave: "",
	} {
		w := after(t, Policy{OnExit: []string{"a"}, Leftovers: leftovers}, 0)
		w.took()
		w.left = []Process{{PID: 7}}
		w.hookExits(11*s, 0).wants(wants)
		if leftovers == LeftoversKill {
			w.at(12*s - 1).wants("")
			w.at(12*s + 2*sweepAgain).took()
		}
		w.ended(exitcodes.Success, 0, "")
	}
	w := after(t, Policy{OnExit: []string{"a"}}, 0)
	w.left = []Process{{PID: 7}}
	w.hookExits(11*s, 0).at(11*s, Alone{}).ended(exitcodes.Success, 0, "")

	// What was stuck before the hook is not waited for; what the hook leaves stuck is given up after a while.
	w = after(t, Policy{OnExit: []string{"a"}}, 0)
	w.n.stuck.add("7 (x)", 7)
	w.left = []Process{{PID: 7, Deep: true}}
	w.hookExits(11*s, 0).ended(exitcodes.Success, 0, "")
	w = after(t, Policy{OnExit: []string{"a"}}, 0)
	w.left, w.immune = []Process{{PID: 8, Deep: true}}, true
	w.hookExits(11*s, 0).at(43*s).ended(exitcodes.Success, 0, "")

	// No hook after it waits for the same again.
	w = after(t, Policy{OnExit: []string{"a", "b"}}, 0)
	w.left, w.immune = []Process{{PID: 8, Deep: true}}, true
	w.hookExits(11*s, 0).at(43*s).hookExits(44*s, 0).ended(exitcodes.Success, 0, "")
}
