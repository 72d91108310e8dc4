// Package journal puts events into systemd's journal, with fields to search by: journalctl GANGRUN_REASON=OOMKilled. It
// does so where gangrun's own log goes there, too.
package journal

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/observe/event"
)

// Wanted reports whether standard error is the journal.
func Wanted() bool {
	ours, err := journal.StderrIsJournalStream()
	return err == nil && ours
}

// Writer writes to the journal, beside whoever hands events in.
type Writer struct {
	said  chan []event.Event
	write task.Task
}

// Open begins to write. What is wrong with the journal is said once.
func Open(log *slog.Logger) *Writer {
	w := &Writer{said: make(chan []event.Event, 256)}
	w.write = task.Begin(func() {
		said := false
		for events := range w.said {
			for _, e := range events {
				text, priority, fields := entry(e)
				if text == "" {
					continue
				}
				if err := journal.Send(text, priority, fields); err != nil && !said {
					said = true
					log.Warn("cannot write events to the journal", "err", err)
				}
			}
		}
	})
	return w
}

// Take hands events in. It never waits: a journal that does not read misses some.
func (w *Writer) Take(events []event.Event) {
	select {
	case w.said <- events:
	default:
	}
}

// Close ends it, for no longer than limit.
func (w *Writer) Close(limit time.Duration) {
	close(w.said)
	w.write.EndsWithin(limit)
}

// entry is an event as the journal has it; without a text it has no entry. The steps are not: they would drown the
// rest.
func entry(e event.Event) (text string, priority journal.Priority, fields map[string]string) {
	reason, verdict := "", ""
	priority = journal.PriInfo
	switch e.Type {
	case event.Progress, event.EventsDropped:
		return "", 0, nil
	case event.RoundBegan:
		text = "the round begins"
		if r := e.Began.Restart; r != nil {
			text, reason = fmt.Sprintf("the round begins after a %s", r.Kind), r.Reason
		}
	case event.StragglerFound:
		text, priority = fmt.Sprintf("the others wait for rank %d, step after step", e.Straggler.Rank), journal.PriWarning
		if node := e.Straggler.Node; node != "" {
			text = fmt.Sprintf("the others wait for node %s, minute after minute", node)
		}
	case event.StragglerOver:
		text = fmt.Sprintf("the others do not wait for rank %d any more", e.Straggler.Rank)
		if node := e.Straggler.Node; node != "" {
			text = fmt.Sprintf("node %s is not named as slow any more", node)
		}
	case event.CheckpointSaved:
		text = fmt.Sprintf("checkpoint of step %d at %s", e.Checkpoint.Step, e.Checkpoint.Path)
	case event.RoundStopping:
		text = "the round stops: " + e.Stopping.Why
	case event.WorkerFailed:
		text, reason, verdict, priority = e.Failed.Message, e.Failed.Reason, string(e.Failed.Verdict), journal.PriErr
	case event.RoundEnded:
		text, reason, verdict = "nothing of the round is left", e.RoundEnd.Reason, string(e.RoundEnd.Verdict)
	case event.Leaving:
		text = "this node leaves: " + e.Leave.Why
	case event.RunEnded:
		text, reason, verdict = cmp.Or(e.End.Message, "the run has ended"), e.End.Reason, string(e.End.Verdict)
		if e.End.Verdict == exitcodes.Fatal || e.End.Verdict == exitcodes.Retry {
			priority = journal.PriErr
		}
	default:
		text = strings.ReplaceAll(string(e.Type), ".", " ")
	}
	fields = map[string]string{
		"SYSLOG_IDENTIFIER": "gangrun", "GANGRUN_EVENT": string(e.Type), "GANGRUN_EVENT_ID": e.ID, "GANGRUN_JOB": e.Job,
		"GANGRUN_NODE": e.Node, "GANGRUN_RUN": e.Run, "GANGRUN_REASON": reason, "GANGRUN_VERDICT": verdict,
	}
	if e.Round != nil {
		fields["GANGRUN_ROUND"] = fmt.Sprint(*e.Round)
	}
	if e.Step != nil {
		fields["GANGRUN_STEP"] = fmt.Sprint(*e.Step)
	}
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	return text, priority, fields
}
