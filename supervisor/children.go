package supervisor

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/task"
	"github.com/gangrun/gangrun/supervisor/environ"
	"github.com/gangrun/gangrun/supervisor/preflight"
	"github.com/gangrun/gangrun/supervisor/process"
)

// children are processes beside the workers, each with a deadline. Their ends are reported by the reader of the reaper's
// events.
type children struct {
	reaper *process.Reaper
	fork   func(process.Spec) (pid int, err error) // may take long, so mu is not held

	mu       sync.Mutex
	ends     map[int]chan exitcodes.Status
	starting int                      // so many are forked now
	early    map[int]exitcodes.Status // of processes that ended meanwhile: one of them may be one of those
	over     bool                     // none is started any more
}

func newChildren(reaper *process.Reaper) *children {
	return &children{
		reaper: reaper, fork: reaper.Start, ends: map[int]chan exitcodes.Status{}, early: map[int]exitcodes.Status{},
	}
}

// ended handles the end of any process, one of these or another.
func (c *children) ended(pid int, status exitcodes.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.ends[pid]; end != nil {
		end <- status // nobody else sends: there is room
		delete(c.ends, pid)
	} else if c.starting > 0 {
		c.early[pid] = status
	}
}

// stop kills all that run, with what they have started, and lets no other start.
func (c *children) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for pid := range c.ends {
		c.reaper.Signal(pid, unix.SIGKILL, true)
	}
}

// errOver is the error of what is to be started too late.
var errOver = errors.New("nobody waits for it any more")

// start starts a process. Its end is told even where it comes before the process is known here.
func (c *children) start(spec process.Spec) (pid int, end <-chan exitcodes.Status, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return 0, nil, errOver
	}
	c.starting++
	c.mu.Unlock()
	pid, err = c.fork(spec)
	c.mu.Lock()
	c.starting--
	status, ended := c.early[pid]
	delete(c.early, pid)
	if c.starting == 0 {
		clear(c.early)
	}
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan exitcodes.Status, 1)
	switch {
	case ended:
		ch <- status
	case c.over:
		c.ends[pid] = ch
		c.reaper.Signal(pid, unix.SIGKILL, true)
	default:
		c.ends[pid] = ch
	}
	return pid, ch, nil
}

// mostOutput is as much as is kept of what a child prints.
const mostOutput = 4 << 20

// run runs a command until it ends or its time is over: then it is killed, and left behind if even that does not end it.
func (c *children) run(argv, env []string, dir string, limit time.Duration) preflight.Output {
	until := time.Now().Add(limit)
	path := argv[0]
	if path != ownProgram {
		found, err := task.Within(limit, func() (string, error) {
			// The child enters the directory before it is a program of its own, and the fork waits for it until then.
			if _, err := os.Stat(dir + "/."); err != nil {
				return "", err
			}
			found, err := process.Find(path, dir, environ.Get(env, "PATH"))
			if err == nil {
				err = process.Touch(found, dir)
			}
			return found, err
		}, nil)
		if err != nil {
			return unstarted(err, limit)
		}
		path = found
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return preflight.Output{Err: err}
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return preflight.Output{Err: err}
	}
	pid, end, err := c.start(process.Spec{
		Path: path, Argv: argv, Env: env, Dir: dir, NewSession: true, Files: []uintptr{null.Fd(), w.Fd(), w.Fd()},
	})
	w.Close()
	if err != nil {
		r.Close()
		return unstarted(err, limit)
	}
	read := make(chan []byte, 1)
	crash.Go(func() {
		text, _ := io.ReadAll(io.LimitReader(r, mostOutput)) // what there is counts
		_, _ = io.Copy(io.Discard, r)
		read <- text
	})
	out := preflight.Output{}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case out.Status = <-end:
	case <-timer.C:
		c.reaper.Signal(pid, unix.SIGKILL, true)
		out.Late = limit
	}
	// A process that it has started may hold the pipe open: what was printed so far is all there will be.
	_ = r.SetReadDeadline(time.Now().Add(drainTime))
	out.Text = <-read
	r.Close()
	return out
}

// unstarted is what became of a command that could not be started.
func unstarted(err error, limit time.Duration) preflight.Output {
	if err == task.ErrLate {
		return preflight.Output{Late: limit}
	}
	if se := (*process.StartError)(nil); errors.As(err, &se) && se.Code == exitcodes.CodeNotFound {
		return preflight.Output{Absent: true, Err: err}
	}
	return preflight.Output{Err: err}
}

// ownProgram is this program.
const ownProgram = "/proc/self/exe"
