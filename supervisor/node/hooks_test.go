package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
)

// TestWithHooks is the whole table of how a run ends: by its training and by its hooks.
func TestWithHooks(t *testing.T) {
	well := hookResult{name: "on-exit:sync"}
	ill := hookResult{name: "on-exit:notify", code: 7, what: "ended with exit code 7", output: []byte("no route\n")}
	late := hookResult{name: "on-job-end:upload", code: 124, what: "did not end within 30s"}
	success := exitcodes.Message{Verdict: exitcodes.Success, Reason: exitcodes.ReasonSucceeded, Message: "good"}
	for name, tt := range map[string]struct {
		end     exitcodes.Message
		results []hookResult
		ignore  bool
		code    int
		verdict exitcodes.Verdict
		reason  string
		says    string
	}{
		"all well":             {success, []hookResult{well, well}, false, 0, exitcodes.Success, "Succeeded", "good"},
		"one failed":           {success, []hookResult{well, ill}, false, 92, exitcodes.Fatal, "ExitHookFailed", "notify ended with exit code 7"},
		"the first of two":     {success, []hookResult{ill, late, well}, false, 92, exitcodes.Fatal, "ExitHookFailed", "code 7, and 1 more failed"},
		"ignored":              {success, []hookResult{ill, late}, true, 0, exitcodes.Success, "Succeeded", "good"},
		"after a failure":      {failed(3, exitcodes.Fatal), []hookResult{well}, false, 3, exitcodes.Fatal, "Error", "bad"},
		"both failed":          {failed(3, exitcodes.Fatal), []hookResult{ill}, false, 3, exitcodes.Fatal, "Error", "bad"},
		"worth a retry":        {failed(137, exitcodes.Retry), []hookResult{ill}, false, 137, exitcodes.Retry, "Error", "bad"},
		"preempted":            {failed(143, exitcodes.Preempted), []hookResult{ill}, false, 143, exitcodes.Preempted, "Error", "bad"},
		"suspended":            {failed(143, exitcodes.Suspended), []hookResult{late}, false, 143, exitcodes.Suspended, "Error", "bad"},
		"a failure, no ignore": {failed(1, exitcodes.Fatal), []hookResult{ill}, true, 1, exitcodes.Fatal, "Error", "bad"},
	} {
		t.Run(name, func(t *testing.T) {
			m := withHooks(tt.end, tt.results, tt.ignore)
			if m.ExitCode != tt.code || m.Verdict != tt.verdict || m.Reason != tt.reason || !strings.Contains(m.Message, tt.says) {
				t.Errorf("%d, %s, %s: %s", m.ExitCode, m.Verdict, m.Reason, m.Message)
			}
			var want []exitcodes.Hook
			for _, r := range tt.results {
				want = append(want, exitcodes.Hook{Name: r.name, ExitCode: r.code})
			}
			if !slices.Equal(m.Hooks, want) {
				t.Errorf("hooks %v, want %v", m.Hooks, want)
			}
			if m.Reason == exitcodes.ReasonExitHookFailed && m.LogTail != "no route\n" {
				t.Errorf("the hook's last words are lost: %q", m.LogTail)
			}
		})
	}
}

func failed(code int, v exitcodes.Verdict) exitcodes.Message {
	return exitcodes.Message{Verdict: v, Reason: exitcodes.ReasonError, Message: "bad", ExitCode: code}
}

func TestHookTimes(t *testing.T) {
	start := time.Unix(1000, 0)
	after := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	for name, tt := range map[string]struct {
		timeout, grace time.Duration
		until          time.Time
		term, kill     time.Time
	}{
		"its own time":               {30 * time.Second, 5 * time.Second, time.Time{}, after(30), after(35)},
		"no time to answer":          {30 * time.Second, 0, time.Time{}, after(30), after(30)},
		"the container lives longer": {2 * time.Second, 5 * time.Second, after(20), after(2), after(7)},
		"killed before its answer":   {10 * time.Second, 5 * time.Second, after(12), after(10), after(12)},
		"the container ends before":  {30 * time.Second, 5 * time.Second, after(10), after(9), after(10)},
		"hardly any time":            {30 * time.Second, 5 * time.Second, after(0.5), after(0.25), after(0.5)},
		"no time at all":             {30 * time.Second, 5 * time.Second, after(0), after(0), after(0)},
	} {
		term, kill := hookTimes(start, tt.timeout, tt.grace, tt.until)
		if !term.Equal(tt.term) || !kill.Equal(tt.kill) {
			t.Errorf("%s: SIGTERM after %v, SIGKILL after %v; want %v, %v",
				name, term.Sub(start), kill.Sub(start), tt.term.Sub(start), tt.kill.Sub(start))
		}
	}
}
