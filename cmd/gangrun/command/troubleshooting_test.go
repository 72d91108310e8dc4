package command

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor"
	"github.com/gangrun/gangrun/supervisor/node"
)

// TestTroubleshooting looks for what docs/troubleshooting.md says of the last line in last lines.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| the last line says | because | so |\n|---|---|---|\n")
	if table, _, _ = strings.Cut(table, "\n\n"); !found {
		t.Fatal("the page has no table of last lines")
	}
	said := strings.Join(lastLines(), "\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 8 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		cell := strings.TrimSpace(strings.Split(row, "|")[1])
		pattern := regexp.MustCompile(`\d+`).ReplaceAllString(regexp.QuoteMeta(cell), `\d+`)
		pattern = strings.NewReplacer(`\.\.\.`, `.*`, `NODE`, `\S+`).Replace(pattern)
		if !regexp.MustCompile(pattern).MatchString(said) {
			t.Errorf("%q is in none of\n%s", cell, said)
		}
	}
}

// lastLines are those of all runs that are not restarted, but for what only the message knows.
func lastLines() (lines []string) {
	code, step := 1, int64(7)
	now := time.Unix(1<<30, 0)
	say := func(m exitcodes.Message, end node.Ending, cfg supervisor.Config) {
		_, text := closing(m, end, cfg, 1)
		lines = append(lines, text)
	}
	retry := exitcodes.Message{Verdict: exitcodes.Retry, Reason: exitcodes.ReasonOOMKilled, ExitCode: 137}
	for _, limit := range []rendezvous.Restarts{
		{},
		{Max: 9, InWindow: 1, Window: rendezvous.Duration(time.Hour)},
		{Max: 9, MaxSameFailure: 2},
	} {
		budget := rendezvous.Budget{Recent: []time.Time{now}, Cause: "c", Step: &step, Same: 1, Mark: rendezvous.Progress{Step: &step}}
		_, ruling := budget.Failed(limit, now, "c", rendezvous.Progress{Step: &step}, false, "")
		say(retry, node.Ending{Why: ruling.Spent.Says, Limit: ruling.Spent.Limit}, supervisor.Config{MaxRestarts: 9})
	}
	say(retry, node.Ending{}, supervisor.Config{})
	say(retry, node.Ending{}, supervisor.Config{MaxRestarts: 9, NoRestart: true})
	say(exitcodes.Message{Verdict: exitcodes.Fatal, RootCause: &exitcodes.RootCause{Node: "n1", Rule: "code.import"}},
		node.Ending{Failure: "rank 1 exited 1"}, supervisor.Config{MaxRestarts: 9})
	say(exitcodes.Message{Verdict: exitcodes.Fatal, Reason: exitcodes.ReasonError, WorkerExitCode: &code},
		node.Ending{}, supervisor.Config{MaxRestarts: 9})
	say(exitcodes.Message{Verdict: exitcodes.Fatal, Reason: rendezvous.ReasonStopped},
		node.Ending{Why: "stopped by command of somebody"}, supervisor.Config{MaxRestarts: 9})
	return lines
}
