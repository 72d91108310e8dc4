package etcd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLine: a secret is one short line, with an end or without.
func TestLine(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	for name, tt := range map[string]struct {
		text, want, says string
	}{
		"no end":          {"horse", "horse", ""},
		"an end":          {"horse\r\n", "horse", ""},
		"the longest":     {long + "\r\n", long, ""},
		"too long":        {long + "x", "", "short line"},
		"two":             {"correct\nhorse\n", "", "short line"},
		"two, far behind": {"correct" + strings.Repeat("\n", 2*longestLine) + "horse", "", "short line"},
		"none":            {"\n", "", "is empty"},
	} {
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Line("secret", file)
		if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := Line("secret", t.TempDir()); err == nil {
		t.Error("a directory has a line")
	}
}

// TestLineIsBounded: what does not end is not read to its end.
func TestLineIsBounded(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "secret")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() {
		wrote <- os.WriteFile(pipe, bytes.Repeat([]byte("x"), 1<<20), 0)
	}()
	if _, err := Line("secret", pipe); err == nil || !strings.Contains(err.Error(), "short line") {
		t.Error(err)
	}
	if err := <-wrote; !errors.Is(err, unix.EPIPE) {
		t.Errorf("a megabyte was read: %v", err)
	}
}

func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{
		"host", "host:2379", "https://[::1]:2379", "http://a/", "a@b", "http://u:p@h", "%zz", "http://h?x", "://", "http:",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, secure bool) {
		u, err := endpoint(text, secure)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %v", err)
			}
			return
		}
		if u.User != nil || u.Port() == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q: %v", text, u)
		}
		again, err := endpoint(u.String(), secure)
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q: %v, then %v, %v", text, u, again, err)
		}
	})
}
