package supervisor

import (
	"time"

	"github.com/gangrun/gangrun/supervisor/evidence/procs"
	"github.com/gangrun/gangrun/supervisor/hang"
)

// sample looks at what the workers use, and whether those do anything that may have failed.
func (s *Supervisor) sample(h *health, failed []int) {
	if h.sampling {
		return
	}
	h.sampling = true
	pids := s.pids()
	s.watching(h, func() func() {
		used := usages(pids, failed)
		return func() { h.used(used, failed) }
	})
}

// usages are what the workers have used, and whether those are busy that may have failed.
func usages(pids, failed []int) []procs.Usage {
	table, err := procs.Read()
	usages := make([]procs.Usage, len(pids))
	for i, pid := range pids {
		if err == nil && pid != 0 {
			usages[i] = table.Usage(pid)
		}
	}
	for _, i := range failed {
		usages[i].Busy = err != nil || table.Busy(pids[i])
	}
	return usages
}

// used takes a sample.
func (h *health) used(usages []procs.Usage, failed []int) {
	h.sampling = false
	h.guard(func(d *hang.Detector) {
		now := time.Now()
		for i, u := range usages {
			d.Used(i, hang.Usage(u), now)
		}
		for _, i := range failed {
			h.endings.Used(i, hang.Usage(usages[i]), now)
		}
	})
}
