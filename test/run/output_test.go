package run_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gangrun/gangrun/test/harness"
)

// noise is a file of random bytes with lines of all lengths in it.
func noise(t *testing.T, size int) (path string, content []byte) {
	t.Helper()
	content = make([]byte, size)
	seed := rand.NewChaCha8([32]byte{1})
	_, _ = seed.Read(content)
	path = filepath.Join(t.TempDir(), "noise")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, content
}

// TestOutputPassesThrough is byte exact, and fast or slow as the reader is: nothing is lost to one who goes on reading.
func TestOutputPassesThrough(t *testing.T) {
	t.Parallel()
	path, content := noise(t, 16<<20)
	tests := []struct {
		name  string
		pause time.Duration // before each 64 KiB
		size  int
	}{
		{"a fast reader", 0, 16 << 20},
		{"a slow reader", 2 * time.Millisecond, 16 << 20},
		{"a reader far behind the end", 60 * time.Millisecond, 6 << 20}, // about 1 MB/s
		{"a late reader", -300 * time.Millisecond, 8 << 20},             // reads nothing at first
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(harness.Binary(t), "run", "--quiet", "--", "head", "-c", fmt.Sprint(tt.size), path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			if tt.pause < 0 {
				time.Sleep(-tt.pause) // the reader's slowness is what is tested
			}
			sum, got := sha256.New(), 0
			buf := make([]byte, 64<<10)
			for {
				n, err := out.Read(buf)
				sum.Write(buf[:n])
				if got += n; err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if tt.pause > 0 {
					time.Sleep(tt.pause * time.Duration(n) / time.Duration(len(buf)))
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if want := sha256.Sum256(content[:tt.size]); got != tt.size || !bytes.Equal(sum.Sum(nil), want[:]) {
				t.Errorf("%d bytes of %d came through, or not the same ones", got, tt.size)
			}
		})
	}
}

// TestLogDir keeps each round's output, byte exact and apart, and shows it all the same.
func TestLogDir(t *testing.T) {
	t.Parallel()
	path, content := noise(t, 3<<20)
	dir := filepath.Join(t.TempDir(), "logs", "of", "job")
	e := harness.Job{
		Flags:  []string{quick, "--log-dir", dir},
		Worker: harness.Shell(`echo "round $GANGRUN_ROUND"; cat "$1"; echo "error $GANGRUN_ROUND" >&2; [ $GANGRUN_ROUND = 2 ] || exit 200`, path),
	}.Run(t, limit)
	e.Want(t, 0, "success", "Succeeded")
	all := ""
	for round := range 3 {
		stdout := fmt.Sprintf("round %d\n%s", round, content)
		all += stdout
		directory := filepath.Join(dir, fmt.Sprint("round_", round), "0")
		if read(t, filepath.Join(directory, "stdout.log")) != stdout {
			t.Errorf("round %d: stdout.log is not what was printed", round)
		}
		if got := read(t, filepath.Join(directory, "stderr.log")); got != fmt.Sprintf("error %d\n", round) {
			t.Errorf("round %d: stderr.log is %q", round, got)
		}
	}
	if e.Stdout != all {
		t.Error("standard output is not what was printed")
	}
}

// TestLogPrefix puts the text before each line of both outputs, also of the last one that does not end, and not before
// gangrun's own.
func TestLogPrefix(t *testing.T) {
	t.Parallel()
	e := harness.Job{
		Flags:  []string{"--no-restart", "--log-prefix", "[w0] "},
		Worker: harness.Shell(`printf 'one\n\ntwo'; printf 'bad\n' >&2; exit 3`),
	}.Run(t, limit)
	if strings.TrimSuffix(e.Stdout, "\n") != "[w0] one\n[w0] \n[w0] two" {
		t.Errorf("standard output %q", e.Stdout)
	}
	lines := strings.SplitN(e.Stderr, "\n", 2)
	if lines[0] != "[w0] bad" || strings.Contains(lines[1], "[w0]") {
		t.Errorf("standard error %q", e.Stderr)
	}
	if !strings.Contains(e.LogTail, "one\n") || strings.Contains(e.LogTail, "[w0]") {
		t.Errorf("the prefix is the console's alone: %q", e.LogTail)
	}
}

// TestQuiet leaves the worker's output alone on both.
func TestQuiet(t *testing.T) {
	t.Parallel()
	e := harness.Job{Flags: []string{quick, "--quiet", "--max-restarts", "2"}, Worker: harness.Shell("echo o; echo e >&2; exit 200")}.Run(t, limit)
	if e.Code != 200 || e.Stdout != "o\no\no\n" || e.Stderr != "e\ne\ne\n" {
		t.Errorf("exit code %d, %q, %q", e.Code, e.Stdout, e.Stderr)
	}
}

// TestReaderIsGone is a reader of the output that leaves early: the training goes on.
func TestReaderIsGone(t *testing.T) {
	t.Parallel()
	done := filepath.Join(t.TempDir(), "done")
	script := fmt.Sprintf(`%s run --quiet -- sh -c 'i=0; while [ $i -lt 2000 ]; do echo "line $i of many"; i=$((i+1)); done; echo trained >%s' | head -n 1`,
		harness.Binary(t), done)
	res := harness.Run(t, limit, nil, "bash", "-c", "set -o pipefail; "+script)
	if res.Code != 0 || res.Stdout != "line 0 of many\n" || read(t, done) != "trained\n" {
		t.Errorf("exit code %d, %q", res.Code, res.Stdout)
	}
}
