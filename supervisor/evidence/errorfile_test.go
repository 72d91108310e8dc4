package evidence

import (
	"bytes"
	"os"
	"syscall"
	"testing"
)

func TestReadErrorFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/e.json", []byte(`{"message":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/huge", bytes.Repeat([]byte("x"), 3<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"e.json": 15, "huge": 1 << 20, "none": 0, "fifo": 0, ".": 0} {
		if got := len(ReadErrorFile(dir + "/" + name)); got != want {
			t.Errorf("%s: %d bytes, want %d", name, got, want)
		}
	}
}

func TestSpaceIsFull(t *testing.T) {
	for s, want := range map[Space]bool{{64 << 20, 0}: true, {64 << 20, 4096}: true, {64 << 20, 1 << 20}: false, {0, 0}: false} {
		if s.Full() != want {
			t.Errorf("%+v: %v", s, s.Full())
		}
	}
}
