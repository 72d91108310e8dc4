package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// R6, and what else has to happen in time.

// patience is how long a gangrun may take that is told to stop: the grace, what is left behind, a store that does not
// answer.
const patience = 30 * time.Second

func obeyed(v *view) (wrong []string) {
	for _, e := range v.Ends {
		if took := time.Duration(e.At - e.Told); e.Told > 0 && took > patience && !v.paused(e.Node, e.Told, e.At) {
			wrong = append(wrong, fmt.Sprintf("gangrun %d of %s was asked to stop %v before it ended", e.Pod, e.Node, took))
		}
	}
	return wrong
}

// slack is what a busy machine may take for what is due.
const slack = 3 * time.Second

func stopInTime(v *view) (wrong []string) {
	for _, f := range v.Faults {
		if f.Kind != "cut" && f.Kind != "outage" {
			continue
		}
		due := f.From + int64(v.Half+slack)
		for _, r := range v.Records {
			if (f.Node == "" || r.Node == f.Node) && r.At > due && r.At < f.To && !v.paused(r.Node, f.From, r.At) {
				wrong = append(wrong, fmt.Sprintf("%s does a %s %v after it lost the store (%s)", who(r), r.Kind, time.Duration(r.At-f.From), f.Kind))
				break
			}
		}
	}
	return wrong
}

func outageStopsNobody(v *view) (wrong []string) {
	for _, f := range v.Faults {
		until := min(f.To, f.From+int64(v.Half-slack))
		if f.Kind != "outage" || slices.ContainsFunc(v.Faults, func(o history.Fault) bool {
			return o != f && o.From < until && max(o.From, o.To) > f.From-int64(5*time.Second)
		}) {
			continue
		}
		type worker struct{ round, rank int }
		last := map[worker]history.Record{}
		settled := map[worker]int{}
		for _, r := range v.Records {
			w := worker{r.Round, r.Rank}
			last[w] = r
			if r.Kind == history.Stepped && r.At < f.From && r.At > f.From-int64(time.Second) {
				settled[w]++
			}
		}
		for w, r := range last {
			if settled[w] > 1 && r.At < until && r.Kind != history.Done {
				wrong = append(wrong, fmt.Sprintf("%s does nothing after %v of an outage of %v", who(r), time.Duration(r.At-f.From), time.Duration(f.To-f.From)))
			}
		}
	}
	return wrong
}
