package exitcodes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestWhatStandsAround prints every log of the tests as launchers, schedulers, runtimes and pages do, with what stands before, behind and
// around it: none of that is why a program ended, so the verdict has to stay. Where it does not is listed in testdata/around.tsv:
// read every change of it (UPDATE_GOLDEN=1 rewrites it). With -short it is every ninth log.
func TestWhatStandsAround(t *testing.T) {
	const golden = "testdata/around.tsv"
	listed, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv("UPDATE_GOLDEN") != ""
	var b strings.Builder
	logs, readings, changes := 0, 0, 0
	for n, c := range labelledLogs(t) {
		if testing.Short() && !update && n%9 != 0 {
			continue
		}
		was := c.judge(c.text)
		if !slices.Contains(strings.Split(c.want, "/"), string(was)) {
			continue // which other tests tell
		}
		logs++
		for _, around := range surroundings {
			text := around.print(c)
			if text == nil {
				continue
			}
			row := fmt.Sprintf("%s\t%s\t%s", c.file, around.name, was)
			flips := class(c.judge(text)) != class(was)
			readings++
			if flips {
				changes++
				fmt.Fprintln(&b, row)
			}
			if !update && flips != bytes.Contains(listed, []byte(row+"\n")) {
				t.Errorf("%s: the verdict changes: %v, which is not what %s lists", row, flips, golden)
			}
		}
	}
	t.Logf("%d logs, read %d times; the verdict changes in %d", logs, readings, changes)
	if !testing.Short() && (logs < 1500 || readings < 35*logs || changes*650 > readings) {
		t.Error("docs/verdicts.md says that it is some 1,600 logs, in some 40 surroundings each, and one reading of a thousand")
	}
	if update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// class is what a verdict comes to: whoever was preempted is started again, too.
func class(v Verdict) Verdict {
	if v == Preempted {
		return Retry
	}
	return v
}

type labelled struct {
	file, want string
	code       int
	text       []byte
}

func (c labelled) judge(text []byte) Verdict {
	return Judge(Outcome{Rank: -1, LocalRank: -1, Status: Status{Code: c.code}, Output: text}, BuiltinRules()).Verdict
}

// labelledLogs are those of testdata of which an index says what an engineer decides, that ended with a code below 126.
func labelledLogs(t *testing.T) (logs []labelled) {
	t.Helper()
	indexes, err := filepath.Glob("testdata/*/INDEX.tsv")
	if err != nil || len(indexes) == 0 {
		t.Fatal(indexes, err)
	}
	for _, index := range indexes {
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			row := strings.Split(strings.TrimSpace(line), "\t")
			if len(row) < 3 || strings.HasPrefix(line, "#") || strings.Contains(row[2], "either") {
				continue
			}
			code, err := strconv.Atoi(row[1])
			if err != nil || code < 1 || code >= CodeNotExecutable {
				continue
			}
			file := filepath.Join(filepath.Dir(index), row[0])
			output, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(output) < 20<<10 {
				logs = append(logs, labelled{strings.TrimPrefix(file, "testdata/"), row[2], code, output})
			}
		}
	}
	return logs
}
