package check

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// What the checker is given, in the order in which it happened.

// message is what the checker reads of a termination message, by the names that the documentation has.
type message struct {
	Verdict   string `json:"verdict"`
	Reason    string `json:"reason"`
	ExitCode  int    `json:"exitCode"`
	RootCause *struct {
		Node     string `json:"node"`
		Reason   string `json:"reason"`
		Signal   string `json:"signal"`
		ExitCode *int   `json:"exitCode"`
	} `json:"rootCause"`
}

// view is a job in the order in which it happened.
type view struct {
	history.Job
	rounds []int                    // in order
	opens  map[int][]history.Record // by round
	states []string                 // after each step
	final  []history.End            // of each node the last gangrun
	end    map[string]message       // of each of these
}

func newView(j history.Job) *view {
	v := &view{Job: j, opens: map[int][]history.Record{}, end: map[string]message{}, states: []string{""}}
	v.Records = slices.Clone(j.Records)
	slices.SortStableFunc(v.Records, func(a, b history.Record) int { return cmp.Compare(a.At, b.At) })
	last := 0
	for _, r := range v.Records {
		if r.Kind == history.Open {
			if len(v.opens[r.Round]) == 0 {
				v.rounds = append(v.rounds, r.Round)
			}
			v.opens[r.Round] = append(v.opens[r.Round], r)
		}
		last = max(last, r.Step)
	}
	slices.Sort(v.rounds)
	for step := 1; step <= last; step++ {
		v.states = append(v.states, history.State(v.states[step-1], step))
	}
	for _, e := range j.Ends {
		i := slices.IndexFunc(v.final, func(f history.End) bool { return f.Node == e.Node })
		if i < 0 {
			v.final = append(v.final, e)
		} else if v.final[i].Pod < e.Pod {
			v.final[i] = e
		}
	}
	for _, e := range v.final {
		if m, ok := read(e); ok {
			v.end[e.Node] = m
		}
	}
	return v
}

func read(e history.End) (m message, ok bool) {
	return m, len(e.Message) > 0 && json.Unmarshal(e.Message, &m) == nil
}

// asleep reports whether that node's gangrun was paused for longer than anybody waits, before or at that time.
func (v *view) asleep(node string, at int64) bool {
	return slices.ContainsFunc(v.Faults, func(f history.Fault) bool {
		return f.Long && f.Node == node && f.From <= at && at <= f.To+int64(5*time.Second)
	})
}

// anyAsleep reports whether any was.
func (v *view) anyAsleep(at int64) bool {
	return slices.ContainsFunc(v.Faults, func(f history.Fault) bool { return f.Long && v.asleep(f.Node, at) })
}

// paused reports whether that node's gangrun had no processor time then, or the whole machine had none to spare.
func (v *view) paused(node string, from, to int64) bool {
	return slices.ContainsFunc(v.Faults, func(f history.Fault) bool {
		return (f.Kind == "stop gangrun" && f.Node == node || f.Kind == history.Starved) && f.From < to && f.To > from
	})
}
