package supervisor

import (
	"io"
	"strings"
	"testing"
)

// TestEpilogueHangs: it writes to a file server that does not answer. The run ends all the same.
func TestEpilogueHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as an epilogue may: make test-long")
	}
	r := newTrial(t, shell("exit 3"))
	over := make(chan struct{})
	defer close(over)
	r.cfg.Epilogue = func(io.Writer) { <-over }
	if code := r.run(t); code != 3 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(r.err.String(), "the last words are incomplete") {
		t.Error(r.err.String())
	}
}
