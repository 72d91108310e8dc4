// Package supervisor runs the workers of one node: it starts them, watches them, stops them together, says why they
// ended, and starts them again or ends with a code and a termination message.
//
// One goroutine owns the state (Supervisor.Run). The others only turn the outside world into events for it: the
// signal handler, the reaper, the readers of the workers' output. What is decided is decided elsewhere, by pure
// functions: the verdict by package exitcodes, the restart by Budget.
package supervisor

import (
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/rendezvous/agent"
	"github.com/gangrun/gangrun/supervisor/evidence"
	"github.com/gangrun/gangrun/supervisor/output"
	"github.com/gangrun/gangrun/supervisor/process"
)

// phase is where a round stands.
type phase int

const (
	waiting  phase = iota // no process of a worker exists; the agent says what follows
	running               // at least one worker runs
	clearing              // the workers are gone, their leftovers are being removed
	ended
)

// Supervisor is one run of the gang on this node.
type Supervisor struct {
	cfg    Config
	log    *slog.Logger
	reaper *process.Reaper

	stdout, stderr *output.Console
	memory         evidence.Memory
	kernelLog      *evidence.KernelLog
	oomKillsBefore int // when the round began
	records        records
	scratch        scratch
	filtered       filtered          // of the round
	heard          chan struct{}     // poked when a worker has reported something
	rehearsal      []Kill            // still to be done
	refreshed      time.Time         // when the provisional record was last written
	budget         rendezvous.Budget // as far as the agent has told
	terminal       *terminal

	phase     phase
	round     *agent.Start // the current one, or the last; nil before the first
	startedAt time.Time    // of the run
	failedAt  time.Time    // of the failure that the next round recovers from
	recovery  time.Duration
	workers   []*worker
	stopBy    time.Time          // one has failed, and the others are to be stopped then
	hurried   bool               // others may go on without this node
	outside   *outside           // the call for the end from outside, once there was one
	left      leftovers          // clearing
	stuck     []string           // processes that not even SIGKILL has ended
	verdict   verdict            // on the last round
	final     *exitcodes.Message // how this node ends whatever becomes of the others; nil: as they do
	over      bool               // the agent has said its last word
	endsJob   bool               // and it was this node that has ended the job
	timer     *time.Timer
}

// verdict is what this node says about a round of its own.
type verdict struct {
	cause   int                // index of the worker that caused the end; -1 when there is none
	outcome rendezvous.Outcome // for the others
	record  exitcodes.Message
}

// New makes a supervisor. The consoles are gangrun's own standard output and error; its log goes through the latter.
func New(cfg Config, stdout, stderr *output.Console) (*Supervisor, error) {
	reaper, err := process.NewReaper()
	if err != nil {
		return nil, err
	}
	s := &Supervisor{
		cfg: cfg, log: cfg.Log, reaper: reaper, stdout: stdout, stderr: stderr,
		memory:    evidence.FindMemory("/"),
		kernelLog: evidence.OpenKernelLog(),
		terminal:  findTerminal(cfg.Scope),
		timer:     time.NewTimer(0),
		startedAt: cfg.StartedAt,
		verdict:   verdict{cause: -1},
		scratch:   scratch{log: cfg.Log},
		heard:     make(chan struct{}, 1),
		rehearsal: slices.Clone(cfg.Kills),
	}
	s.records.open(cfg, s.log)
	return s, nil
}

// Run supervises until the end and returns the exit code. Nothing of the workers runs any more when it returns,
// unless they were to be left.
func (s *Supervisor) Run() int {
	if err := os.Chdir("/"); err != nil { // so that no mount is kept busy by us
		s.log.Warn("cannot move to /", "err", err)
	}
	s.records.write(s.waitingRecord())
	for s.phase != ended {
		select {
		case o := <-s.cfg.Agent.Orders():
			s.endsJob = s.cfg.Agent.EndedJob(o.End)
			s.ordered(o)
		case sig := <-s.cfg.Signals:
			s.signaled(sig.(unix.Signal))
		case ev := <-s.reaper.Events():
			s.changed(ev)
		case <-s.heard:
			s.checkResumed()
			s.refresh(time.Now())
		case <-s.timer.C:
		}
		s.due(time.Now())
	}
	return s.finish()
}

// hearFirst takes in the signals that have come already: one that came before a worker's start must not find it
// started afterwards.
func (s *Supervisor) hearFirst() {
	for {
		select {
		case sig := <-s.cfg.Signals:
			s.signaled(sig.(unix.Signal))
		default:
			return
		}
	}
}

// due does what has become due, and sets the timer to what comes next.
func (s *Supervisor) due(now time.Time) {
	s.limitDue(now)
	switch {
	case s.phase == running:
		if !s.stopBy.IsZero() && !now.Before(s.stopBy) {
			s.stopOthers(now)
		}
		s.rehearse(now)
		s.killDue(now)
	case s.phase == clearing && !now.Before(s.left.deadline):
		s.left.due(s, now)
	}
	if next := s.nextDeadline(); !next.IsZero() {
		s.timer.Reset(time.Until(next))
	} else {
		s.timer.Stop()
	}
}

