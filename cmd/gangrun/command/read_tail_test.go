package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadTail has a log that is longer than what is read of it: it is cut where a line begins, but not down to nothing where the
// bars of an epoch are one line.
func TestReadTail(t *testing.T) {
	bars := strings.Repeat("\r 99%|#| 8086/8184 [34:22<00:48,  2.01it/s]", 20) + "Killed"
	for name, tt := range map[string]struct{ file, want string }{
		"short":             {"one\ntwo\n", "one\ntwo\n"},
		"lines":             {strings.Repeat("0123456789\n", 50), strings.Repeat("0123456789\n", 18)},
		"one line of bars":  {bars, bars[len(bars)-200:]},
		"one line and more": {bars + "\nbye\n", (bars + "\nbye\n")[len(bars)+5-200:]},
	} {
		path := filepath.Join(t.TempDir(), "a.log")
		if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readTail(path, 200); err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}
