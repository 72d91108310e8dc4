package supervisor

import (
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
	"github.com/gangrun/gangrun/supervisor/termlog"
)

// message is what every record has in common, and what a finding says.
func (s *Supervisor) message(f exitcodes.Finding) exitcodes.Message {
	m := exitcodes.Message{
		Verdict: f.Verdict, Reason: f.Reason, Message: f.Message, ExitCode: f.Code,
		Job: s.cfg.Job, Node: s.cfg.Node, Role: s.cfg.Role,
		WorkerExitCode: f.WorkerCode,
		Rank:           known(f.Rank), LocalRank: known(f.LocalRank),
		Restarts:  &exitcodes.Restarts{Used: s.budget.Used, Max: s.cfg.MaxRestarts, Preemptions: s.budget.Preemptions},
		Step:      s.step(),
		StartedAt: s.startedAt, RecoverySeconds: s.recovery.Seconds(),
	}
	if s.round != nil {
		number := s.number()
		m.Round = &number
	}
	if c := s.cfg.Agent.Newest(); c != nil {
		m.Checkpoint = &exitcodes.Checkpoint{Path: c.Path, Step: &c.Step, AgeSeconds: time.Since(c.Modified).Seconds()}
	}
	if f.Signal != 0 {
		m.Signal = exitcodes.SignalName(f.Signal)
	}
	return m
}

// failure is the record of a round that ended here with this finding; the run's, if it is the last.
func (s *Supervisor) failure(f exitcodes.Finding) exitcodes.Message {
	m := s.message(f)
	if f.Verdict == exitcodes.Success {
		return m
	}
	m.LogTail = string(f.Output)
	m.RootCause = rootCause(f)
	switch {
	case !f.Overruled:
	case f.Code == exitcodes.CodeFatalByRule:
		m.Reason = exitcodes.ReasonFatalByRule
	case f.Code == exitcodes.CodeRetryableByRule:
		m.Reason = exitcodes.ReasonRetryableByRule
	}
	if f.Verdict == exitcodes.Retry && s.cfg.RetryCode != 0 {
		m.ExitCode = s.cfg.RetryCode
	}
	return m
}

// ending is the record of a run that ends for all nodes alike. Where the cause was on this node, its own record of the
// round knows the most about it.
func (s *Supervisor) ending(e *rendezvous.End) exitcodes.Message {
	f := exitcodes.Finding{Rank: -1, LocalRank: -1}
	if e.Cause != nil && e.Cause.Outcome != nil {
		f = findingOf(e.Cause)
	}
	m := s.message(f)
	if e.Cause != nil {
		m.RootCause = rootCause(f)
		m.RootCause.Node, m.RootCause.Reason, m.RootCause.At = e.Cause.Node, e.Cause.Reason, e.Cause.At
		if e.Cause.Node == s.cfg.Node && e.Cause.Round == s.number() && s.verdict.cause >= 0 {
			m = s.verdict.record
		}
	}
	if e.Verdict == exitcodes.Success && s.verdict.record.Verdict == exitcodes.Success {
		return s.verdict.record
	}
	m.Verdict, m.Reason, m.Message, m.ExitCode = e.Verdict, e.Reason, e.Message, e.Code
	m.Restarts = &exitcodes.Restarts{Used: s.budget.Used, Max: s.cfg.MaxRestarts, Preemptions: s.budget.Preemptions}
	if e.Verdict == exitcodes.Retry && s.cfg.RetryCode != 0 {
		m.ExitCode = s.cfg.RetryCode
	}
	return m
}

// findingOf is what another node has found out, as far as it is in the job's record.
func findingOf(cause *rendezvous.Stop) exitcodes.Finding {
	o := cause.Outcome
	return exitcodes.Finding{
		Verdict: o.Verdict, Reason: o.Reason, Message: o.Message, Code: o.Code, Rule: o.Rule, Evidence: o.Evidence,
		Node: cause.Node, Rank: o.Rank, LocalRank: o.LocalRank, ExitCode: o.ExitCode, Signal: o.Signal,
		WorkerCode: o.WorkerCode, At: o.At,
	}
}

