package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// How a job has to end.

func sameLoss(v *view) (wrong []string) {
	if v.Stuck != "" || v.Fatal != "" {
		return nil
	}
	done, world, step := map[int]bool{}, 0, 0
	for _, r := range v.Records {
		if r.Kind != history.Done {
			continue
		}
		if r.State != v.states[r.Step] {
			wrong = append(wrong, fmt.Sprintf("%s ends at step %d with another loss than a run that nobody interrupts", who(r), r.Step))
		}
		if r.Round == v.rounds[len(v.rounds)-1] {
			done[r.Rank], world, step = true, r.World, cmp.Or(step, r.Step)
			if r.Step != step {
				wrong = append(wrong, fmt.Sprintf("%s ends at step %d, another rank at %d", who(r), r.Step, step))
			}
		}
	}
	if len(done) != world || world == 0 {
		wrong = append(wrong, fmt.Sprintf("success, and %d of %d ranks of the last round have trained to the end", len(done), world))
	}
	return wrong
}

func nothingLeft(v *view) (wrong []string) {
	if len(v.Left) > 0 {
		wrong = append(wrong, strings.Join(v.Left, ", "))
	}
	return wrong
}

func comesToAnEnd(v *view) []string {
	if v.Stuck == "" {
		return nil
	}
	return []string{v.Stuck}
}
