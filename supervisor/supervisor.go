// Package supervisor runs the workers of one node: it starts them, watches them, stops them together, says why they
// ended, and starts them again or ends with a code and a termination message.
//
// Package node decides, in a pure step: an event and the time in, effects out. This package is what is around it. One
// goroutine owns the state (Supervisor.Run): it selects over what happens, takes the step, and does the effects. It never
// waits for a path, a worker or a reader: whatever may take time happens beside it, with a deadline, and comes back as an
// event.
package supervisor

import (
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/crash"
	"github.com/gangrun/gangrun/internal/timer"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/node"
	"github.com/gangrun/gangrun/supervisor/notify"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
	"github.com/gangrun/gangrun/supervisor/straggler"
)

// Supervisor is one run of the gang on this node.
type Supervisor struct {
	cfg    Config
	log    *slog.Logger
	node   *node.Node
	reaper *process.Reaper

	stdout, stderr *output.Console
	terminal       *terminal
	records        records
	scratch        scratch
	machine        *machine

	inbox       chan func()   // what was done beside the loop continues here, in it
	heard       chan struct{} // poked when a worker has reported something
	ears        *notify.Ears  // that hear it; nil where none can be made
	gathering   *timer.Timer  // runs from the first report on that was not handed on yet
	gathers     bool          // it runs
	done        chan struct{} // closed when nobody reads inbox any more
	preparing   *preparation  // the one that is awaited, or was and has not been started yet
	round       round
	before      round              // the one before it, whose last output may not be out yet
	pendingLogs atomic.Int64       // log files that are being opened
	hook        *hookProcess       // the one that runs, or ran last
	hookEnv     []string           // of every hook
	unread      sync.Once          // it was said that output is not read
	deaf        sync.Once          // it was said that workers cannot report
	rest        []remaining        // what is left writes there
	saved       *format.Checkpoint // the newest that the node was told of
	reachedAt   time.Time          // when the job was told how far the workers have come
	children    *children          // of the examiner
	examiner    *examiner          // of the machine
	health      *health            // of the workers that run; nil while none do
	stragglers  *straggler.Watch   // over the ranks that run; nil while none do
	own         *straggler.Own     // what of their steps is their own; likewise
	first       []node.Effect
	oneInUse    bool // of the machine's processors
	timer       *timer.Timer

	logTrouble atomic.Pointer[string] // the last thing that was said about a log file
}

// New makes a supervisor. The consoles are gangrun's own standard output and error; its log goes through the latter.
func New(cfg Config, stdout, stderr *output.Console) (*Supervisor, error) {
	reaper, err := process.NewReaper()
	if err != nil {
		return nil, err
	}
	return newSupervisor(cfg, reaper, stdout, stderr), nil
}

func newSupervisor(cfg Config, reaper *process.Reaper, stdout, stderr *output.Console) *Supervisor {
	s := &Supervisor{
		cfg: cfg, log: cfg.Log, reaper: reaper, stdout: stdout, stderr: stderr,
		terminal:  findTerminal(cfg.Scope),
		machine:   findMachine(),
		inbox:     make(chan func(), 16),
		heard:     make(chan struct{}, 1),
		gathering: timer.Stopped(),
		done:      make(chan struct{}),
		timer:     timer.New(0),
		scratch:   scratch{log: cfg.Log},
		children:  newChildren(reaper),
	}
	s.examiner = &examiner{Preflight: cfg.Preflight, children: s.children}
	s.node, s.first = node.New(cfg.policy(s.terminal.found()), time.Now())
	s.records.open(cfg, s.log)
	var err error
	if s.ears, err = notify.NewEars(s.heard); err != nil {
		s.log.Debug("workers cannot report their steps", "err", err)
	}
	return s
}

// Run supervises until the end and returns the exit code. When it returns, nothing of the workers runs any more, unless
// leftovers were to be left.
func (s *Supervisor) Run() int {
	defer close(s.done)
	if err := os.Chdir("/"); err != nil { // so that no mount is kept busy by us
		s.log.Warn("cannot move to /", "err", err)
	}
	for _, e := range s.first {
		s.effect(e)
	}
	for s.node.State() != node.Ended {
		select {
		case o := <-s.cfg.Agent.Orders():
			s.ordered(o)
		case sig := <-s.cfg.Signals:
			s.signaled(sig.(unix.Signal))
		case ev := <-s.reaper.Events():
			s.changed(ev)
		case goOn := <-s.inbox:
			goOn()
		case <-s.heard:
			s.gatherReports()
		case <-s.gathering.C:
			s.takeReports(false)
		case asked := <-s.cfg.Alive:
			close(asked)
		case <-s.timer.C:
			s.hear()
			s.look()
			s.step(node.Tick{})
		}
	}
	s.relay()
	s.machine.close()
	s.ears.Close()
	s.gathering.Close()
	s.timer.Close()
	s.scratch.remove()
	return s.node.ExitCode()
}

// step has the node take events, and does what follows from them.
func (s *Supervisor) step(events ...node.Event) {
	if c := s.cfg.Agent.Newest(); c != nil && c != s.saved {
		s.saved = c
		events = append([]node.Event{node.Saved{Path: c.Path, Step: c.Step, Unit: string(c.Unit), Modified: c.Modified}}, events...)
	}
	for ; len(events) > 0; events = events[1:] {
		now := time.Now()
		effects := s.node.Step(events[0], now)
		if s.cfg.Observe != nil {
			s.cfg.Observe(now, events[0], effects)
		}
		for _, e := range effects {
			if answer := s.effect(e); answer != nil {
				events = append(events, answer)
			}
		}
	}
	s.watch()
	s.useProcessors()
	if next := s.health.next(s.node.Deadline()); !next.IsZero() {
		s.timer.Reset(time.Until(next))
	} else {
		s.timer.Stop()
	}
}

