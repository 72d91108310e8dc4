package supervisor

import (
	"errors"
	"fmt"
	"os"

	"github.com/gangrun/gangrun/supervisor/node"
)

// stopFile is the file in which the ranks of a round find at which step they save and leave; empty where there can be
// none. One that is left of an earlier start of the same round is taken away: it told others.
func (s *Supervisor) stopFile(round int) string {
	path := s.stopPath(round)
	if path != "" {
		_ = os.Remove(path) // most often it is not there
	}
	return path
}

func (s *Supervisor) stopPath(round int) string { return s.scratch.path(fmt.Sprintf("stop-%d", round)) }

// tell has the ranks told at which step they save and leave. The file appears atomically; that it outlives
// a power failure is of no use to anybody, and to wait for the disk may take longer than there is time.
func (s *Supervisor) tell(e node.Tell) {
	path := s.stopPath(e.Round)
	s.besideEvent(func() node.Event {
		err := errors.New("there is no directory for temporary files")
		if path != "" {
			if err = os.WriteFile(path+".new", []byte(e.Text), 0o644); err == nil {
				err = os.Rename(path+".new", path)
			}
		}
		told := node.Told{Round: e.Round}
		if err != nil {
			told.Err = err.Error()
		}
		return told
	})
}
