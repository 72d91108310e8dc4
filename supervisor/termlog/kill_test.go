package termlog

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
)

// writeForEver writes one record after another, and says so with a byte each.
func writeForEver(path string) error {
	l, err := Open(path, size)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if _, err := os.Stdout.WriteString("."); err != nil {
			return err
		}
		if err := l.Write(record(i)); err != nil {
			return err
		}
	}
}

// start starts writeForEver and returns what it says.
func start(t *testing.T, path string) (said io.Reader, kill func()) {
	t.Helper()
	cmd := child(t, "loop", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return said, func() {
		cmd.Process.Kill()
		cmd.Wait() // says that it was killed
		if stderr.Len() > 0 {
			t.Errorf("the writer failed: %s", &stderr)
		}
	}
}

// Whenever the writer is killed, one whole record is left: the old one or one of its own.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	old := exitcodes.Message{V: 1, Verdict: exitcodes.Fatal, Reason: "Old", ExitCode: -1}
	content := append(old.Encode(size), strings.Repeat(" ", 3*size)...)
	for range 100 {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		said, kill := start(t, path)
		// The instant is where in its loop the writer happens to be when this process is scheduled again. Every
		// other time it is about the first record, which also has the old content to get rid of.
		rounds := 1 + rand.IntN(2)*rand.IntN(300)
		if _, err := io.CopyN(io.Discard, said, int64(rounds)); err != nil {
			t.Error(err)
		}
		kill()
		b := read(t, path)
		m, err := exitcodes.ParseMessage(b)
		if err != nil {
			t.Fatalf("killed in round %d: %v: %q", rounds, err, b)
		}
		if m.ExitCode < 0 {
			if rounds > 1 {
				t.Fatalf("killed in round %d, and the old record is still there", rounds)
			}
			continue
		}
		if holds(t, b, record(m.ExitCode)); rounds > 1 && len(b) != size {
			t.Fatalf("killed in round %d: %d bytes, want %d", rounds, len(b), size)
		}
	}
}

// Whoever reads at any moment finds a file of the right length that begins as a record does, and a whole record no
// later than when the writer leaves it alone for the length of a read.
func TestReadWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	said, kill := start(t, path)
	defer kill()
	if _, err := io.CopyN(io.Discard, said, 2); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, said) // keeps the writer going until it is killed
	torn := 0
	for range 5000 {
		var err error
		for range 1000 {
			b := read(t, path)
			if len(b) != size || !bytes.HasPrefix(b, []byte(`{"v":1,"verdict":"retry",`)) {
				t.Fatalf("%d bytes: %q", len(b), b)
			}
			if _, err = exitcodes.ParseMessage(b); err == nil {
				break
			}
			torn++
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Log(fmt.Sprint(torn, " reads had to be repeated"))
}
