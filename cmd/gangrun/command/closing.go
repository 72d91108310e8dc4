package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/words"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/node"
)

// closing is the last line about a run: why there is no restart and what a person can do, or what a success has cost.
// It is empty where there is nothing to add: a success at the first attempt. rounds is how many this node has begun: a
// round's number also counts those of earlier runs of the job.
func closing(m exitcodes.Message, end node.Ending, cfg supervisor.Config, rounds int) (slog.Level, string) {
	switch m.Verdict {
	case exitcodes.Success:
		if rounds < 2 {
			return slog.LevelInfo, ""
		}
		return slog.LevelInfo, fmt.Sprintf("succeeded after %s and %s", lasted(m), words.Count(rounds-1, "restart"))
	case exitcodes.Preempted:
		return slog.LevelInfo, fmt.Sprintf("stopped, not failed: %s; exits with %d; run it again to continue", m.Message, m.ExitCode)
	case exitcodes.Suspended:
		return slog.LevelInfo, fmt.Sprintf("%s; exits with %d; %s", cmp.Or(end.Why, m.Message), m.ExitCode, reasonAdvice[exitcodes.ReasonSuspended].do)
	}
	why := whyNot(m, end, cfg)
	if end.Failure != "" {
		why += "; " + on(m.RootCause) + end.Failure
	}
	if end.Alone {
		why += "; the job continues without this node"
	}
	text := fmt.Sprintf("not restarted: %s; exits with %d", why, m.ExitCode)
	if do := whatToDo(m, cfg); do != "" {
		text += ". What to do: " + do
	}
	return slog.LevelError, text
}

// on names the node of a failure that happened elsewhere.
func on(c *exitcodes.RootCause) string {
	if c == nil || c.Node == "" {
		return ""
	}
	return "on " + c.Node + ": "
}

// whyNot is why gangrun does not start the workers again: what the job says, else what follows from the failure.
func whyNot(m exitcodes.Message, end node.Ending, cfg supervisor.Config) string {
	rule := ""
	if m.RootCause != nil {
		rule = m.RootCause.Rule
	}
	switch {
	case end.Why != "" && limitFlags[end.Limit] != "":
		return fmt.Sprintf("%s (--%s)", end.Why, limitFlags[end.Limit])
	case end.Why != "":
		return end.Why
	case m.Reason == exitcodes.ReasonNodeUnhealthy:
		return "this machine would fail again"
	case m.Reason == exitcodes.ReasonExitHookFailed:
		return "the training has succeeded, and only a hook has failed"
	case m.Reason == exitcodes.ReasonStoreLost:
		return "a node can do nothing without the store"
	case m.Verdict == exitcodes.Retry && cfg.MaxRestarts == 0:
		return "it may be worth a retry, but no restarts are allowed (--max-restarts 0)"
	case m.Verdict == exitcodes.Retry && cfg.NoRestart:
		return "it may be worth a retry, which --no-restart leaves to the operator"
	case m.Verdict == exitcodes.Retry:
		return "it may be worth a retry, but not in this run"
	case rule != "":
		return fmt.Sprintf("rule %s says it would fail the same way again", rule)
	case m.WorkerExitCode != nil && *m.WorkerExitCode > 0 && *m.WorkerExitCode < exitcodes.CodeSignalBase && m.Reason == exitcodes.ReasonError:
		return fmt.Sprintf("exit code %d with no known cause counts as a failure that would repeat", *m.WorkerExitCode)
	}
	return "it would fail the same way again"
}

// limitFlags are the flags that set the limits on restarts.
var limitFlags = map[rendezvous.Limit]string{
	rendezvous.LimitProgress:    "max-restarts",
	rendezvous.LimitWindow:      "restart-window",
	rendezvous.LimitPreemptions: "max-preemptions",
	rendezvous.LimitSameFailure: "max-same-failure",
}

// adviceAbout is what a person can do about an end: about its root cause, where the reason says only what gangrun made of
// that.
func adviceAbout(m exitcodes.Message) string {
	if strings.Contains(m.Message, exitcodes.Unseen) {
		return seeOutput
	}
	known := adviceOnEnd(m.Reason, m.Verdict)
	if m.RootCause == nil {
		return known.do
	}
	of := adviceOnEnd(m.RootCause.Reason, m.Verdict)
	switch m.Reason {
	case exitcodes.ReasonRetryableByRule, exitcodes.ReasonFatalByRule:
		return of.do
	case exitcodes.ReasonRestartBudgetExhausted:
		return cmp.Or(whenItReturns(of.do), known.do)
	}
	return known.do
}

// adviceOnEnd is what is known of a reason: how to make a retry of what is one already is of no use.
func adviceOnEnd(reason string, v exitcodes.Verdict) advice {
	a, _ := adviceOn(reason)
	if reason == exitcodes.ReasonError && v == exitcodes.Retry {
		a.do = readOutput
	}
	return a
}

// whenItReturns is advice once there are no more restarts: it does not begin with doing nothing, and is empty where that was all.
func whenItReturns(do string) string {
	if rest, waits := strings.CutPrefix(do, "nothing at first; "); waits {
		return rest
	}
	if strings.HasPrefix(do, "nothing") {
		return ""
	}
	return do
}

// whatToDo is what a person can do next.
func whatToDo(m exitcodes.Message, cfg supervisor.Config) string {
	do := adviceAbout(m)
	if m.Reason == exitcodes.ReasonNotFound && m.Message == "cannot start torchrun: not found in PATH" {
		do = "run gangrun launch in place of torchrun, with the same flags, or install torch in the image, where torchrun is on PATH"
	}
	if m.Verdict != exitcodes.Retry || cfg.MaxRestarts > 0 || m.Reason == exitcodes.ReasonRendezvousTimeout || m.Reason == exitcodes.ReasonStoreLost {
		return do
	}
	return strings.TrimSuffix("allow restarts: --max-restarts 3; "+whenItReturns(do), "; ")
}

func lasted(m exitcodes.Message) string {
	took := m.FinishedAt.Sub(m.StartedAt)
	if took < 10*time.Second {
		return took.Round(100 * time.Millisecond).String()
	}
	return took.Round(time.Second).String()
}

// sayClosing prints the closing line when all output of the workers is out, before the report or table of the command.
func (o *options) sayClosing() {
	var (
		last   exitcodes.Message
		end    node.Ending
		rounds int
	)
	observe, epilogue := o.Observe, o.Epilogue
	o.Observe = func(at time.Time, ev node.Event, effects []node.Effect) {
		if observe != nil {
			observe(at, ev, effects)
		}
		if _, begins := ev.(node.Begin); begins {
			rounds++
		}
		for _, e := range effects {
			switch e := e.(type) {
			case node.Record:
				last = e.Message
			case node.Ending:
				end = e
			}
		}
	}
	o.Epilogue = func(w io.Writer) {
		if level, text := closing(last, end, o.Config, rounds); text != "" {
			if o.seeing != "" {
				text = strings.Replace(text, seeOutput, o.seeing, 1)
			}
			var as []any
			if end != (node.Ending{}) && level >= slog.LevelError { // no line before has it
				as = []any{"verdict", last.Verdict, "reason", last.Reason}
			}
			o.Log.Log(context.Background(), level, text, as...)
		}
		if epilogue != nil {
			epilogue(w)
		}
	}
}