// beside calls f, which may take time, beside the loop, and the function that f returns in the loop.
func (s *Supervisor) beside(f func() func()) {
	crash.Go(func() {
		goOn := f()
		select {
		case s.inbox <- goOn:
		case <-s.done:
		}
	})
}

// besideEvent does f beside the loop, and has the node take the event that it returns.
func (s *Supervisor) besideEvent(f func() node.Event) {
	s.beside(func() func() {
		ev := f()
		return func() { s.step(ev) }
	})
}

// ordered hands an order of the job on.
func (s *Supervisor) ordered(o agent.Order) {
	s.step(node.Budget{Budget: o.Budget})
	switch {
	case o.Start != nil:
		s.signalsFirst()
		s.before, s.round = s.round, round{start: o.Start}
		s.step(beginning(o.Start))
	case o.Ask != nil:
		s.hear()
		s.step(node.Ask{Round: o.Ask.Round})
	case o.Save != nil:
		s.hear()
		s.step(node.Save{Round: o.Save.Round, Step: o.Save.Step, Why: o.Save.Why, Departure: o.Save.Departure})
	case o.Slow != nil:
		s.step(node.Slows(*o.Slow))
	case o.Stop != nil:
		s.step(node.Stop{
			Round: o.Stop.Round, Why: o.Stop.Why, Suspend: o.Stop.Suspend, Departure: o.Stop.Departure, Expedite: o.Stop.Expedite,
			Failure: o.Stop.Failure, Silence: o.Stop.Silence, Silent: s.health.silent(),
		})
	case o.End != nil:
		s.step(node.End{End: *o.End, EndsJob: s.cfg.Agent.EndedJob(o.End)})
	}
}

// beginning is the order to start a round in the node's words.
func beginning(start *agent.Start) node.Begin {
	resume := start.Round.Resume
	b := node.Begin{
		Run: start.Round.RunUID, Round: start.Round.Number, Step: resume.Step, Unit: resume.Unit, Identity: resume.Identity,
		FallBack: resume.Decision == rendezvous.ResumeFallback, Looked: start.Looked, Banned: start.Banned,
		Blamed: start.Blamed, StoreLost: start.StoreLost,
	}
	if start.Resumed != nil {
		b.Path = start.Resumed.Path
	}
	if start.Unresumed != nil {
		b.Unresumed = start.Unresumed.Error()
	}
	return b
}

// signalsFirst hands on the signals that have come already: one that came before a worker's start must not find it
// started afterwards.
func (s *Supervisor) signalsFirst() {
	for {
		select {
		case sig := <-s.cfg.Signals:
			s.signaled(sig.(unix.Signal))
		default:
			return
		}
	}
}

// signaled hands on a signal from outside.
func (s *Supervisor) signaled(sig unix.Signal) {
	if sig == unix.SIGPIPE || s.terminal.expected(sig) { // a reader of our output is gone, which the write has told
		return
	}
	s.hear()
	s.step(node.Signaled{Signal: node.Signal(sig), Front: sig == unix.SIGCONT && s.terminal.inFront()})
}

// changed hands on what happened to a process.
func (s *Supervisor) changed(ev process.Event) {
	i := s.indexOf(ev.PID)
	switch {
	case ev.PID == 0 || i == unknownProcess:
		if ev.PID != 0 && ev.Ended() {
			s.children.ended(ev.PID, statusOf(ev.Status))
		}
		if ev.Alone {
			s.step(node.Alone{})
		}
	case ev.Ended():
		s.hear() // what it said last
		s.health.ended(i)
		s.step(node.Exited{Worker: i, Status: statusOf(ev.Status), At: ev.At, Alone: ev.Alone})
	case i >= 0:
		paused := node.Paused{Worker: i}
		if ev.Status.Stopped() {
			paused.By = node.Signal(ev.Status.StopSignal())
		}
		now := process.Look(ev.PID)
		paused.Stopped = len(now) > 0 && now[0].State == 'T'
		s.step(paused)
	}
}

// unknownProcess is the index of a process that is neither a worker of this round nor a hook.
const unknownProcess = -2

// indexOf is by which index the node knows a process.
func (s *Supervisor) indexOf(pid int) int {
	if pid != 0 && s.hook != nil && s.hook.pid == pid {
		return node.Hook
	}
	for i, w := range s.round.workers {
		if w.pid == pid {
			return i
		}
	}
	return unknownProcess
}

// pidOf is the process behind an index; 0 when there is none.
func (s *Supervisor) pidOf(i int) int {
	if i == node.Hook {
		return s.hook.pid
	}
	return s.round.workers[i].pid
}

func statusOf(ws unix.WaitStatus) exitcodes.Status {
	if ws.Signaled() {
		return exitcodes.Status{Signal: int(ws.Signal())}
	}
	return exitcodes.Status{Code: ws.ExitStatus()}
}

// Kill kills everything that the workers are and have left. It is for when gangrun itself has failed, and may be called
// from any goroutine.
func (s *Supervisor) Kill() { s.sweep(unix.SIGKILL, "") }
