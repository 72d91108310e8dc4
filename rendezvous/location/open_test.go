package location

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestWhoseStoreIsNotThere: a store that does not answer is another node's, unless this one should have it.
func TestWhoseStoreIsNotThere(t *testing.T) {
	for first, want := range map[bool]string{
		false: "gangrun at no-such-host.invalid:1, on another node: ",
		true:  "gangrun at no-such-host.invalid:1, which this node hosts as rank 0 only where no-such-host.invalid is its name or its address: it is neither, or cannot be looked up: ",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := Open(ctx, Location{Host: "no-such-host.invalid", Port: 1, First: first, Namespace: "n", Job: "j"})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
