package run_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/test/harness"
)

// TestExplain holds what explain prints against the files in testdata. Programs read the JSON, so its keys may not
// change; UPDATE_GOLDEN=1 rewrites the files.
func TestExplain(t *testing.T) {
	tests := []struct {
		golden string
		argv   []string
		stdin  string
	}{
		{"codes.txt", nil, ""},
		{"codes.json", []string{"-o", "json"}, ""},
		{"code-0.txt", []string{"0"}, ""},
		{"code-1.txt", []string{"1"}, ""},
		{"code-137.txt", []string{"137"}, ""},
		{"code-247.txt", []string{"247"}, ""},
		{"reason-oom.txt", []string{"OOMKilled"}, ""},
		{"reason-rule.json", []string{"HubUnreachable", "-o", "json"}, ""},
		{"reason-signal.txt", []string{"KilledBySIGSEGV"}, ""},
		{"code-137.json", []string{"137", "-o", "json"}, ""},
		{"code-137.json", []string{"-o", "json", "137"}, ""},
		{"signal-term.txt", []string{"TERM"}, ""},
		{"signal-rtmin.json", []string{"--output", "json", "SIGRTMIN+3"}, ""},
		{"message.txt", []string{"testdata/message"}, ""},
		{"message.json", []string{"-o", "json", "testdata/message"}, ""},
		{"log.txt", []string{"--log", "testdata/log"}, ""},
		{"log.json", []string{"-o", "json", "--log", "testdata/log"}, ""},
		{"log.json", []string{"-o", "json", "--log", "-"}, "testdata/log"},
		{"log-own-rules.txt", []string{"--log", "testdata/log", "--rules", "testdata/rules.yaml"}, ""},
		{"log-code-139.json", []string{"-o", "json", "--log", "testdata/log-segv", "--code", "139"}, ""},
		{"log-nothing.txt", []string{"--log", "/dev/null", "--code", "1"}, ""},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.argv, " "), func(t *testing.T) {
			cmd := exec.Command(harness.Binary(t), append([]string{"explain"}, tt.argv...)...)
			if tt.stdin != "" {
				f, err := os.Open(tt.stdin)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				cmd.Stdin = f
			}
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil || stderr.Len() > 0 {
				t.Fatalf("%v\n%s", err, stderr.Bytes())
			}
			if strings.HasSuffix(tt.golden, ".json") && !json.Valid(stdout.Bytes()) {
				t.Errorf("no JSON: %s", stdout.Bytes())
			}
			golden(t, tt.golden, stdout.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "explain", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := read(t, path); string(got) != want {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// TestExplainMessageAsText takes the message as kubectl shows it, with the text of a runtime in front.
func TestExplainMessageAsText(t *testing.T) {
	text := strings.TrimSpace(read(t, "testdata/message"))
	want := harness.Run(t, limit, nil, harness.Binary(t), "explain", "testdata/message")
	for _, arg := range []string{text, text + strings.Repeat(" ", 1000), "container said: " + text} {
		if got := harness.Run(t, limit, nil, harness.Binary(t), "explain", arg); got.Code != 0 || got.Stdout != want.Stdout {
			t.Errorf("exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
		}
	}
}

// TestExplainRules lists the rules by their structure: their number and texts change with what peers print.
func TestExplainRules(t *testing.T) {
	type rule struct {
		Name, Role, Verdict, Reason, Pattern string
	}
	list := func(flags ...string) (rules []rule) {
		res := harness.Run(t, limit, nil, append([]string{harness.Binary(t), "explain", "rules", "-o", "json"}, flags...)...)
		if err := json.Unmarshal([]byte(res.Stdout), &rules); err != nil {
			t.Fatalf("%v: %s%s", err, res.Stdout, res.Stderr)
		}
		return rules
	}
	builtin := list()
	if len(builtin) < 50 {
		t.Errorf("%d rules", len(builtin))
	}
	seen := map[string]bool{}
	for _, r := range builtin {
		if r.Name == "" || r.Role == "" || r.Pattern == "" || seen[r.Name] {
			t.Errorf("%+v", r)
		}
		seen[r.Name] = true
	}
	if own := list("--rules", "testdata/rules.yaml"); len(own) != len(builtin)+1 || own[0].Name != "mine.licence" {
		t.Errorf("%d rules with one more in front, the first %+v", len(own), own[0])
	}
	table := harness.Run(t, limit, nil, harness.Binary(t), "explain", "rules").Stdout
	if lines := strings.Count(table, "\n"); lines != len(builtin)+1 {
		t.Errorf("%d lines about %d rules", lines, len(builtin))
	}
}
