package node

import (
	"time"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/rendezvous"
)

// message is what every termination message has in common, and what a finding says.
func (n *Node) message(f exitcodes.Finding) exitcodes.Message {
	m := exitcodes.Message{
		Verdict: f.Verdict, Reason: f.Reason, Message: f.Message, ExitCode: f.Code,
		Job: n.policy.Job, Node: n.policy.Node, Role: n.policy.Role,
		WorkerExitCode: f.WorkerCode,
		Rank:           known(f.Rank), LocalRank: known(f.LocalRank),
		Restarts:  n.restartsUsed(),
		Step:      n.step(),
		StartedAt: n.policy.StartedAt, RecoverySeconds: n.recovery.Seconds(),
	}
	if n.begin != nil {
		round := n.round()
		m.Round = &round
	}
	if c := n.saved; c != nil {
		m.Checkpoint = &exitcodes.Checkpoint{Path: c.Path, Step: &c.Step, AgeSeconds: n.now.Sub(c.Modified).Seconds()}
	}
	if f.Signal != 0 {
		m.Signal = exitcodes.SignalName(f.Signal)
	}
	return m
}

func (n *Node) restartsUsed() *exitcodes.Restarts {
	return &exitcodes.Restarts{Used: n.budget.Used, Max: n.policy.MaxRestarts, Preemptions: n.budget.Preemptions}
}

// failure is the message of a round that ended here with this finding; the run's, if it is the last.
func (n *Node) failure(f exitcodes.Finding) exitcodes.Message {
	m := n.message(f)
	if f.Verdict == exitcodes.Success {
		return m
	}
	if n.request != nil && f.Verdict == exitcodes.Preempted {
		m.Message = n.noted(m.Message)
	}
	m.LogTail = string(f.Output)
	m.RootCause = rootCause(f)
	switch {
	case !f.CodeOverridden:
	case f.Code == exitcodes.CodeFatalByRule:
		m.Reason = exitcodes.ReasonFatalByRule
	case f.Code == exitcodes.CodeRetryableByRule:
		m.Reason = exitcodes.ReasonRetryableByRule
	}
	if f.Verdict == exitcodes.Retry && n.policy.RetryCode != 0 {
		m.ExitCode = n.policy.RetryCode
	}
	return m
}

// ending is the message of a run that ends for all nodes alike. Where the cause was on this node, its own message about
// the round knows the most of it.
func (n *Node) ending(e *rendezvous.End) exitcodes.Message {
	f := exitcodes.Finding{Rank: -1, LocalRank: -1}
	if e.Cause != nil && e.Cause.Outcome != nil {
		f = e.Cause.Outcome.Finding()
		f.Node = e.Cause.Node
	}
	m := n.message(f)
	if e.Cause != nil {
		m.RootCause = rootCause(f)
		m.RootCause.Node, m.RootCause.Reason, m.RootCause.At = e.Cause.Node, e.Cause.Reason, e.Cause.At
		if e.Cause.Node == n.policy.Node && e.Cause.Round == n.round() && n.verdict.cause >= 0 {
			m = n.verdict.message
		}
	}
	if e.Verdict == exitcodes.Success && n.verdict.message.Verdict == exitcodes.Success {
		return n.verdict.message
	}
	m.Verdict, m.Reason, m.Message, m.ExitCode = e.Verdict, e.Reason, e.Message, e.Code
	m.Restarts = n.restartsUsed()
	if e.Verdict == exitcodes.Suspended {
		m.Message = n.noted(m.Message)
	}
	if e.Verdict == exitcodes.Retry && n.policy.RetryCode != 0 {
		m.ExitCode = n.policy.RetryCode
	}
	return m
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

// killed is the message if gangrun is killed before it can say more: with the whole container, by the kernel for memory, or
// by somebody who ran out of patience.
func killed(message string) exitcodes.Finding {
	return exitcodes.Finding{
		Verdict: exitcodes.Retry, Reason: exitcodes.ReasonKilled, Code: exitcodes.CodeSignalBase + int(SIGKILL),
		Message: message, Rank: -1, LocalRank: -1,
	}
}

func (n *Node) provisionalMessage() exitcodes.Message {
	return n.message(killed("gangrun was killed while the worker ran, before it could say more"))
}

func (n *Node) waitingMessage() exitcodes.Message {
	return n.message(killed("gangrun was killed while it waited for the other nodes"))
}

// stoppingMessage is the same once the end was asked for from outside.
func (n *Node) stoppingMessage() exitcodes.Message {
	return n.message(preempted(n.request.signal, n.request.what+"; gangrun was killed before the worker had answered"))
}

// stoppedBetween is the end of the run by a request from outside that found no worker running.
func (n *Node) stoppedBetween() exitcodes.Message {
	message := n.request.what + " while no worker ran: this node waited for the others"
	switch {
	case !n.ran:
		message = n.request.what + " before the worker was started"
	case n.verdict.cause >= 0:
		message = n.request.what + " while a failed worker was to be restarted"
	case n.policy.Alone:
		message = n.request.what + " while no worker ran"
	}
	return n.failure(preempted(n.request.signal, message))
}

func preempted(sig Signal, message string) exitcodes.Finding {
	return exitcodes.Finding{
		Verdict: exitcodes.Preempted, Reason: exitcodes.ReasonPreempted, Message: message,
		Code: exitcodes.CodeSignalBase + int(sig), Rank: -1, LocalRank: -1,
	}
}

// refreshAfter is how old the step in the provisional message may become.
const refreshAfter = 10 * time.Second

// refresh updates the provisional message with what the workers have reported.
func (n *Node) refresh() {
	if n.state != Running || n.request != nil || n.now.Before(n.refreshed.Add(refreshAfter)) {
		return
	}
	for i := range n.workers {
		if w := &n.workers[i]; w.ended && (w.why != "" || w.accused != "" || w.status != exitcodes.Status{}) {
			return // the verdict is on its way
		}
	}
	n.refreshed = n.now
	n.do(Record{n.provisionalMessage()})
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
