package supervisor

import (
	"log/slog"
	"os"
	"sync"
	"testing"
)

// TestScratch: the loop, and a round that is being prepared beside it, share one directory, and none is made after the end.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	made := func() int {
		entries, err := os.ReadDir(os.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	s := scratch{log: slog.New(slog.DiscardHandler)}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.path("file") })
	}
	if all.Wait(); made() != 1 {
		t.Errorf("%d directories", made())
	}
	s.remove()
	unused := scratch{log: s.log}
	unused.remove()
	if path := unused.path("file"); path != "" || made() != 0 {
		t.Errorf("%q after the end, %d directories", path, made())
	}
}
