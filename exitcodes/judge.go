package exitcodes

import (
	"bytes"
	"fmt"
	"strconv"
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
	if ranks, rest := reported(o); len(ranks) > 0 {
		return blame(f, ranks, rest, rules)
	}
	return failed(f, o, rules)
}

// failed judges a worker that ended with something else than success.
func failed(f Finding, o Outcome, rules *Rules) Finding {
	number := o.Status.Number()
	f.Verdict, f.Code = CodeVerdict(number), number
	f.base(o.Status)
	f = f.deathTold(o.told)
	if o.SharedMemoryFull && number == CodeSignalBase+sigbus {
		f.Reason, f.Evidence = ReasonSharedMemoryFull, "/dev/shm is full"
		f.Message += ": /dev/shm is full"
		return f
	}
	if task, found := failedTask(o); found {
		return f.ofTask(o, task, rules)
	}
	signal := o.signal()
	child := raisedInChild(o)
	if signal > 0 && !crash(signal) {
		switch kill := o.killed(); {
		case signal == sigkill && kill != "":
			return f.outOfMemory(number, kill)
		case o.brokenGPU() != nil:
			return f.unhealthy(*o.brokenGPU())
		}
		w, told, found := sentBy(o, rules, signal)
		switch {
		case found:
			return f.say(w, o)
		case child != nil:
			o.Output, o.Arrived, o.Status = child, nil, Status{Code: uncaught}
			if w, found := raisedByChild(o, rules); found {
				w.ended = true
				f.Verdict, f.Code, f.Reason, f.Role = Fatal, uncaught, ReasonError, RoleRoot
				f.Message += " after an exception of its worker"
				return f.say(w, o)
			}
			return f.deathTold(told)
		case !stoppedByPALS(o):
			return f.deathTold(told) // sent by somebody; no other text can explain it better
		}
		signal = 0
	}
	if signal == sigabrt {
		f.Role = RoleSuspect // what survivors of another's death die of, unless their words say otherwise
	}
	w := wordsOf(o, rules, signal > 0)
	gpu, kill := o.brokenGPU(), o.killed()
	switch {
	case gpu != nil && !w.ownFault():
		return f.unhealthy(*gpu)
	case kill != "" && (w.childKilled() || number == 1 && !w.known && !w.unknown):
		f = f.outOfMemory(number, kill)
		f.Other = w.match.Line
		return f
	}
	if w.ended {
		f.Verdict, f.Code, f.Reason, f.Role = Fatal, uncaught, ReasonError, RoleRoot
		f.Message += " on its way out after an exception"
	}
	f = f.say(w, o)
	f.Names, f.Hosts = accused(w), hostsNamed(w)
	for _, also := range []string{kill, gpu.orNothing()} {
		if also != "" {
			f.also("besides, " + also)
		}
	}
	return f
}

// signal is the one that ended the worker, by the wait status or, as a shell reports it, by the exit code; 0 where none did. Codes of
// real-time signals, which nobody sends, are a program's own, and so is the number of an error that a program in Fortran exits with.
func (o Outcome) signal() int {
	number := o.Status.Number()
	signal := max(0, number-CodeSignalBase)
	if o.Status.Signal == 0 && signal > 0 && (signal >= sigrtmin || bytes.Contains(o.Output, []byte("forrtl: severe ("+strconv.Itoa(number)+"): "))) {
		return 0
	}
	return signal
}

// deathTold takes the line that tells of the death for the evidence, where nothing says why it died.
func (f Finding) deathTold(line string) Finding {
	if line != "" {
		f.Evidence, f.told = line, line
	}
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
