package command

import (
	"os"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
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
	over, ended := make(chan struct{}), make(chan struct{})
	crash.Go(func() {
		defer close(ended)
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		var pace live.Pace
		for {
			select {
			case <-over:
				console.SetStatus("")
				return
			case now := <-tick.C:
				place, s := hub.Now(now)
				rate := pace.Add(now, s.Round, place.Step)
				width, _ := terminalSize(os.Stderr)
				text := fit("gangrun: "+printable(live.Line(place, s, rate)), width)
				if colour {
					text = "\x1b[" + faint + "m" + text + "\x1b[0m"
				}
				console.SetStatus(text)
			}
		}
	})
	return func() { close(over); <-ended }
}
