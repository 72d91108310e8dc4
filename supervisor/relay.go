package supervisor

import (
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/gangrun/gangrun/exitcodes/crash"
)

// RelayCommand is the argument by which this program is started to be a relay; see Relay.
const RelayCommand = "relay-output"

// remaining is the end of a pipe that something still writes to, and the descriptor on which it is to be seen.
type remaining struct {
	pipe *os.File
	to   int
}

// detach takes the pipes of processes that are to be left running. For PID 1 there are none: such processes die with it.
func (s *Supervisor) detach(workers []*worker, deadline time.Time) (rest []remaining) {
	if s.cfg.Leftovers == LeftoversKill || os.Getpid() == 1 {
		return nil
	}
	for _, w := range workers {
		for i, stream := range w.streams {
			if pipe := stream.Detach(deadline); pipe != nil {
				rest = append(rest, remaining{pipe, i + 1})
			}
		}
	}
	return rest
}

// relay keeps the output of processes that are left running: they write to pipes that we read, and we are about to end. A
// process of this program reads them for as long as anything writes.
func (s *Supervisor) relay() {
	if len(s.rest) == 0 {
		return
	}
	var argv []string
	files := []uintptr{0, 1, 2}
	for _, r := range s.rest {
		argv = append(argv, strconv.Itoa(len(files)), strconv.Itoa(r.to))
		files = append(files, r.pipe.Fd()) // which makes it blocking
	}
	_, err := syscall.ForkExec("/proc/self/exe", append([]string{"gangrun", RelayCommand}, argv...), &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		s.log.Warn("the output of a leftover process is lost", "err", err)
	}
}

// Relay copies each descriptor to another, given in pairs of numbers, until nobody writes to it any more.
func Relay(pairs []string) {
	done := make(chan struct{})
	for i := 0; i+1 < len(pairs); i += 2 {
		from, _ := strconv.Atoi(pairs[i])
		to, _ := strconv.Atoi(pairs[i+1])
		crash.Go(func() {
			_, _ = io.Copy(os.NewFile(uintptr(to), "output"), os.NewFile(uintptr(from), "worker"))
			done <- struct{}{}
		})
	}
	for range len(pairs) / 2 {
		<-done
	}
}
