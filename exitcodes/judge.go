package exitcodes

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Judge weighs the evidence about one worker, strongest first: what gangrun itself did, the wait status, kills for
// memory, the GPU driver's errors, what torch wrote about its ranks, the rules on the last output, and only then the
// bare exit code.
func Judge(o Outcome, rules *Rules) Finding {
	f := Finding{Node: o.Node, Rank: o.Rank, LocalRank: o.LocalRank, At: o.At, Role: RoleRoot, Output: o.Output}
	if o.Checkpoint != "" {
		return unresumed(f, o)
	}
	if o.NotStarted != "" {
		return notStarted(f, o)
	}
	number := o.Status.Number()
	f.Signal = o.Status.Signal
	if f.Signal == 0 {
		f.ExitCode, f.WorkerCode = &number, &number
	}
	switch o.Stop {
	case StoppedOutside:
		f.Verdict, f.Reason, f.Role = Preempted, ReasonPreempted, RoleNone
		f.Code = CodeSignalBase + o.StopSignal
		f.Message = fmt.Sprintf("%s from outside, after which %s %s", SignalName(o.StopSignal), f.who(), answer(o.Status))
		f.Evidence = SignalName(o.StopSignal) + " from outside"
		return f
	case StoppedByGang:
		f.Verdict, f.Reason, f.Role, f.Code = Retry, ReasonError, RoleNone, CodeFor(Retry, number)
		f.Message = f.who() + " was stopped because another worker had failed"
		f.Evidence = "stopped by gangrun"
		return f
	}
	if o.Status == (Status{}) {
		return succeeded(f, o, rules)
	}
	if ranks, text := reported(o); len(ranks) > 0 {
		return blame(f, o, ranks, text, rules)
	}
	return failed(f, o, o.Output, rules)
}

// Cause picks, among the findings about several workers, the one that caused the others: the strongest role, then
// the earliest. It returns -1 when none of them failed by itself.
func Cause(findings []Finding) int {
	best := -1
	for i, f := range findings {
		if f.Verdict == Success || f.Role == RoleNone {
			continue
		}
		if best < 0 || f.Role > findings[best].Role ||
			f.Role == findings[best].Role && f.At.Before(findings[best].At) {
			best = i
		}
	}
	return best
}

// unresumed judges a worker that did not go on from its checkpoint. gangrun has stopped it, or never started it, so its
// own answer says nothing.
func unresumed(f Finding, o Outcome) Finding {
	f.Verdict, f.Reason, f.Code = Fatal, ReasonCheckpointUnusable, CodeCheckpointUnusable
	if o.Reload {
		f.Verdict, f.Code = Retry, CodeRetryableByRule
	}
	f.Message, f.Evidence = f.who()+" "+o.Checkpoint, o.Checkpoint
	return f
}

func notStarted(f Finding, o Outcome) Finding {
	f.Message, f.Evidence = o.NotStarted, o.NotStarted
	switch o.Status.Code {
	case CodeNotFound:
		f.Verdict, f.Reason, f.Code = Fatal, ReasonNotFound, CodeNotFound
	case CodeNotExecutable:
		f.Verdict, f.Reason, f.Code = Fatal, ReasonNotExecutable, CodeNotExecutable
	default: // no processes or memory left: the machine's trouble
		f.Verdict, f.Reason, f.Code, f.Elsewhere = Retry, ReasonNodeUnhealthy, CodeNodeUnhealthy, true
	}
	return f
}

func succeeded(f Finding, o Outcome, rules *Rules) Finding {
	f.Verdict, f.Reason, f.Role = Success, ReasonSucceeded, RoleNone
	f.Message = f.who() + " exited 0"
	if m, found := rules.search(o.Output, 0); found {
		return f.apply(m, o, 0)
	}
	return f
}

// failed judges a worker that ended with something else than success. text is the output that is its own.
func failed(f Finding, o Outcome, text []byte, rules *Rules) Finding {
	number := o.Status.Number()
	f.Verdict, f.Code = CodeVerdict(number), number
	f.base(o.Status)
	if o.OOMKills > 0 {
		f.Reason, f.Verdict = ReasonOOMKilled, Retry
		f.Evidence = fmt.Sprintf("the container's cgroup counted %s since the start", plural(o.OOMKills, "kill for memory", "kills for memory"))
		if f.Code = number; number < CodeSignalBase {
			f.Code = CodeSignalBase + sigkill // the code of the process that the kernel killed
		}
		f.Message += ": the kernel killed for memory (OOM)"
		return f
	}
	if o.SharedMemoryFull && number == CodeSignalBase+sigbus {
		f.Reason, f.Evidence = ReasonSharedMemoryFull, "/dev/shm is full"
		f.Message += ": /dev/shm is full"
		return f
	}
	if i := slices.IndexFunc(o.Xids, Xid.Broken); i >= 0 {
		f.Reason, f.Verdict, f.Code, f.Elsewhere = ReasonNodeUnhealthy, Retry, CodeNodeUnhealthy, true
		f.Evidence = o.Xids[i].String()
		f.Message += ": the GPU driver reported " + f.Evidence
		return f
	}
	signal := number - CodeSignalBase // as a shell reports it, too
	if signal > 0 && signal <= sigmax && !crash(signal) {
		return f // sent by somebody; no text can explain it better
	}
	if signal == sigabrt {
		f.Role = RoleSuspect // what survivors of another's death die of, unless their words say otherwise
	}
	return f.read(o, text, rules)
}

