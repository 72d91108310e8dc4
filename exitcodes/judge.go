package exitcodes

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Judge weighs the evidence about one worker, strongest first: what gangrun itself did, the wait status, kills for
// memory, the GPU driver's errors, what torch wrote about its ranks, the rules on the last output, and only then the
// bare exit code.
func Judge(o Outcome, rules *Rules) Finding {
	f := Finding{Node: o.Node, Rank: o.Rank, LocalRank: o.LocalRank, At: o.At, Role: RoleRoot, Output: o.Output}
	if o.meter == nil {
		o.meter = newMeter(len(o.Output) + len(o.ErrorFile))
	}
	if o.Checkpoint != "" {
		return unresumed(f, o)
	}
	if o.NotStarted != "" {
		return notStarted(f, o)
	}
	if o.Hang != nil {
		return hung(f, o, rules)
	}
	if o.Lingered != "" {
		return lingered(f, o)
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
		f.Said = ownWords(f, o, rules, RoleRoot)
		return f
	}
	if o.Status == (Status{}) {
		return succeeded(f, o, rules)
	}
	if ranks, text := reported(o); len(ranks) > 0 {
		return blame(f, o, ranks, text, rules)
	}
	return failed(f, o, rules)
}

// Cause picks, among the findings about several workers, the one that caused the others: the strongest role, then
// the earliest. It returns -1 when none of them failed by itself. [Guilty] looks further where only echoes are known.
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

// Guilty is Cause, and when all that is known is an echo or a suspicion, it reads what the workers that gangrun stopped
// had said about a failure of their own: a rank that has printed its traceback may take longer to end than its peers
// take to miss it. A rank that the echo names comes first. The finding is the one to act on; its index is that of the
// worker, -1 when nobody failed.
func Guilty(findings []Finding) (Finding, int) {
	best := Cause(findings)
	if best < 0 {
		return Finding{}, -1
	}
	echo := findings[best]
	if echo.Role >= RoleRoot {
		return echo, best
	}
	accused := map[int]bool{}
	for _, f := range findings {
		for _, rank := range f.Names {
			accused[rank] = true
		}
	}
	guilty := -1
	for i, f := range findings {
		if f.Said == nil || f.Said.Role < RoleRoot {
			continue
		}
		if guilty < 0 || accused[f.Said.Rank] && !accused[findings[guilty].Said.Rank] {
			guilty = i
		}
	}
	if guilty >= 0 {
		f := *findings[guilty].Said
		f.Other = echo.Evidence
		f.Message += "; the other candidate: " + clip(echo.Evidence)
		return f, guilty
	}
	for i, f := range findings {
		if f.Rank >= 0 && accused[f.Rank] && i != best && f.Verdict != Success {
			echo.Message += fmt.Sprintf("; rank %d is named in it", f.Rank)
		}
	}
	return echo, best
}

// ownWords is what a worker that gangrun stopped would have been judged by, had it ended of what it said before. Nil
// when it had said nothing of a failure in that role, or a stronger one.
func ownWords(f Finding, o Outcome, rules *Rules, least Role) *Finding {
	if len(o.Output) == 0 {
		return nil
	}
	o.Status, o.Stop, o.OOMKills, o.Xids = Status{Code: 1}, NotStopped, 0, nil
	o.Output = before(o.Output, o.Arrived, o.StoppedAt)
	r := newReader(o, rules)
	w := r.uncaught()
	if !w.known && !w.unknown || w.role() < least || w.match.Rule.Verdict == Preempted {
		return nil
	}
	own := Finding{Node: f.Node, Rank: f.Rank, LocalRank: f.LocalRank, At: f.At, Role: RoleRoot, Output: f.Output}
	if own.Rank < 0 { // a launcher, whose lines say whose they are
		own.Rank = r.rankAt(w.at)
	}
	own.Verdict, own.Code, own.Reason = Fatal, 1, ReasonError
	said := own.say(w, o)
	said.Message = said.HadFailed()
	return &said // how it ended is gangrun's doing
}

// HadFailed is the sentence about a worker that gangrun stopped when it had said why it fails: of a finding that is
// [Finding.Said].
func (f Finding) HadFailed() string {
	message := f.who() + " was stopped when it had failed already: " + clip(f.Evidence)
	if f.Rule == "" {
		message += "; no rule knows why"
	}
	return message
}

