package supervisor

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/supervisor/evidence"
)

// judge says why the round ended here. What follows from it is not decided here.
func (s *Supervisor) judge() verdict {
	findings := s.findings()
	cause := exitcodes.Cause(findings)
	if cause >= 0 {
		return s.afterFailure(findings[cause], cause)
	}
	return s.withoutFailure(findings)
}

// afterFailure is the verdict on a round in which a worker failed by itself.
func (s *Supervisor) afterFailure(f exitcodes.Finding, cause int) verdict {
	attrs := []any{"verdict", f.Verdict, "reason", f.Reason}
	if f.Rule != "" {
		attrs = append(attrs, "rule", f.Rule)
	}
	s.log.Error(f.Message, append(attrs, "evidence", f.Evidence)...)
	v := verdict{cause: cause, outcome: outcomeOf(f), record: s.failure(f)}
	switch {
	case s.outside != nil && f.Verdict == exitcodes.Retry && !s.cfg.StopVerdictWorker:
		v.record = s.stoppedBetween()
		s.final = &v.record
	case s.outside != nil:
		s.final = &v.record
	case f.Elsewhere: // a restart in place would only fail again: the job goes on without this node
		s.final = &v.record
		s.cfg.Agent.Leave()
	}
	return v
}

// withoutFailure is the verdict on a round in which no worker failed by itself: all succeeded, or they were stopped.
func (s *Supervisor) withoutFailure(findings []exitcodes.Finding) verdict {
	f := findings[0]
	for _, g := range findings {
		if g.Verdict == exitcodes.Preempted {
			f = g
		}
	}
	v := verdict{cause: -1, record: s.failure(f)}
	switch {
	case s.outside != nil && f.Verdict == exitcodes.Retry && !s.cfg.StopVerdictWorker:
		// It came while the workers were being stopped for the others' sake: their answers are to that.
		v.record = s.stoppedBetween()
		v.outcome = outcomeOf(preempted(s.outside.signal, v.record.Message))
		s.final = &v.record
	case s.outside != nil: // the answer to it, whatever it is
		v.outcome = outcomeOf(f)
		s.final = &v.record
	case !slices.ContainsFunc(s.workers, func(w *worker) bool { return w.stop != exitcodes.NotStopped }):
		v.outcome = outcomeOf(f)
	default: // stopped for the others' sake
		v.record = s.waitingRecord()
	}
	return v
}

// findings judges each worker by all the evidence there is now.
func (s *Supervisor) findings() []exitcodes.Finding {
	known := s.evidence()
	findings := make([]exitcodes.Finding, len(s.workers))
	for i, w := range s.workers {
		w.finding = s.finding(w, known)
		findings[i] = w.finding
	}
	return findings
}

// evidence is what the machine knows, about whichever worker.
func (s *Supervisor) evidence() exitcodes.Outcome {
	o := exitcodes.Outcome{Node: s.cfg.Node, Xids: s.kernelLog.Xids(), Kills: s.kernelLog.Kills(), OnUnknown: s.cfg.OnUnknown}
	if s.step() != nil {
		o.Progressed = exitcodes.Yes
	}
	if n, ok := s.memory.OOMKills(); ok {
		o.OOMKills = n - s.oomKillsBefore
	}
	if shm, ok := evidence.SharedMemory(); ok {
		o.SharedMemoryFull = shm.Full()
	}
	return o
}

// finding judges one worker; o is what the machine knows.
func (s *Supervisor) finding(w *worker, o exitcodes.Outcome) exitcodes.Finding {
	o.Rank, o.LocalRank, o.At = w.spec.Rank, w.spec.LocalRank, w.at
	o.Status, o.NotStarted, o.Stop = w.status, w.notStarted, w.stop
	o.Checkpoint, o.Reload = w.unresumed, w.pid == 0 || s.cfg.SilentRestart == SilentRestartFallback
	if s.outside != nil {
		o.StopSignal = int(s.outside.signal)
	}
	rules := exitcodes.NoRules()
	switch {
	case o.Stop == exitcodes.StoppedOutside && s.cfg.StopVerdictWorker:
		// A plain init's view: the status alone.
		o = exitcodes.Outcome{Node: o.Node, Rank: o.Rank, LocalRank: o.LocalRank, At: o.At, Status: o.Status}
	case o.Stop == exitcodes.StoppedOutside:
		o.Output = w.tailBytes()
	case o.Stop == exitcodes.NotStopped && w.notStarted == "":
		w.tailBytes() // waits for what is still in the pipes
		o.Output, o.Arrived = w.tail.Read()
		w.errorData = w.readErrorFile()
		o.ErrorFile = w.errorData
		if w.failed() || len(o.Output) > 0 { // to read the rules takes longer than a short command does
			rules = s.cfg.Rules()
		}
	}
	f := exitcodes.Judge(o, rules)
	if o.Stop == exitcodes.StoppedOutside {
		f.Message, f.Evidence = s.outside.named(f.Message), s.outside.named(f.Evidence)
	}
	return f
}

// stoppedBetween is the end of the run by a call from outside that found no worker running.
func (s *Supervisor) stoppedBetween() exitcodes.Message {
	message := s.outside.what + " before the worker was started"
	switch {
	case s.round == nil:
	case s.verdict.cause >= 0:
		message = s.outside.what + " while a failed worker was to be restarted"
	default:
		message = s.outside.what + " while no worker ran: this node waited for the others"
	}
	return s.failure(preempted(s.outside.signal, message))
}

func preempted(sig unix.Signal, message string) exitcodes.Finding {
	return exitcodes.Finding{
		Verdict: exitcodes.Preempted, Reason: exitcodes.ReasonPreempted, Message: message,
		Code: exitcodes.CodeSignalBase + int(sig), Rank: -1, LocalRank: -1,
	}
}
