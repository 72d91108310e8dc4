package journal

import (
	"testing"

	"github.com/coreos/go-systemd/v22/journal"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
)

func TestEntry(t *testing.T) {
	round, step := 0, int64(7)
	e := event.Event{
		ID: "s-1", Type: event.WorkerFailed, Job: "j", Node: "n", Round: &round, Step: &step,
		Failed: &event.Failed{Verdict: exitcodes.Retry, Reason: "OOMKilled", Message: "rank 0 was killed for memory"},
	}
	text, priority, fields := entry(e)
	if text != "rank 0 was killed for memory" || priority != journal.PriErr || len(fields) != 9 {
		t.Errorf("%q %v %v", text, priority, fields)
	}
	for name, want := range map[string]string{
		"GANGRUN_EVENT": "worker.failed", "GANGRUN_EVENT_ID": "s-1", "GANGRUN_REASON": "OOMKilled",
		"GANGRUN_VERDICT": "retry",
		"GANGRUN_ROUND":   "0", "GANGRUN_STEP": "7", "GANGRUN_JOB": "j", "GANGRUN_NODE": "n", "SYSLOG_IDENTIFIER": "gangrun",
	} {
		if fields[name] != want {
			t.Errorf("%s is %q", name, fields[name])
		}
	}
	if text, _, _ := entry(event.Event{Type: event.Progress}); text != "" {
		t.Errorf("a step says %q", text)
	}
}