// before is the part of an output that had arrived at that time; all of it when that is not known.
func before(output []byte, arrived []Arrival, at time.Time) []byte {
	if at.IsZero() {
		return output
	}
	for _, a := range arrived {
		if a.At.After(at) {
			return output[:min(a.Offset, len(output))]
		}
	}
	return output
}

// unresumed judges a worker that did not resume from its checkpoint. gangrun has stopped it, or never started it, so
// its own answer says nothing.
func unresumed(f Finding, o Outcome) Finding {
	f.Verdict, f.Reason, f.Code = Fatal, ReasonCheckpointUnusable, CodeCheckpointUnusable
	if o.Reload {
		f.Verdict, f.Code = Retry, CodeRetryableByRule
	}
	f.Message, f.Evidence = f.who()+" "+o.Checkpoint, o.Checkpoint
	return f
}

// hung judges a worker that got nowhere. What it answered when it was ended says nothing, but it may have said before
// why it fails: then it is that failure, of a process that did not end.
func hung(f Finding, o Outcome, rules *Rules) Finding {
	least := RoleRoot
	if o.Hang.Failed {
		least = RoleCascade
	}
	if said := ownWords(f, o, rules, least); said != nil {
		said.Message = strings.Replace(said.Message, "was stopped when it had failed already", "had failed, and did not end", 1)
		return *said
	}
	f.Verdict, f.Reason, f.Code = Retry, ReasonHang, CodeHang
	f.Message, f.Evidence = f.who()+" "+o.Hang.Why, o.Hang.Evidence
	if f.Evidence == "" {
		f.Role, f.Evidence = RoleSuspect, o.Hang.Why
	}
	if o.Hang.Echo {
		f.Role = RoleCascade
	}
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
		f.Verdict, f.Reason, f.Code, f.NodeFault = Retry, ReasonNodeUnhealthy, CodeNodeUnhealthy, true
	}
	return f
}

func succeeded(f Finding, o Outcome, rules *Rules) Finding {
	f.Verdict, f.Reason, f.Role = Success, ReasonSucceeded, RoleNone
	f.Message = f.who() + " exited 0"
	if len(o.Output) == 0 {
		return f
	}
	r := newReader(o, rules)
	if m, _, found := r.loose(0, len(r.lines), false); found && m.Rule.OnSuccess {
		return f.apply(m, o, 0)
	}
	return f
}

// failed judges a worker that ended with something else than success.
func failed(f Finding, o Outcome, rules *Rules) Finding {
	number := o.Status.Number()
	f.Verdict, f.Code = CodeVerdict(number), number
	f.base(o.Status)
	if o.SharedMemoryFull && number == CodeSignalBase+sigbus {
		f.Reason, f.Evidence = ReasonSharedMemoryFull, "/dev/shm is full"
		f.Message += ": /dev/shm is full"
		return f
	}
	signal := number - CodeSignalBase // as a shell reports it, too
	if signal > 0 && signal <= sigmax && !crash(signal) {
		switch kill := o.killed(); {
		case signal == sigkill && kill != "":
			return f.outOfMemory(number, kill)
		case o.brokenGPU() != nil:
			return f.unhealthy(*o.brokenGPU())
		}
		return f // sent by somebody; no text can explain it better
	}
	if signal == sigabrt {
		f.Role = RoleSuspect // what survivors of another's death die of, unless their words say otherwise
	}
	w := wordsOf(o, rules, signal > 0 && signal <= sigmax)
	gpu, kill := o.brokenGPU(), o.killed()
	switch {
	case gpu != nil && !w.ownFault():
		return f.unhealthy(*gpu)
	case kill != "" && (w.childKilled() || number == 1 && !w.known && !w.unknown):
		f = f.outOfMemory(number, kill)
		f.Other = w.match.Line
		return f
	}
	f = f.say(w, o)
	f.Names = accused(w)
	for _, also := range []string{kill, gpu.orNothing()} {
		if also != "" {
			f.Message += "; besides, " + also
		}
	}
	return f
}

