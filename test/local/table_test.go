package local_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// table is the table at the end of a run's standard error: a line for the head and one for each rank, the columns
// separated by " | " and the times, which are never the same, replaced by T.
func table(t *testing.T, stderr string) []string {
	t.Helper()
	at := strings.LastIndex("\n"+stderr, "\nrank ")
	if at < 0 {
		t.Fatalf("no table:\n%s", stderr)
	}
	rows := lines(stderr[at:])
	head := regexp.MustCompile(`^rank +|verdict +|code +|time +|last line$`).FindAllStringIndex(rows[0], -1)
	if len(head) != 5 {
		t.Fatalf("the head is %q", rows[0])
	}
	var table []string
	for _, row := range rows {
		var cells []string
		for i, column := range head {
			end := len(row)
			if i+1 < len(head) {
				end = head[i+1][0]
			}
			if column[0] > len(row) || end > len(row) {
				t.Fatalf("not in columns:\n%s", strings.Join(rows, "\n"))
			}
			cells = append(cells, strings.TrimSpace(row[column[0]:end]))
		}
		if tookTime.MatchString(cells[3]) {
			cells[3] = "T"
		}
		table = append(table, strings.TrimSpace(strings.Join(cells, " | ")))
	}
	return table
}

// tookTime is a duration as Go prints it, in milliseconds at the least.
var tookTime = regexp.MustCompile(`^(0s|\d+ms|(\d+m)?\d+(\.\d+)?s)$`)

// TestTable says of each rank how it ended, and which was the cause.
func TestTable(t *testing.T) {
	t.Parallel()
	const hang = `exec sleep 1000`
	tests := []struct {
		name, script string
		code         int
		want         []string
	}{
		{"success", `echo "first"; echo "it was $RANK"`, 0, []string{
			"0 | success | 0 | T | it was 0",
			"1 | success | 0 | T | it was 1",
		}},
		{"one fails", `[ $RANK = 0 ] || { echo "too bad"; exit 3; }; ` + hang, 3, []string{
			"0 | stopped | 143 SIGTERM | T |",
			"1 | fatal * | 3 | T | too bad",
		}},
		{"one is killed", `[ $RANK = 1 ] || kill -KILL $$; ` + hang, 137, []string{
			"0 | retry * | 137 SIGKILL | T |",
			"1 | stopped | 143 SIGTERM | T |",
		}},
		{"one answers the stop with success", `if [ $RANK = 0 ]; then trap "exit 0" TERM; mkfifo gate; read x <gate; else
			until [ -p gate ]; do :; done; exec 3>gate; exit 5; fi; while :; do :; done`, 5, []string{
			"0 | stopped | 0 | T |",
			"1 | fatal * | 5 | T |",
		}},
		{"a progress bar", `[ $RANK = 0 ] || exit 0; printf "  1%%|#   \r 50%%|##  \r100%%|####\r"`, 0, []string{
			"0 | success | 0 | T | 100%|####",
			"1 | success | 0 | T |",
		}},
		{"a progress bar and what follows it", `[ $RANK = 0 ] || exit 0; printf " 50%%\r100%%\n"; printf "done\r\n\n"`, 0, []string{
			"0 | success | 0 | T | done",
			"1 | success | 0 | T |",
		}},
		{"control characters", `[ $RANK = 0 ] || exit 0; printf 'a\033[2Jb\007\010c\177d\te\n'`, 0, []string{
			"0 | success | 0 | T | a [2Jb  c d e",
			"1 | success | 0 | T |",
		}},
		{"letters beyond ASCII", `[ $RANK = 0 ] || exit 0; printf '損失 0.5 é\n'`, 0, []string{
			"0 | success | 0 | T | 損失 0.5 é",
			"1 | success | 0 | T |",
		}},
		{"a long line", `[ $RANK = 0 ] || exit 0; printf '%0500d\n' 0`, 0, []string{
			"0 | success | 0 | T | " + strings.Repeat("0", 100) + "…",
			"1 | success | 0 | T |",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := job{flags: []string{"-n", "2", "--no-restart"}, worker: shell(tt.script)}.run(t)
			res.want(t, tt.code)
			rows := table(t, res.Stderr)
			if rows[0] != "rank | verdict | code | time | last line" || !slices.Equal(rows[1:], tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestTableIsHarmless has no byte in the table that a terminal may take for an order. In the two bytes of UTF-8, U+009B
// is the beginning of one too.
func TestTableIsHarmless(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "1", "--only-ranks", "0"}, worker: shell(`printf 'a\302\2332Jb\n'`)}.run(t)
	res.want(t, 0)
	for _, r := range res.Stderr {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
			t.Errorf("%q in %q", r, res.Stderr)
		}
	}
}

// TestTableOfLastRound has the ranks of the round that counts.
func TestTableOfLastRound(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2"}, worker: shell(
		`echo "round $GANGRUN_ROUND"; [ $GANGRUN_ROUND = 1 ] || [ $RANK = 0 ] || exit 200`)}.run(t)
	res.want(t, 0)
	want := []string{"0 | success | 0 | T | round 1", "1 | success | 0 | T | round 1"}
	if rows := table(t, res.Stderr); !slices.Equal(rows[1:], want) {
		t.Errorf("%q", rows)
	}
	if strings.Count(res.Stderr, "last line") != 1 {
		t.Errorf("not one table:\n%s", res.Stderr)
	}
}

// TestTableOfWhatWasNotStarted: why is said once, in the line before the table.
func TestTableOfWhatWasNotStarted(t *testing.T) {
	t.Parallel()
	res := job{flags: []string{"-n", "2"}, worker: []string{"./nothing"}}.run(t)
	res.want(t, 127)
	rows := table(t, res.Stderr)
	if want := []string{"0 | fatal * | - | T | not started", "1 | - | - | T | not started"}; !slices.Equal(rows[1:], want) {
		t.Errorf("%q, want %q", rows, want)
	}
	if strings.Count(res.Stderr, "cannot start ./nothing: no such file or directory") != 1 {
		t.Errorf("it is not said once why:\n%s", res.Stderr)
	}
}

// TestTableBeginsALine where the last word of a rank has not ended one.
func TestTableBeginsALine(t *testing.T) {
	t.Parallel()
	term := openTerminal(t)
	term.start(job{flags: []string{"-n", "1"}, worker: shell(`printf "no end"`)})
	if shown := term.ends(0); !strings.Contains(shown, "no end\r\nrank ") {
		t.Errorf("%q", shown)
	}
}

// pass lets the reader of a FIFO go on.
func pass(t *testing.T, fifo string) {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
