package preflight

import "fmt"

// State is what a probe found.
type State string

// What there is to find.
const (
	OK   State = "ok"
	Note State = "note" // worth knowing, or not to be told
	Sick State = "sick" // training would fail here
)

// Result is what one probe found.
type Result struct {
	Probe  string
	State  State
	Detail string // what was found, and where that is known, why
	Do     string // what a person can do about it
}

// String is the result for a person, without what follows from it.
func (r Result) String() string {
	s := r.Probe + ": " + r.Detail
	if r.Do != "" {
		s += "; " + r.Do
	}
	return s
}

func ok(probe, format string, args ...any) Result {
	return Result{Probe: probe, State: OK, Detail: fmt.Sprintf(format, args...)}
}

func note(probe, do, format string, args ...any) Result {
	return Result{Probe: probe, State: Note, Do: do, Detail: fmt.Sprintf(format, args...)}
}

func sick(probe, do, format string, args ...any) Result {
	return Result{Probe: probe, State: Sick, Do: do, Detail: fmt.Sprintf(format, args...)}
}
