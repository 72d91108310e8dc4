package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Logs as clusters have them, logs of real programs that were made to fail (test/peers/provoke/field), and logs that were
// written after the messages of more programs and launchers, each with what an experienced engineer decides, are read
// through explain --log. What is said of each stands in verdicts.tsv: read every change of it. The logs in
// firstSight were judged before anything read them, and their index names words of the line to go by. Those in composed were written from
// knowledge of how programs and launchers fail side by side; those in whole, likewise, are whole outputs of jobs.
func TestExplainReadsFieldLogs(t *testing.T) {
	for _, name := range slices.Concat([]string{"field", "provoked", "written"}, firstSight) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("../../../exitcodes/testdata", name)
			var b strings.Builder
			right, decided, shown := 0, 0, 0
			for _, c := range fieldCases(t, dir) {
				got := explainLog(t, filepath.Join(dir, c.file), c.code)
				word := "ok"
				switch {
				case c.wants("either"):
					word = "either"
				case c.wants(string(got.Verdict)):
					right++
					decided++
				default:
					word = "WRONG, want " + c.want
					decided++
				}
				if slices.Contains(firstSight, name) && !c.shownBy(got.Evidence) {
					word += ", the evidence wants " + c.words
					shown++
				}
				fmt.Fprintf(&b, "%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s\n", c.file, c.code, word, got.Verdict, got.ExitCode, got.Reason, got.Rule, got.Evidence)
			}
			t.Logf("%d of %d are right, %d by another line", right, decided, shown)
			golden(t, filepath.Join(dir, "verdicts.tsv"), b.String())
		})
	}
}

var firstSight = []string{"heldout", "unseen", "fresh", "threads", "public", "posted", "reported", "composed", "whole"}

type fieldCase struct {
	file string
	code int
	want string // verdicts that are right, separated by slashes
	// words are of the line that decides, where the index has them.
	words string
}

func (c fieldCase) wants(verdict string) bool {
	return slices.Contains(strings.Split(c.want, "/"), verdict)
}

// shownBy reports whether an evidence has the words of one of the lines to go by, between which the index puts " || ".
func (c fieldCase) shownBy(evidence string) bool {
	return slices.ContainsFunc(strings.Split(c.words, " || "), func(words string) bool {
		return strings.Contains(strings.ToLower(evidence), strings.ToLower(strings.TrimSpace(words)))
	})
}

// fieldCases reads the INDEX.tsv of a directory of logs.
func fieldCases(t *testing.T, dir string) []fieldCase {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []fieldCase
	for line := range strings.Lines(string(index)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") || len(fields) < 3 {
			continue
		}
		code, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatalf("%s: %q", dir, line)
		}
		c := fieldCase{file: fields[0], code: code, want: fields[2]}
		if len(fields) > 3 {
			c.words = fields[3]
		}
		cases = append(cases, c)
	}
	return cases
}

// explainLog is what explain --log FILE --code CODE -o json says.
func explainLog(t *testing.T, path string, code int) logged {
	t.Helper()
	var out bytes.Buffer
	if err := newExplainer(&out, true).log(path, code, true); err != nil {
		t.Fatal(err)
	}
	var got logged
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// golden compares text with a file, line by line; UPDATE_GOLDEN=1 rewrites it.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(text, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(old)) {
		if i >= len(got) || i >= len(old) || got[i] != old[i] {
			t.Errorf("line %d of %s: got\n%s\nUPDATE_GOLDEN=1 rewrites it", i+1, path, got[min(i, len(got)-1)])
		}
	}
}
