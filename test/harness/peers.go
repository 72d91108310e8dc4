package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// Peer is the path of a real program that test/peers/install has put into the cache, such as "torch/bin/torchrun".
// Where it is not installed, Peer ends the test as Missing does.
func Peer(t testing.TB, path string) string {
	t.Helper()
	full := filepath.Join(Cache(), filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		Missing(t, path, "run test/peers/install")
	}
	return full
}
