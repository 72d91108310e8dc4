package node

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/gangrun/gangrun/exitcodes"
)

// sayResume says what the round resumes from, given how far the last one had come.
func (n *Node) sayResume(b Begin) {
	last := n.step()
	args := []any{"round", b.Round}
	switch {
	case b.Path == "" && b.Round > 0 && last != nil && b.Looked:
		n.log(slog.LevelWarn, "no checkpoint for the training: it starts over, unless it finds its own", append(args, "lost_steps", *last)...)
		return
	case b.Path == "":
		return
	case b.Step == nil:
		n.log(slog.LevelInfo, "resuming from checkpoint", append(args, "path", b.Path, "content", b.Identity)...)
		return
	}
	args = append(args, cmp.Or(b.Unit, "step"), *b.Step, "path", b.Path)
	if b.Unit == "" && last != nil && *last > *b.Step {
		args = append(args, "lost_steps", *last-*b.Step)
	}
	if b.FallBack {
		n.log(slog.LevelWarn, "going back to an older checkpoint", args...)
		return
	}
	n.log(slog.LevelInfo, "resuming from checkpoint", args...)
}

// reported notes what the workers report, and acts on it.
func (n *Node) reported(reports Reported) {
	for i, r := range reports {
		if i < len(n.workers) {
			w := &n.workers[i]
			if r.Step != nil && (w.report.Step == nil || *r.Step != *w.report.Step) {
				w.stepAt = r.At
			}
			w.report = r
		}
	}
	n.pace.told(reports.furthest())
	n.tellLooks()
	n.checkResumed()
	n.refresh()
}

// checkResumed compares the first step that each worker reports with the checkpoint that the round resumes from.
// Frameworks that cannot read a checkpoint, or do not find it, mostly start over without a word, and overwrite what is
// there.
func (n *Node) checkResumed() {
	if n.state != Running || n.request != nil || n.policy.SilentRestart == SilentRestartIgnore ||
		n.begin.Step == nil || n.begin.Path == "" || n.begin.Unit != "" { // an epoch is never compared with a step
		return
	}
	from := *n.begin.Step
	for i := range n.workers {
		w := &n.workers[i]
		if w.checked || w.ended || w.report.Step == nil {
			continue
		}
		w.checked = true
		step := *w.report.Step
		// Whether step n has n steps behind it, or n+1, is a matter of taste.
		if step >= from-1 || w.stop != exitcodes.NotStopped {
			continue
		}
		n.log(slog.LevelError, "training did not resume where it should: stopping it", "worker", w.String(), "step", step, "checkpoint", from)
		n.accuse(w, fmt.Sprintf("was to resume from the checkpoint of step %d (%s) and reported step %d", from, n.begin.Path, step))
	}
}

// accuse stops a worker that does what it must not, and makes that its finding.
func (n *Node) accuse(w *worker, why string) {
	if n.state != Running || w.ended || w.accused != "" || w.stop != exitcodes.NotStopped {
		return
	}
	w.accused = why
	for i := range n.workers {
		if &n.workers[i] == w {
			killAt := n.now.Add(n.policy.RestartGrace)
			n.stopWorker(i, exitcodes.NotStopped, SIGTERM, killAt, killAt)
		}
	}
}
