package supervisor

import (
	"errors"
	"fmt"
	"os"

	"github.com/gangrun/gangrun/supervisor/node"
)

// stopFile is the file in which the ranks of a round find the step at which they save and leave; empty if there can be none.
// One of an earlier start of the same round is removed: it was for other workers.
func (s *Supervisor) stopFile(round int) string {
	path := s.stopPath(round)
	if path != "" {
		_ = os.Remove(path) // most often it is not there
	}
	return path
}

func (s *Supervisor) stopPath(round int) string { return s.scratch.path(fmt.Sprintf("stop-%d", round)) }

// tell tells the ranks at which step they save and leave. The file appears atomically. It need not survive a power failure,
// and there may be no time to wait for the disk.
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
