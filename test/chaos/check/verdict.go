package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gangrun/gangrun/test/chaos/history"
)

// R3 and R5: with what each gangrun ends.

func oneVerdict(v *view) (wrong []string) {
	if v.Stuck != "" {
		return nil // which is told elsewhere
	}
	var first string
	for _, e := range v.final {
		m, ok := v.end[e.Node]
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s left no message: %q", e.Node, e.Message))
			continue
		}
		if m.ExitCode != e.Code {
			wrong = append(wrong, fmt.Sprintf("%s exits with %d, and its message says %d", e.Node, e.Code, m.ExitCode))
		}
		text := fmt.Sprintf("%d %s %s", e.Code, m.Verdict, m.Reason)
		if c := m.RootCause; c != nil {
			text += fmt.Sprintf(", by %s: %s %s", c.Node, c.Reason, c.Signal)
			if c.ExitCode != nil {
				text += fmt.Sprint(" ", *c.ExitCode)
			}
		}
		if first = cmp.Or(first, text); text != first {
			wrong = append(wrong, fmt.Sprintf("%s ends with %s, %s with %s", e.Node, text, v.final[0].Node, first))
		}
		switch {
		case v.Fatal == "" && (e.Code != 0 || m.Verdict != "success"):
			wrong = append(wrong, fmt.Sprintf("%s ends with %s, and nothing was told to fail for good", e.Node, text))
		case v.Fatal != "" && (e.Code != 1 || m.Verdict != "fatal" || m.RootCause == nil || m.RootCause.Node != v.Fatal):
			wrong = append(wrong, fmt.Sprintf("%s ends with %s, and a worker of %s failed with 1 for good", e.Node, text, v.Fatal))
		}
	}
	return wrong
}

// alone are the codes with which one gangrun may leave while its job goes on: told to, without its store, its machine
// or its peers.
var alone = map[int]string{143: "preempted", 211: "retry", 213: "retry", 214: "retry"}

func local(v *view) (wrong []string) {
	for _, e := range v.Ends {
		if e.Killed || slices.ContainsFunc(v.final, func(f history.End) bool { return f.Node == e.Node && f.Pod == e.Pod }) {
			continue
		}
		m, ok := read(e)
		switch want, may := alone[e.Code]; {
		case !may || e.Code == 143 && e.Told == 0:
			wrong = append(wrong, fmt.Sprintf("gangrun %d of %s exits with %d: %s", e.Pod, e.Node, e.Code, e.Message))
		case ok && (m.ExitCode != e.Code || m.Verdict != want):
			wrong = append(wrong, fmt.Sprintf("gangrun %d of %s exits with %d, and says %s", e.Pod, e.Node, e.Code, e.Message))
		}
	}
	return wrong
}
