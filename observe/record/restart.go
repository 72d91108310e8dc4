package record

import (
	"strings"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

func (r *Recorder) restarts() event.Restarts {
	return event.Restarts{
		Used: r.budget.Used, Max: r.cfg.MaxRestarts, Total: r.budget.Total, Preemptions: r.budget.Preemptions,
	}
}

// restart is why there is another round, by what the job's budget was charged with.
func (r *Recorder) restart(b node.Begin) *event.Restart {
	if r.charged == nil {
		return nil
	}
	switch {
	case r.budget.Total > r.charged.Total:
		reason, _, _ := strings.Cut(r.budget.Cause, "/") // what follows tells failures of one reason apart
		return &event.Restart{Kind: event.Failure, Reason: event.Text(reason), Node: event.Text(b.Blamed)}
	case r.budget.Preemptions > r.charged.Preemptions:
		return &event.Restart{Kind: event.Departure, Reason: exitcodes.ReasonPreempted}
	}
	if b.StoreLost {
		return &event.Restart{Kind: event.Store, Reason: exitcodes.ReasonStoreLost}
	}
	return &event.Restart{Kind: event.Asked}
}

// lost is how many steps are to be made again; nil where it is not known.
func (r *Recorder) lost(b node.Begin) *int64 {
	var from int64
	switch {
	case r.before == nil || b.Unit != "":
		return nil
	case b.Path == "" && !b.Looked:
		return nil // what the training script finds by itself is unknown
	case b.Path != "" && b.Step == nil:
		return nil
	case b.Path != "":
		from = *b.Step
	}
	lost := max(*r.before-from, 0)
	return &lost
}
