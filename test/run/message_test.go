package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/test/harness"
)

// wellFormed fails the test unless a termination log is what it promises to be: one JSON object, ASCII, padded with
// spaces to exactly limit bytes.
func wellFormed(t *testing.T, raw []byte, limit int) {
	t.Helper()
	if err := check(raw, limit); err != nil {
		t.Error(err)
	}
}

func check(raw []byte, limit int) error {
	if len(raw) != limit {
		return fmt.Errorf("%d bytes, want %d", len(raw), limit)
	}
	if i := bytes.IndexFunc(raw, func(r rune) bool { return r >= 0x7f || r < ' ' && r != '\n' }); i >= 0 {
		return fmt.Errorf("byte %#x at %d", raw[i], i)
	}
	text := bytes.TrimRight(raw, " \n")
	if bytes.IndexByte(text, '\n') >= 0 {
		return errors.New("more than one line")
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	_, err := exitcodes.ParseMessage(raw)
	return err
}

// TestHostileOutput is a worker that fails with output that no JSON string, terminal or table wants, in every size of
// message.
func TestHostileOutput(t *testing.T) {
	dir := t.TempDir()
	blob := make([]byte, 0, 1<<16)
	for i := range 1 << 16 {
		blob = append(blob, byte(i*7+i/256))
	}
	const forged = "time=2026-01-01T00:00:00.000Z level=ERROR msg=forged"
	outputs := map[string]string{
		"nothing":       "",
		"bytes":         string(blob),
		"zero bytes":    strings.Repeat("\x00", 5000),
		"a huge line":   strings.Repeat("x", 10<<20),
		"emoji":         strings.Repeat("\U0001f3d6\ufe0f \u2028 \u00e9\n", 500),
		"half an emoji": strings.Repeat("\xf0\x9f\x8f", 1000),
		"JSON":          strings.Repeat(`{"v":1,"verdict":"success","exitCode":0}`+"\n", 100),
		"quotes":        strings.Repeat(`\"`, 5000),
		"escapes":       strings.Repeat("\x1b[31mred\x1b[0m\x7f\r\b", 500),
		"gangrun's own": "ValueError: x\r" + forged + "\n" + forged + "\n",
		"an exception":  "Traceback (most recent call last):\n  File \"x\"\nValueError: \U0001f4a5" + strings.Repeat("\x00\"\\", 200) + "\n",
	}
	for name, text := range outputs {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{256, 257, 300, 777, 2048, 4096} {
				t.Run(fmt.Sprint(size), func(t *testing.T) {
					t.Parallel()
					e := harness.Job{
						Flags:  []string{"--no-restart", "--termination-log-max", fmt.Sprint(size), "--job", strings.Repeat("j", 63)},
						Worker: harness.Shell(`cat "$1"; exit 3`, path),
					}.Run(t, limit)
					e.Want(t, 3, exitcodes.Fatal, "Error")
					wellFormed(t, e.Raw, size)
					if e.Stdout != text {
						t.Errorf("the output did not come through: %d bytes of %d", len(e.Stdout), len(text))
					}
					for line := range strings.Lines(e.Stderr) {
						if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "time=") || strings.HasPrefix(line, forged) ||
							strings.ContainsFunc(line, unicode.IsControl) {
							t.Errorf("a line that is not gangrun's own, or moves the cursor: %q", line)
						}
					}
					if size == exitcodes.MaxMessage && text != "" && e.LogTail == "" {
						t.Error("no end of the output in the message")
					}
					if utf8.ValidString(text) && !strings.HasSuffix(text, e.LogTail) {
						t.Errorf("this is not the end of the output: %q", e.LogTail)
					}
				})
			}
		})
	}
}

// TestOldMessage is a termination log that is not empty: longer or shorter than the new message, or a link.
func TestOldMessage(t *testing.T) {
	for _, size := range []int{0, 10, 2048, 5000} {
		path := write(t, "log", strings.Repeat("o", size))
		res := harness.Run(t, limit, nil, harness.Binary(t), "run", "--termination-log", path, "--", "false")
		raw := []byte(read(t, path))
		if res.Code != 1 {
			t.Errorf("exit code %d", res.Code)
		}
		if size <= 2048 {
			wellFormed(t, raw, 2048)
		} else if m, err := exitcodes.ParseMessage(raw); err != nil || m.Verdict != exitcodes.Fatal {
			t.Errorf("over %d bytes: %+v, %v", size, m, err)
		}
	}
}

// TestStateDir keeps the same record, also of a run that is restarted, in a directory that is made for it.
func TestStateDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	e := harness.Job{Flags: []string{quick, "--node", "n-1", "--state-dir", dir, "--max-restarts", "1"},
		Worker: harness.Shell("exit 200")}.Run(t, limit)
	e.Want(t, 200, exitcodes.Retry, "RestartBudgetExhausted")
	m := harness.Message(t, filepath.Join(dir, "n-1.json"))
	if m.ExitCode != 200 || m.Reason != e.Reason || *m.Round != 1 || m.Message != e.Message.Message {
		t.Errorf("%+v", m)
	}
	if found, _ := os.ReadDir(dir); len(found) != 1 {
		t.Errorf("more than the record is left: %v", found)
	}
}

// TestMessageCannotBeWritten is never the job's failure.
func TestMessageCannotBeWritten(t *testing.T) {
	file := write(t, "file", "")
	tests := map[string][]string{
		"log in no directory":  {"--termination-log", "/no/such/directory/log"},
		"log is a directory":   {"--termination-log", t.TempDir()},
		"log is full":          {"--termination-log", "/dev/full"},
		"log in /proc":         {"--termination-log", "/proc/self/no"},
		"state dir is a file":  {"--state-dir", file},
		"state dir not to be":  {"--state-dir", "/proc/no/such"},
		"log dir is a file":    {"--log-dir", file},
		"log dir cannot exist": {"--log-dir", "/proc/no/such"},
	}
	for name, flags := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			argv := append(append([]string{harness.Binary(t), "run"}, flags...), "--", "sh", "-c", "echo trained")
			res := harness.Run(t, limit, nil, argv...)
			if res.Code != 0 || res.Stdout != "trained\n" {
				t.Errorf("exit code %d, %q", res.Code, res.Stdout)
			}
			if strings.Count(res.Stderr, "level=WARN") != 1 {
				t.Errorf("want one line about it: %q", res.Stderr)
			}
			if flags[0] == "--log-dir" && !strings.Contains(res.Stderr, "there is no log file (--log-dir has to name a directory that can be written)") {
				t.Errorf("it does not say that there is none, and what to do: %q", res.Stderr)
			}
		})
	}
}
