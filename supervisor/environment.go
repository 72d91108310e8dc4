package supervisor

import (
	"fmt"
	"os"
	"slices"

	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/evidence/flight"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
)

// MemberVariable marks every process that a gangrun has started, so that its successor of the same name can find it.
const MemberVariable = "GANGRUN_MEMBER"

// environment is the worker's, with what this round adds to it. A worker with an ErrorFile has been told of it.
func (s *Supervisor) environment(w *worker, index, number int) []string {
	env := slices.Clone(w.spec.Env)
	set := func(name, value string) { env = environ.Set(env, name, value) }
	set("GANGRUN_JOB_NAME", s.cfg.Job)
	set("GANGRUN_NODE_NAME", s.cfg.Node)
	set("GANGRUN_ROUND", fmt.Sprint(number))
	if s.cfg.Member != "" {
		set(MemberVariable, s.cfg.Member)
	}
	if w.notify = s.listen(index, number); w.notify != nil {
		set("NOTIFY_SOCKET", w.notify.Path)
	}
	if file := s.stopFile(number); file != "" {
		set(node.StopFileVariable, file)
	} else {
		env = environ.Unset(env, node.StopFileVariable) // that of a gangrun around this one is not ours to tell
	}
	if _, said := environ.Lookup(env, stacksVariable); s.cfg.PythonStacks && !said {
		set(stacksVariable, "1")
	}
	if w.torch = s.torchSockets(index, number); w.torch != "" {
		set(flight.Variable, w.torch)
		path := s.scratch.path(torchPlugin)
		if before := environ.Get(env, "PYTHONPATH"); before != "" {
			path += ":" + before
		}
		set("PYTHONPATH", path)
	}
	if w.errorFile = w.spec.ErrorFile; w.errorFile != "" {
		return env
	}
	if w.errorFile = environ.Get(env, "TORCHELASTIC_ERROR_FILE"); w.errorFile == "" {
		// The worker makes the file if it has something to say.
		if w.errorFile = s.scratch.path(fmt.Sprintf("error-%d-%d.json", number, index)); w.errorFile != "" {
			w.ownErrorFile = true
			set("TORCHELASTIC_ERROR_FILE", w.errorFile)
		}
	}
	return env
}

// torchPlugin is the directory of the plugin that import torch is to load.
const torchPlugin = "python"

// torchSockets makes the directory for the sockets of torch's worker servers, and what has torch start those.
func (s *Supervisor) torchSockets(index, number int) string {
	if !s.cfg.TorchControlPlane {
		return ""
	}
	dir := s.scratch.path(fmt.Sprintf("torch-%d-%d", number, index))
	if dir == "" {
		return ""
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = flight.Install(s.scratch.path(torchPlugin))
	}
	if err != nil {
		s.log.Warn("torch's control plane could not be started; hangs will be judged without it", "err", err)
		return ""
	}
	return dir
}

// listen makes the socket on which a worker may report its progress. Where none can be made (no directory to write to, or
// one with too long a name), training runs all the same.
func (s *Supervisor) listen(index, number int) *notify.Socket {
	path := s.scratch.path(fmt.Sprintf("notify-%d-%d", number, index))
	if path == "" || s.ears == nil {
		return nil
	}
	socket, err := s.ears.Listen(path)
	if err != nil {
		s.deaf.Do(func() {
			s.log.Warn("workers cannot report their steps: no socket could be made in the directory for temporary files; set TMPDIR to another one", "err", err)
		})
		return nil
	}
	return socket
}
