package check

import (
	"fmt"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// R1 and R2: one round at a time, and nothing of another one in it. R7: its ranks.

func oneRound(v *view) (wrong []string) {
	first := map[int]int64{}
	for _, r := range v.rounds {
		first[r] = v.opens[r][0].At
	}
	told := map[string]bool{}
	for _, r := range v.Records {
		if r.Kind == history.Beside && !v.anyAsleep(r.At) {
			wrong = append(wrong, fmt.Sprintf("%s: %s", who(r), r.Text))
		}
		for _, other := range v.rounds {
			if key := fmt.Sprint(r.Round, r.Rank, other); other > r.Round && r.At > first[other] && !told[key] && !v.asleep(r.Node, r.At) {
				told[key] = true
				wrong = append(wrong, fmt.Sprintf("%s still does a %s %v after round %d has begun", who(r), r.Kind,
					time.Duration(r.At-first[other]), other))
			}
		}
	}
	return wrong
}

func oneStart(v *view) (wrong []string) {
	for _, round := range v.rounds {
		seen := map[int]string{}
		for _, r := range v.opens[round] {
			if before, found := seen[r.Rank]; found {
				wrong = append(wrong, fmt.Sprintf("%s was started after %s", who(r), before))
			}
			seen[r.Rank] = who(r)
		}
	}
	return wrong
}

func nothingStale(v *view) (wrong []string) {
	for _, r := range v.Records {
		if r.Kind == history.Foreign {
			wrong = append(wrong, fmt.Sprintf("%s was called by %s", who(r), r.Text))
		}
	}
	return wrong
}

// goesOn finds what was decided on a record that was not the newest any more.
func goesOn(v *view) (wrong []string) {
	for i, w := range v.Writes[min(1, len(v.Writes)):] {
		before := v.Writes[i]
		if w.Run == "" || before.Run == "" || w.Run != before.Run {
			continue // somebody has deleted it, or another run begins
		}
		if w.Seq != before.Seq+1 || w.Round < before.Round {
			wrong = append(wrong, fmt.Sprintf("write %d, of round %d, comes after write %d, of round %d",
				w.Seq, w.Round, before.Seq, before.Round))
		}
	}
	return wrong
}

// stableRanks goes by the nodes' own ranks: of a node's workers one may have been stopped before it could write a line.
func stableRanks(v *view) (wrong []string) {
	before := map[string]history.Record{}
	for i, round := range v.rounds {
		now := map[string]history.Record{}
		for _, r := range v.opens[round] {
			now[r.Node] = r
		}
		for node, r := range now {
			is := r.Rank / v.Ranks
			if rank, pinned := v.Pinned[node]; pinned && is != rank {
				wrong = append(wrong, fmt.Sprintf("%s is of node rank %d, and was given %d", who(r), is, rank))
			}
			b, found := before[node]
			if was := b.Rank / v.Ranks; found && v.rounds[i-1] == round-1 && b.Pod == r.Pod && b.World == r.World && was != is {
				wrong = append(wrong, fmt.Sprintf("%s is of node rank %d, and was of %d in the round before", who(r), is, was))
			}
		}
		before = now
	}
	return wrong
}
