package supervisor

import (
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/latest"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/termlog"
)

// records is where the records go. A failure to write one never fails the run; it is logged once for each place.
type records struct {
	log   *slog.Logger
	file  *termlog.Log
	state *latest.Writer[exitcodes.Message] // the state directory is often on a file server; nil: there is none
	said  bool
}

func (r *records) open(cfg Config, log *slog.Logger) {
	r.log = log
	if cfg.TerminationLog != "" {
		var err error
		r.file, err = task.Within(openTime, func() (*termlog.Log, error) { return termlog.Open(cfg.TerminationLog, cfg.MessageMax) }, task.CloseLate[*termlog.Log])
		if err != nil {
			r.complain(err)
		}
	}
	if cfg.StateDir != "" {
		r.state = latest.NewWriter(
			func(m exitcodes.Message) error { return termlog.WriteState(cfg.StateDir, cfg.Node, m) },
			func(err error) {
				log.Warn("cannot keep the message in the state directory; the run continues", "err", err)
			},
		)
	}
}

func (r *records) write(m exitcodes.Message) {
	r.complain(r.file.Write(m))
	if r.state != nil {
		r.state.Put(m)
	}
}

func (r *records) complain(err error) {
	if err != nil && !r.said {
		r.said = true
		r.log.Warn("cannot leave a termination message; the run continues", "err", err)
	}
}

func (r *records) close() {
	r.complain(r.file.Close())
	if r.state != nil && !r.state.Close(stateLimit) {
		r.log.Warn("the last message could not be kept in the state directory in time", "limit", stateLimit)
	}
}

// stateLimit bounds how long the end of the run waits for the state directory.
const stateLimit = 2 * time.Second
