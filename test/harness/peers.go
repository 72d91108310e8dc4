package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Peer is the path of a real program that make peers has put into the cache, such as "torch/bin/torchrun".
// Where it is not installed, Peer ends the test as Missing does.
func Peer(t testing.TB, path string) string {
	t.Helper()
	full := filepath.Join(Cache(), filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		piece, _, _ := strings.Cut(path, "/")
		Missing(t, piece+" ("+path+")", "make peers")
	}
	return full
}
