package supervisor

import (
	"runtime"

	"github.com/gangrun/gangrun/supervisor/node"
)

// useProcessors has Go use a single processor while workers run, and as many as it would otherwise: whoever starts, stops,
// judges or looks at checkpoints is waited for. So is who finds out why the workers hang, and on a single processor of a busy
// machine that keeps all else waiting, too. A supervisor of workers that run has little to do and must cost them as little as
// can be: with several processors most of that is threads that wake each other to look for work.
func (s *Supervisor) useProcessors() {
	one := s.cfg.OneProcessor && s.node.State() == node.Running && !s.health.hurries()
	switch {
	case one == s.oneInUse:
		return
	case one:
		runtime.GOMAXPROCS(1)
	default:
		runtime.SetDefaultGOMAXPROCS()
	}
	s.oneInUse = one
}