func rootCause(f exitcodes.Finding) *exitcodes.RootCause {
	c := &exitcodes.RootCause{
		Node: f.Node, Rank: known(f.Rank), Reason: f.Reason, ExitCode: f.ExitCode, At: f.At,
		Rule: f.Rule, Evidence: f.Evidence,
	}
	if f.Signal != 0 {
		c.Signal = exitcodes.SignalName(f.Signal)
	}
	return c
}

// provisionalRecord is what is left when gangrun is killed before it can say more: with the whole container, by the
// kernel for memory, or by whoever ran out of patience.
func (s *Supervisor) provisionalRecord() exitcodes.Message {
	return s.message(exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonKilled, Code: exitcodes.CodeSignalBase + int(unix.SIGKILL),
		Message: "gangrun was killed while the worker ran, before it could say more",
		Rank:    -1, LocalRank: -1,
	})
}

// refreshAfter is how old the step in the provisional record may become.
const refreshAfter = 10 * time.Second

// refresh brings the provisional record up to date with what the workers have reported.
func (s *Supervisor) refresh(now time.Time) {
	if s.phase != running || s.outside != nil || now.Before(s.refreshed.Add(refreshAfter)) {
		return
	}
	for _, w := range s.workers {
		if w.ended && w.failed() {
			return // the verdict is on its way
		}
	}
	s.refreshed = now
	s.records.write(s.provisionalRecord())
}

// waitingRecord is what is left when this node ends, for whatever reason, while it waits for the others.
func (s *Supervisor) waitingRecord() exitcodes.Message {
	return s.message(exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonKilled, Code: exitcodes.CodeSignalBase + int(unix.SIGKILL),
		Message: "gangrun was killed while it waited for the other nodes", Rank: -1, LocalRank: -1,
	})
}

// stoppingRecord is the same once the end was asked for from outside.
func (s *Supervisor) stoppingRecord() exitcodes.Message {
	return s.message(preempted(s.outside.signal,
		s.outside.what+"; gangrun was killed before the worker had answered"))
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// records is where the records go. Failing to write one never fails the run; it is said once for each place.
type records struct {
	log   *slog.Logger
	file  *termlog.Log
	state *stateWriter
	said  bool
}

func (r *records) open(cfg Config, log *slog.Logger) {
	r.log = log
	if cfg.TerminationLog != "" {
		var err error
		if r.file, err = termlog.Open(cfg.TerminationLog, cfg.MessageMax); err != nil {
			r.complain(err)
		}
	}
	if cfg.StateDir != "" {
		r.state = newStateWriter(cfg.StateDir, cfg.Node, log)
	}
}

func (r *records) write(m exitcodes.Message) {
	r.complain(r.file.Write(m))
	if r.state != nil {
		r.state.write(m)
	}
}

func (r *records) complain(err error) {
	if err != nil && !r.said {
		r.said = true
		r.log.Warn("cannot leave a termination message; the run goes on", "err", err)
	}
}

func (r *records) close() {
	r.complain(r.file.Close())
	if r.state != nil {
		r.state.close()
	}
}

// stateWriter keeps the newest record in the state folder. That is often on a file server, which may take its time or
// hang, and the state's owner must not: so it has a goroutine of its own and skips what is outdated.
type stateWriter struct {
	newest chan exitcodes.Message
	done   chan struct{}
}

func newStateWriter(dir, node string, log *slog.Logger) *stateWriter {
	w := &stateWriter{newest: make(chan exitcodes.Message, 1), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		said := false
		for m := range w.newest {
			if err := termlog.WriteState(dir, node, m); err != nil && !said {
				said = true
				log.Warn("cannot keep the record in the state folder; the run goes on", "err", err)
			}
		}
	}()
	return w
}

func (w *stateWriter) write(m exitcodes.Message) {
	select {
	case <-w.newest: // outdated
	default:
	}
	w.newest <- m // never waits: there is one sender
}

// stateLimit bounds how long the end of the run waits for the state folder.
const stateLimit = 2 * time.Second

// close waits for the last record, but not for ever.
func (w *stateWriter) close() {
	close(w.newest)
	select {
	case <-w.done:
	case <-time.After(stateLimit):
	}
}
