package rendezvous

import "fmt"

// Busy says which other node of a round has told that its ranks are busy with what takes longer than a step, so that those of this
// one may wait for them and do not hang; empty where none has. Nodes of a role that restarts alone wait for nobody, and nobody for
// them.
func Busy(j *Job, r *Round, reached map[string]*Reached, self string) (busy string) {
	if j == nil || r == nil || j.Round != r.Number || j.RunUID != r.RunUID {
		return ""
	}
	for _, m := range r.Members {
		p := reached[m.Name]
		switch {
		case !j.Spec.Gang(m.Role):
			if m.Name == self {
				return ""
			}
		case m.Name != self && busy == "" && p != nil && p.Round == r.Number && p.Busy != "":
			busy = fmt.Sprintf("%s (%s)", m.Name, p.Busy)
		}
	}
	return busy
}
