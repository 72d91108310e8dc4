package supervisor

import (
	"log/slog"
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/termlog"
)

// records is where the records go. Failing to write one never fails the run; it is said once for each place.
type records struct {
	log   *slog.Logger
	file  *termlog.Log
	state *stateWriter
	said  bool
}

func (r *records) open(cfg Config, log *slog.Logger) {
	r.log = log
	if cfg.TerminationLog != "" {
		var err error
		r.file, err = within(openTime, func() (*termlog.Log, error) { return termlog.Open(cfg.TerminationLog, cfg.MessageMax) }, closeLate[*termlog.Log])
		if err != nil {
			r.complain(err)
		}
	}
	if cfg.StateDir != "" {
		r.state = newStateWriter(cfg.StateDir, cfg.Node, log)
	}
}

func (r *records) write(m exitcodes.Message) {
	r.complain(r.file.Write(m))
	if r.state != nil {
		r.state.write(m)
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
	if r.state != nil {
		r.state.close()
	}
}

// stateWriter keeps the newest record in the state directory. That is often on a file server, which may take its time or
// hang, and the state's owner must not: so it has a goroutine of its own and skips what is outdated.
type stateWriter struct {
	newest chan exitcodes.Message
	done   chan struct{}
}

func newStateWriter(dir, node string, log *slog.Logger) *stateWriter {
	w := &stateWriter{newest: make(chan exitcodes.Message, 1), done: make(chan struct{})}
	crash.Go(func() {
		defer close(w.done)
		said := false
		for m := range w.newest {
			if err := termlog.WriteState(dir, node, m); err != nil && !said {
				said = true
				log.Warn("cannot keep the message in the state directory; the run continues", "err", err)
			}
		}
	})
	return w
}

func (w *stateWriter) write(m exitcodes.Message) {
	select {
	case <-w.newest: // outdated
	default:
	}
	w.newest <- m // never waits: there is one sender
}

// stateLimit bounds how long the end of the run waits for the state directory.
const stateLimit = 2 * time.Second

// close waits for the last record, but not for ever.
func (w *stateWriter) close() {
	close(w.newest)
	select {
	case <-w.done:
	case <-time.After(stateLimit):
	}
}
