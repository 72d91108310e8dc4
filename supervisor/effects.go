package supervisor

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/process"
)

// effect does what the node wants, and returns the event that answers it, if that is known at once.
func (s *Supervisor) effect(e node.Effect) node.Event {
	switch e := e.(type) {
	case node.Probe:
		s.probe()
	case node.StopProbes:
		s.children.stop()
	case node.Join:
		if s.cfg.Preflight.Join != nil {
			s.cfg.Preflight.Join()
		}
	case node.Prepare:
		s.prepare()
	case node.Abandon:
		s.abandon()
	case node.Fork:
		return s.fork(e.Worker)
	case node.Send:
		if e.Worker == node.Hook && e.Signal == node.SIGKILL && s.cancelHook() {
			return node.NotForked{Worker: node.Hook, Failure: node.Failure{Why: "its command could not be read in time"}}
		}
		s.reaper.Signal(s.pidOf(e.Worker), unix.Signal(e.Signal), e.Group)
	case node.Gather:
		s.gather(e)
	case node.Amend:
		s.amend(e.Hung)
	case node.Hold:
		s.hold()
	case node.Release:
		signal(s.round.held[e.Worker], unix.SIGCONT)
	case node.Dump:
		s.dump()
	case node.Concluded:
		s.concluded(e)
	case node.Sweep:
		return node.Swept{Found: s.sweep(unix.Signal(e.Signal), e.Note)}
	case node.Look:
		return node.Looked{Worker: e.Worker, Found: processes(process.Look(s.pidOf(e.Worker)))}
	case node.Forget:
		s.forget()
	case node.Record:
		s.records.write(e.Message)
	case node.Log:
		s.log.Log(context.Background(), e.Level, e.Text, e.Args...)
	case node.Failing:
		s.cfg.Agent.Failing(e.Round, e.Outcome, e.Step)
	case node.Gone:
		s.cfg.Agent.Gone(e.Round, e.Outcome, e.Step)
	case node.Leave:
		switch {
		case e.Sick != "":
			s.cfg.Agent.LeaveSick(e.Sick)
		case e.Saves:
			s.cfg.Agent.LeaveAfterSave()
		default:
			s.cfg.Agent.Leave()
		}
	case node.Serve:
		s.cfg.Agent.Serve(e.Service)
	case node.Tell:
		s.tell(e)
	case node.Part:
		crash.Go(s.cfg.Agent.Close)
	case node.StartHook:
		s.startHook(e)
	case node.FlushHook:
		s.flushHook()
	case node.Flush:
		s.flush()
	case node.GiveTerminal:
		return node.Handed{Worker: s.terminal.bring(s.pidOf(e.Worker), e.Take)}
	case node.StopSelf:
		pid := os.Getpid()
		if e.Group {
			pid = 0
		}
		_ = unix.Kill(pid, unix.SIGSTOP) // as PID 1 the kernel ignores it
	}
	return nil
}

// sweep sends sig to every descendant, and logs the note if there are any.
func (s *Supervisor) sweep(sig unix.Signal, note string) []node.Process {
	found, err := s.reaper.Descendants()
	if err != nil {
		s.log.Warn("cannot list processes", "err", err)
	}
	left := processes(found)
	if alive := slices.DeleteFunc(slices.Clone(left), func(p node.Process) bool { return p.Dead }); len(alive) > 0 && note != "" {
		s.log.Warn(note, "processes", node.Names(alive))
	}
	for _, d := range found {
		d.Signal(sig)
	}
	return left
}

// processes are processes in the node's words.
func processes(found []process.Descendant) []node.Process {
	list := make([]node.Process, len(found))
	for i, d := range found {
		list[i] = node.Process{PID: d.PID, Name: d.Name, Dead: d.Dead(), Deep: d.Uninterruptible()}
	}
	return list
}
