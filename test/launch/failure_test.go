package launch_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gangrun/gangrun/test/harness"
)

// TestSameFailureReport lets a gang of two fail. The report on standard error and the launcher's own error file have to
// be the same but for process ids, times, hosts and random names.
func TestSameFailureReport(t *testing.T) {
	tests := []struct {
		how   string
		tells []string // what torchrun's report says, so that two empty ones are not taken for equal
		file  string   // and the launcher's error file
	}{
		{how: "exception", tells: []string{"fail.py FAILED", "rank      : 1 (local_rank: 1)", "exitcode  : 1",
			"error_file: <N/A>", "To enable traceback see", "exitcode  : -15"}},
		{how: "record", tells: []string{"ValueError: a sum of 7", "/attempt_0/1/error.json"}, file: "errorCode:1 "},
		{how: "SIGKILL", tells: []string{"exitcode  : -9 (pid: N)  (SIGKILL)", "Signal 9 (SIGKILL) received by PID N"}},
		{how: "exit:3", tells: []string{"exitcode  : 3 (pid: N) \n"}},
		{how: "both", tells: []string{"exitcode  : 3 ", "exitcode  : 5 "}},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			parallel(t)
			j := job{flags: words("--nproc-per-node 2 --log-dir {dir}/logs"),
				script: harness.Script(t, "fail.py"), args: []string{tt.how}, env: words("TORCHELASTIC_ERROR_FILE={dir}/own.json")}
			var reports []string
			var files []any
			for _, l := range []launcher{torchrun(t), gangrun(t)} {
				res, dir := l.run(t, j)
				if res.Code == 0 {
					t.Errorf("%s ended with 0", l.name)
				}
				reports = append(reports, report(t, l.name, dir, res.Stderr))
				files = append(files, errorFile(t, dir+"/own.json"))
			}
			for _, text := range tt.tells {
				if !strings.Contains(reports[0], text) {
					t.Errorf("%q is not in torchrun's report:\n%s", text, reports[0])
				}
			}
			if text := fmt.Sprint(files[0]); !strings.Contains(text, tt.file) {
				t.Errorf("%q is not in torchrun's error file: %s", tt.file, text)
			}
			if reports[0] != reports[1] {
				t.Errorf("the report of torchrun:\n%q\nof gangrun:\n%q", reports[0], reports[1])
			}
			if !reflect.DeepEqual(files[0], files[1]) {
				t.Errorf("the error file of torchrun:\n%v\nof gangrun:\n%v", files[0], files[1])
			}
		})
	}
}

// errorFile is what an error file says, but for times; nil where there is none.
func errorFile(t *testing.T, file string) (content any) {
	t.Helper()
	text := read(t, file)
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(times.ReplaceAllString(text, `"TIME"`)), &content); err != nil {
		t.Errorf("%s: %v\n%s", file, err, text)
	}
	return content
}

var (
	box = regexp.MustCompile(`(?s)ChildFailedError: \n` +
		`(={10,}\n.* FAILED\n-{10,}\nFailures:\n.*\n-{10,}\nRoot Cause .*\n={10,}\n)`)
	rules = regexp.MustCompile(`(?m)^(=+|-+)$`)
	times = regexp.MustCompile(`"1\d{9}"`) // seconds, in quotes

	personal = []struct {
		is *regexp.Regexp
		as string
	}{
		{regexp.MustCompile(`time      : \d{4}-\d\d-\d\d_\d\d:\d\d:\d\d\n`), "time      : T\n"},
		{regexp.MustCompile(`host      : \S+\n`), "host      : H\n"},
		{regexp.MustCompile(`\(pid: \d+\)`), "(pid: N)"},
		{regexp.MustCompile(`by PID \d+`), "by PID N"},
		{regexp.MustCompile(`/logs/[^/\n]+/`), "/logs/RUN/"},
	}
)

// report is the failure report in what a launcher has printed, without what differs from run to run. Its rules have to
// be as long as its longest line, but not above 60.
func report(t *testing.T, name, dir, stderr string) string {
	t.Helper()
	found := box.FindStringSubmatch(stderr)
	if found == nil {
		t.Errorf("%s has printed no failure report:\n%s", name, stderr)
		return ""
	}
	text, longest := found[1], 0
	for _, line := range strings.Split(strings.SplitN(text, "Failures:\n", 2)[1], "\n") {
		if !rules.MatchString(line) && !strings.HasPrefix(line, "Root Cause ") {
			longest = max(longest, utf8.RuneCountInString(line))
		}
	}
	text = rules.ReplaceAllStringFunc(text, func(rule string) string {
		if want := min(longest, 60); len(rule) != want {
			t.Errorf("%s: a rule of %d where the longest line has %d:\n%s", name, len(rule), longest, found[1])
		}
		return rule[:1]
	})
	text = strings.ReplaceAll(text, dir, "{dir}")
	for _, p := range personal {
		text = p.is.ReplaceAllString(text, p.as)
	}
	return text
}