// read lets the worker's own words speak. code is its exit code, or -1.
func (f Finding) read(o Outcome, text []byte, rules *Rules) Finding {
	code := -1
	if o.Status.Signal == 0 {
		code = o.Status.Code
	}
	w := lastWords(o.ErrorFile, text, rules, code)
	switch {
	case w.match.Rule.Role != RoleNone:
		return f.apply(w.match, o, o.Status.Number())
	case w.exception != "" && f.Signal == 0:
		f.Evidence = w.exception
		f.Message += ": " + clip(w.exception)
	}
	return f
}

// apply lets a rule explain the end, and decide it where it has a verdict.
func (f Finding) apply(m Match, o Outcome, own int) Finding {
	r := m.Rule
	f.Role, f.Rule, f.Evidence = r.Role, r.Name, m.Line
	if v := r.Verdict; v != "" {
		f.Verdict = v
	}
	if r.AfterProgress != "" && o.Progressed == Yes {
		f.Verdict = r.AfterProgress
	}
	if f.Verdict == Fatal && r.Role < RoleRoot {
		f.Verdict = Retry // what may be the result of a failure elsewhere is never fatal
	}
	if r.Reason != "" {
		f.Reason = r.Reason
	}
	if f.Code = CodeFor(f.Verdict, own); f.Verdict == Preempted {
		f.Code = CodeSignalBase + m.signal()
	}
	f.Overruled = f.Code != own && f.Verdict != Preempted
	f.Message = fmt.Sprintf("%s %s: %s", f.who(), answer(o.Status), clip(m.Line))
	return f
}

// reported splits a worker that reports about its own workers, as torchrun does, into those: one outcome each, with
// the text that belongs to it. A death by signal, or a code that says retry by itself, needs no report.
func reported(o Outcome) (ranks []Outcome, text []byte) {
	failures, text := ParseReport(o.Output)
	if o.Status.Signal != 0 || o.Status.Code >= CodeSignalBase {
		return nil, o.Output
	}
	killed := slices.ContainsFunc(failures, func(r ReportedFailure) bool { return r.Status.Signal == sigkill })
	for _, r := range failures {
		rank := o
		rank.Rank, rank.LocalRank, rank.Status = r.Rank, r.LocalRank, r.Status
		words, own := linesOf(text, r.Rank, r.LocalRank)
		if !own && r.Status.Signal != 0 && r.Status.Signal != sigabrt {
			words = nil // somebody else's: who dies of a signal seldom says something
		}
		rank.Output = slices.Concat(words, []byte(r.Traceback))
		rank.ErrorFile = nil // it is the first failure's, and its traceback is in the report
		if !r.At.IsZero() {
			rank.At = r.At
		}
		if r.Status.Signal == sigterm && !r.First {
			rank.Stop = StoppedByGang // torchrun closing down the others
		}
		if len(failures) == 1 {
			rank.ErrorFile = o.ErrorFile
		}
		if killed && r.Status.Signal != sigkill {
			rank.OOMKills = 0 // the kernel killed another rank
		}
		ranks = append(ranks, rank)
	}
	return ranks, text
}

// blame finds the cause among the ranks that f reported, and makes it f's own.
func blame(f Finding, o Outcome, ranks []Outcome, text []byte, rules *Rules) Finding {
	findings := make([]Finding, len(ranks))
	for i, rank := range ranks {
		findings[i] = Judge(rank, rules)
	}
	// Whole seconds are all that the report tells. Within one, a bare exit code explains less than anything else.
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.bareness(), b.bareness()))
	})
	i := Cause(findings)
	if i < 0 {
		return failed(f, o, text, rules)
	}
	cause := findings[i]
	cause.At, cause.Node = o.At, o.Node
	cause.WorkerCode = f.WorkerCode
	cause.Message = fmt.Sprintf("%s (the launcher exited %d)", cause.Message, o.Status.Code)
	if len(cause.Output) == 0 {
		cause.Output = text
	}
	return cause
}

// base fills in what the status says by itself.
func (f *Finding) base(s Status) {
	f.Message = f.who() + " " + answer(s)
	f.Evidence = answer(s)
	switch {
	case s.Signal != 0:
		f.Reason = SignalReason(s.Signal)
	case s.Code == CodeNotFound:
		f.Reason = ReasonNotFound
	case s.Code == CodeNotExecutable:
		f.Reason = ReasonNotExecutable
	default:
		f.Reason = ReasonError
	}
}

// bareness is 1 when nothing but the exit code is known.
func (f Finding) bareness() int {
	if f.Rule == "" && f.Signal == 0 && f.WorkerCode != nil && f.Evidence == answer(Status{Code: *f.WorkerCode}) {
		return 1
	}
	return 0
}

func (f Finding) who() string {
	if f.Rank >= 0 {
		return fmt.Sprintf("rank %d", f.Rank)
	}
	return "the worker"
}

func answer(s Status) string {
	switch {
	case s.Signal != 0:
		return "was killed by " + SignalName(s.Signal)
	case s.Code > CodeSignalBase && s.Code <= CodeSignalBase+sigmax:
		return fmt.Sprintf("exited %d (as a shell reports %s)", s.Code, SignalName(s.Code-CodeSignalBase))
	}
	return fmt.Sprintf("exited %d", s.Code)
}

// crash reports whether the signal comes from within: a process that dies of it may have said why.
func crash(signal int) bool {
	switch signal {
	case sigill, sigtrap, sigabrt, sigbus, sigfpe, sigsegv, sigsys:
		return true
	}
	return false
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

// clip bounds a line that goes into a sentence.
func clip(line string) string {
	const most = 300
	line = string(bytes.ToValidUTF8([]byte(line), []byte("?")))
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
