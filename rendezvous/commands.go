package rendezvous

import (
	"slices"

	"github.com/gangrun/gangrun/exitcodes"
)

// ReasonStopped is the reason of a run that a person has ended for good.
const ReasonStopped = "Stopped"

// commands handles all commands at once, each only once.
func (t *turn) commands() (Decision, bool) {
	if len(t.Controls) == 0 {
		return Decision{}, false
	}
	var ids []string
	for _, c := range t.Controls {
		ids = append(ids, c.ID)
		if slices.Contains(t.job.Handled, c.ID) {
			continue // a retry of whoever sent it
		}
		t.job.Handled = last(append(t.job.Handled, c.ID), maxHandled)
		if t.concerns(c.Control) {
			t.command(c.Control)
		}
	}
	d := t.write(ActCommand)
	d.Controls = ids
	return d, true
}

// concerns reports whether the command is about what there is now.
func (t *turn) concerns(c Control) bool {
	return (c.RunUID == "" || c.RunUID == t.job.RunUID) && (c.Round == nil || *c.Round == t.job.Round) &&
		!t.job.Phase.finished()
}

func (t *turn) command(c Control) {
	j := t.job
	switch c.Verb {
	case VerbStop:
		t.end(Failed, End{
			Verdict: exitcodes.Fatal, Reason: ReasonStopped, Code: exitcodes.CodeFatalByRule,
			Message: "stopped by command" + by(c),
		})
	case VerbSuspend:
		j.Suspend = true
		if members := t.members(); j.saving() {
			save := *j.Save
			save.Kind, save.Node, save.Why = StopSuspend, "", cut("suspended by command"+by(c))
			j.Save = &save
		} else if j.Phase == Running && t.mayServe(members) {
			t.ask(StopSuspend, "", "suspended by command"+by(c))
		} else if s := j.Stop; j.Phase == Forming && s != nil && s.Round == j.Round && s.Judged {
			j.enter(Stopping, t.now) // why that round has stopped is known, and paid: not once more
		} else if j.Phase == Running || j.Phase == Forming && j.Round >= 0 {
			t.stop(StopSuspend, "", exitcodes.ReasonSuspended, "suspended by command"+by(c))
		} else if j.Phase == Forming {
			j.enter(Suspended, t.now)
		}
	case VerbResume:
		j.Suspend = false
		if j.Phase == Suspended {
			t.resume()
		}
	case VerbUnban:
		t.pardon(c.Host)
	case VerbRestart:
		if j.Phase == Running {
			t.stop(StopRestart, "", "Restart", "restarted by command"+by(c))
		}
	}
}

func by(c Control) string {
	if c.By == "" {
		return ""
	}
	return " of " + cut(c.By)
}
