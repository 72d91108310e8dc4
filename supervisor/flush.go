package supervisor

import (
	"time"

	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/output"
)

// logTime bounds the wait for the last output of a round. The node gives up earlier if it has to.
const logTime = 30 * time.Second

// flush writes what is left: the messages, the last output of the workers and the hooks, the epilogue. It waits for a reader
// that has stopped reading no longer than output.DefaultStall.
func (s *Supervisor) flush() {
	var streams []*output.Stream
	for _, r := range []round{s.before, s.round} {
		for _, w := range r.workers {
			streams = append(streams, w.streams...)
		}
	}
	filtered := s.round.filtered
	workers := s.round.workers
	s.beside(func() func() {
		s.records.close()
		deadline := time.Now().Add(logTime)
		for _, stream := range streams {
			stream.Drain(deadline)
		}
		rest := s.detach(workers, deadline)
		filtered.close(deadline)
		if s.cfg.Epilogue != nil {
			s.cfg.Epilogue(s.stderr)
		}
		s.stdout.Close(deadline)
		s.stderr.Close(deadline)
		return func() {
			s.rest = rest
			s.step(node.Flushed{})
		}
	})
}