// wordsOf reads what the worker itself said about its end: the error file that torch wrote for it, and its output.
func wordsOf(o Outcome, rules *Rules, crashed bool) (w said) {
	if o.shared != nil && len(o.ErrorFile) == 0 {
		if w, found := o.shared[crashed]; found {
			return w
		}
		defer func() { o.shared[crashed] = w }()
	}
	r := newReader(o, rules)
	defer func() { w.accusations = r.accusations() }()
	if crashed {
		return r.crashWords()
	}
	file, err := ParseErrorFile(o.ErrorFile)
	if err != nil {
		return r.lastWords()
	}
	recorded := o
	recorded.Output, recorded.Arrived, recorded.StepAt = []byte(file.Callstack), nil, time.Time{}
	if !strings.Contains(file.Callstack, traceback) || !strings.Contains(file.Callstack, "rror") {
		recorded.Output = []byte(traceback + "\n" + file.Message + "\n")
	}
	w = newReader(recorded, rules).lastWords()
	if w.known || w.program {
		return w
	}
	w.exception, w.unknown = firstLine(file.Message), true
	if printed := r.lastWords(); printed.known {
		printed.other = w.exception
		return printed
	}
	return w
}

// ownFault reports whether the words tell of something that the program does wrong itself.
func (s said) ownFault() bool {
	return s.known && s.match.Rule.Verdict == Fatal || !s.known && s.unknown && s.program
}

// childKilled reports whether the words are those of somebody whose child was killed.
func (s said) childKilled() bool {
	if !s.known {
		return false
	}
	switch s.match.Rule.Reason {
	case "ChildKilled", "DataLoaderKilled":
		return true
	}
	return false
}

// accusedPattern are the ways in which a rank is named that did not come: where another had to wait for it.
var accusedPattern = lazy(`\[(\d{1,6})\] finished collective #\d+, but didn't join collective #\d+|` +
	`Ranks? (\d{1,6}(?:, \d{1,6})*) failed to pass monitoredBarrier|` +
	`jax_worker/replica:\d{1,6}/task:(\d{1,6})\b(?: has been set to ERROR| heartbeat timeout|$)`)

const mostNamed = 64

// accused are the ranks that the words name: "[7] finished collective #182, but didn't join collective #183".
func accused(w said) []int {
	var ranks []int
	for _, l := range w.accusations {
		for _, m := range accusedPattern().FindAllStringSubmatch(l, 64) {
			for rank := range strings.SplitSeq(strings.Join(m[1:], ""), ", ") {
				if len(ranks) == mostNamed {
					return ranks
				}
				if n, err := strconv.Atoi(rank); err == nil && !slices.Contains(ranks, n) {
					ranks = append(ranks, n)
				}
			}
		}
	}
	return ranks
}

// say lets the worker's own words decide, as far as something knows them.
func (f Finding) say(w said, o Outcome) Finding {
	own := o.Status.Number()
	if w.known {
		f = f.apply(w.match, o, own)
		if f.Other = w.other; w.other != "" && w.other != w.match.Line {
			f.Message += "; the other candidate: " + clip(w.other)
		}
		return f
	}
	if f.Signal != 0 || own >= CodeSignalBase || own >= CodeNotExecutable {
		if w.exception != "" && f.Signal == 0 && w.program {
			f.Evidence = w.exception
			f.Message += ": " + clip(w.exception)
		}
		return f
	}
	f.Unknown = true
	if w.exception != "" {
		f.Evidence = w.exception
		f.Message += ": " + clip(w.exception)
	}
	if o.OnUnknown == UnknownRetry || o.OnUnknown == UnknownRetryAfterProgress && o.Progressed == Yes {
		f.Verdict, f.Code, f.CodeOverridden = Retry, CodeFor(Retry, own), true
		f.Message += "; no rule knows why, and --unknown " + string(o.OnUnknown) + " makes it a retry"
		return f
	}
	f.Message += "; no rule knows why"
	return f
}

// outOfMemory says that the kernel killed for memory.
func (f Finding) outOfMemory(number int, kill string) Finding {
	f.Reason, f.Verdict, f.Evidence = ReasonOOMKilled, Retry, kill
	if f.Code = number; number < CodeSignalBase {
		f.Code = CodeSignalBase + sigkill // the code of the process that the kernel killed
	}
	f.Message += ": the kernel killed for memory (OOM)"
	return f
}

// unhealthy says that the GPU is broken, so that the job must run elsewhere.
func (f Finding) unhealthy(x Xid) Finding {
	f.Reason, f.Verdict, f.Code, f.NodeFault = ReasonNodeUnhealthy, Retry, CodeNodeUnhealthy, true
	f.Evidence = x.String()
	f.Message += ": the GPU driver reported " + f.Evidence
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
	f.CodeOverridden = f.Code != own && f.Verdict != Preempted
	f.Message = fmt.Sprintf("%s %s: %s", f.who(), answer(o.Status), clip(m.Line))
	return f
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
