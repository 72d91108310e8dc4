package gang

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/internal/task"
)

// TestPassOnToAFIFO: a worker finds out where gangrun's own error file is to be, and puts there what nobody reads.
func TestPassOnToAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "error.json")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if !task.Begin(func() { err = passOn(path, []byte(`{"message": {}}`), 1) }).EndsWithin(10 * time.Second) {
		t.Fatal("it waits for a reader")
	}
	if err == nil {
		t.Error("it was written to nobody")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := passOn(path, []byte(`{"message": {}}`), -9); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); string(text) != `{"message":{"errorCode":-9}}` {
		t.Errorf("%s, %v", text, err)
	}
}