func (s *Supervisor) nextDeadline() time.Time {
	next := s.limitAt()
	switch s.phase {
	case clearing:
		next = earlier(next, s.left.deadline)
	case running:
		for _, w := range s.workers {
			if !w.ended {
				next = earlier(next, w.killAt)
			}
		}
		next = earlier(earlier(next, s.stopBy), s.nextKill())
	}
	return next
}

// changed takes in what became of a process.
func (s *Supervisor) changed(ev process.Event) {
	for _, w := range s.workers {
		if w.pid != ev.PID || w.ended {
			continue
		}
		if !ev.Ended() {
			s.paused(w, ev.Status)
			continue
		}
		s.exited(w, ev)
	}
	if s.phase == clearing && ev.Alone {
		s.cleared()
	}
}

// exited takes in the end of a worker.
func (s *Supervisor) exited(w *worker, ev process.Event) {
	w.end(ev)
	s.log.Debug("worker ended", "pid", w.pid, "status", w.status.Number())
	if sig := s.tookAsStop(w); sig != 0 {
		w.stop = exitcodes.StoppedOutside
		call := s.called(sig, ev.At)
		s.stopFromOutside(call, call.signal)
	}
	if w.failed() && w.stop == exitcodes.NotStopped && s.outside == nil {
		if s.failedAt.IsZero() {
			s.failedAt = ev.At
		}
		if s.tellOthers(w) { // whoever caused it may be about to end by itself
			s.stopBy = earlier(s.stopBy, ev.At.Add(echoTime))
		} else {
			s.stopOthers(ev.At)
		}
	}
	s.perhapsConcluded(ev)
}

// echoTime is how long the other workers go on after a failure that may be an echo, unless the lead, which sees all nodes,
// says otherwise before.
const echoTime = 2 * time.Second

// stopOthers stops those that still run because one has failed.
func (s *Supervisor) stopOthers(now time.Time) {
	s.stopBy = time.Time{}
	for _, w := range s.workers {
		s.stopWorker(w, exitcodes.StoppedByGang, unix.SIGTERM, now.Add(s.cfg.RestartGrace))
	}
}

// perhapsConcluded goes on once the last worker is gone.
func (s *Supervisor) perhapsConcluded(ev process.Event) {
	for _, w := range s.workers {
		if !w.ended {
			return
		}
	}
	s.concluded(ev)
}

// concluded judges the round, whose workers are all gone, and clears up after it.
func (s *Supervisor) concluded(ev process.Event) {
	s.verdict = s.judge()
	s.records.write(s.verdict.record)
	s.tell()
	s.phase = clearing
	if ev.Alone {
		s.cleared()
		return
	}
	s.left.begin(s, ev.At)
}

// tell tells whoever wants to know how the round ended.
func (s *Supervisor) tell() {
	if s.cfg.RoundEnded == nil {
		return
	}
	r := Round{Number: s.number(), Cause: s.verdict.cause}
	for _, w := range s.workers {
		r.Workers = append(r.Workers, Ended{
			Worker: w.spec, PID: w.pid, Finding: w.finding, Status: w.status, Stop: w.stop,
			StartedAt: w.startedAt, At: w.at, ErrorData: w.errorData, Output: w.tail.Bytes(),
		})
	}
	s.cfg.RoundEnded(r)
}

// cleared goes on after a round of which nothing is left: the agent is told, and says what follows.
func (s *Supervisor) cleared() {
	s.terminal.restore()
	step := s.step()
	for _, w := range s.workers {
		w.forget()
	}
	if len(s.stuck) > 0 {
		s.unhealthy()
	}
	go s.filtered.close(time.Now().Add(flushLimit))
	s.phase = waiting
	if s.over {
		s.phase = ended
	}
	s.cfg.Agent.Gone(s.number(), s.verdict.outcome, step)
}

// finish flushes what is to be seen and returns the exit code.
func (s *Supervisor) finish() int {
	end := *s.final
	end.FinishedAt = time.Now()
	s.records.write(end) // a kill while the hooks run leaves the true verdict
	end = s.runHooks(end)
	s.records.close()
	s.kernelLog.Close()
	deadline := time.Now().Add(flushLimit)
	for _, w := range s.workers {
		for _, stream := range w.streams {
			stream.Drain(deadline)
		}
	}
	s.filtered.close(deadline)
	if s.cfg.Epilogue != nil {
		s.cfg.Epilogue(s.stderr)
	}
	s.scratch.remove()
	s.stdout.Close(deadline)
	s.stderr.Close(deadline)
	return end.ExitCode
}

// Kill kills everything that the workers are and have left. It is for when Run has panicked.
func (s *Supervisor) Kill() { s.left.send(s, unix.SIGKILL, "") }

// flushLimit bounds how long the end of the run waits for a reader of the output that is slow but goes on. One that has
// stopped reading is waited for no longer than output.DefaultStall. The verdict is in its place before.
const flushLimit = 30 * time.Second
