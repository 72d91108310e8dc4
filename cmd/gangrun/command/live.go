package command

import (
	"os"
	"time"

	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/observe"
	"github.com/gangrun/gangrun/observe/live"
	"github.com/gangrun/gangrun/supervisor/output"
)

// liveEvery is how often the line is updated. A run that ends earlier shows none.
const liveEvery = time.Second

// wantsLine reports whether a status line is shown below the output: only on a terminal, and only if all output goes
// through gangrun.
func (o *options) wantsLine() bool {
	return o.live && !o.quiet && isTerminal(os.Stderr) && os.Getenv("TERM") != "dumb"
}

// showLine shows it until it is told to stop.
func showLine(hub *observe.Hub, console *output.Console, colour bool) (stop func()) {
	var pace live.Pace
	show := func(now time.Time) {
		place, s := hub.Now(now)
		rate := pace.Add(now, s.Round, place.Step)
		width, _ := terminalSize(os.Stderr)
		text := fit("gangrun: "+plain.Text(live.Line(place, s, rate)), width)
		if colour {
			text = "\x1b[" + faint + "m" + text + "\x1b[0m"
		}
		console.SetStatus(text)
	}
	return task.Repeat(liveEvery, show, func() { console.SetStatus("") })
}
