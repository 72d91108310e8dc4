package run_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestRunAgreesWithExplain is every third or so of the field logs, and of those of other kinds, printed by a process that then
// ends as theirs did: gangrun run says what explain --log says of the file, in verdict, code, reason and evidence.
func TestRunAgreesWithExplain(t *testing.T) {
	logs := 0
	for _, set := range []string{"field", "fresh"} {
		logs += agreeing(t, set)
	}
	if logs < 40 {
		t.Errorf("only %d logs", logs)
	}
}

// agreeing has run and explain read a third of a set of logs, and returns how many.
func agreeing(t *testing.T, set string) (logs int) {
	t.Helper()
	dir, err := filepath.Abs("../../exitcodes/testdata/" + set)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "INDEX.tsv"))), "\n") {
		fields := strings.Split(row, "\t")
		if strings.HasPrefix(row, "#") || i%3 != 0 && !strings.HasPrefix(row, "T1") {
			continue
		}
		logs++
		file, code := filepath.Join(dir, fields[0]), fields[1]
		t.Run(fields[0], func(t *testing.T) {
			t.Parallel()
			explained, err := exec.Command(harness.Binary(t), "explain", "--log", file, "--code", code, "-o", "json").Output()
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Verdict, Reason, Evidence string
				ExitCode                  int
			}
			if err := json.Unmarshal(explained, &want); err != nil {
				t.Fatal(err)
			}
			e := harness.Job{Flags: []string{"--no-restart"}, Worker: harness.Shell(fmt.Sprintf("cat %s; exit %s", file, code))}.Run(t, limit)
			if e.RootCause == nil {
				t.Fatalf("no root cause: %+v", e.Message)
			}
			// A message is ASCII and bounded, so the evidence may be escaped or cut.
			got := fmt.Sprint(e.Message.Verdict, " ", e.RootCause.Reason, " ", e.Message.ExitCode)
			if wanted := fmt.Sprint(want.Verdict, " ", want.Reason, " ", want.ExitCode); got != wanted {
				t.Errorf("run says %s, explain %s", got, wanted)
			}
			if n := min(len(want.Evidence), 120); !strings.HasPrefix(e.RootCause.Evidence, want.Evidence[:n]) {
				t.Errorf("run goes by %q, explain by %q", e.RootCause.Evidence, want.Evidence)
			}
		})
	}
	return logs
}

// TestStreamsAreToldApart has a worker's standard output come after the traceback on its standard error, as Python flushes it:
// that is no part of the exception's message, unless both are one stream.
func TestStreamsAreToldApart(t *testing.T) {
	const ends = `printf 'Traceback (most recent call last):\n  File "t.py", line 2, in <module>\n    main()\n` +
		`RuntimeError: spot watcher: the run has no data\n' >&2; echo 'metrics: connection refused'; exit 1`
	for script, want := range map[string]string{ends: "fatal 1", "exec 2>&1; " + ends: "retry 210"} {
		e := harness.Job{Flags: []string{"--no-restart"}, Worker: harness.Shell(script)}.Run(t, limit)
		if got := fmt.Sprint(e.Message.Verdict, " ", e.Message.ExitCode); got != want {
			t.Errorf("%s, %q, want %s", got, e.Message.Message, want)
		}
	}
}
