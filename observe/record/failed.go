package record

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/observe/event"
	"github.com/gangrun/gangrun/supervisor/node"
)

// mostFailed is how many workers of one node are named in one round; the others are counted.
const mostFailed = 16

// mostLastLines is how much of the output of the worker that failed is told: the rest is in the log.
const mostLastLines = 10

// concluded tells which workers have failed by themselves, the cause first.
func (r *Recorder) concluded(at time.Time, c node.Concluded) {
	named := 0
	name := func(i int, f exitcodes.Finding) {
		if named++; named > mostFailed {
			return
		}
		r.emit(event.Event{At: at, Type: event.WorkerFailed, Failed: failed(f, i == c.Cause)})
	}
	for i, f := range c.Findings {
		switch {
		case c.Stops[i] != exitcodes.NotStopped:
			r.ends.Stopped++
		case f.Verdict == exitcodes.Success:
			r.ends.Succeeded++
		default:
			r.ends.Failed++
		}
		if i == c.Cause {
			if f.Said != nil && c.Stops[i] != exitcodes.NotStopped { // it was stopped, and had said before why it fails
				f = *f.Said
			}
			name(i, f)
		}
	}
	for i, f := range c.Findings {
		if i != c.Cause && c.Stops[i] == exitcodes.NotStopped && f.Verdict != exitcodes.Success {
			name(i, f)
		}
	}
}

func failed(f exitcodes.Finding, cause bool) *event.Failed {
	out := &event.Failed{
		Verdict: f.Verdict, Reason: event.Text(f.Reason), Message: event.Text(f.Message),
		Rank: known(f.Rank), LocalRank: known(f.LocalRank), ExitCode: f.ExitCode, At: event.Time(f.At),
		Rule: event.Text(f.Rule), Evidence: event.Text(f.Evidence), Cause: cause,
	}
	if f.Signal != 0 {
		out.Signal = exitcodes.SignalName(f.Signal)
	}
	if cause {
		out.LastWords = event.LastLines(f.Output, mostLastLines)
	}
	return out
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
