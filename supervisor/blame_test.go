package supervisor

import (
	"fmt"
	"testing"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/progress"
)

// TestExited: who has exited 0 before the others had come as far is what they wait for.
func TestExited(t *testing.T) {
	lines, err := progress.Custom(`step (\d+)`)
	if err != nil {
		t.Fatal(err)
	}
	made := func(rank int, stop exitcodes.Stop, step int64) *worker {
		w := &worker{spec: Worker{Rank: rank}, outcome: exitcodes.Outcome{Stop: stop}, progress: progress.NewReader(lines)}
		w.progress.Stream()(fmt.Appendf(nil, "step %d\n", step))
		return w
	}
	stays := made(0, exitcodes.StoppedByGang, 30)
	for want, left := range map[string]*worker{
		"": made(1, exitcodes.StoppedByGang, 3),
		"; rank 1 had exited 0, and the others may wait for it":                made(1, exitcodes.NotStopped, 30),
		"; rank 1, at step 20 of 30, had exited 0, and the others wait for it": made(1, exitcodes.NotStopped, 20),
	} {
		if got := exited([]*worker{stays, left}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
