package exitcodes

import (
	"bytes"
	"strconv"
)

var srunExit = lazy(`(?m)^srun: error: \S+: tasks? [\d,-]+: Exited with exit code (\d+)\s*$`)

// failedTask is the code with which a task ended by itself, where srun tells it and has ended the other tasks by a signal: what
// srun exits with is the highest code of all. found is false where a signal is all that there is.
func failedTask(o Outcome) (code int, found bool) {
	if n := o.Status.Code - CodeSignalBase; o.Status.Signal != 0 || n != sigterm && n != sigkill || !bytes.Contains(o.Output, []byte("srun: error: ")) {
		return 0, false
	}
	o.meter.pass(2, len(o.Output))
	m := srunExit().FindSubmatch(o.Output)
	if m == nil {
		return 0, false
	}
	code, err := strconv.Atoi(string(m[1]))
	return code, err == nil && code > 0 && code < CodeNotExecutable
}

// leftByItself reports whether srun tells in line i of tasks that it had killed, since the step had ended by then: a task had left it by MPI_Abort, or
// had exited with a code of its own.
func (r *reader) leftByItself(i int) bool {
	cancelled, exited := false, false
	for j := i - 1; j >= 0 && i-j <= fresh; j-- {
		l := &r.lines[j]
		cancelled = cancelled || l.says("slurmstepd") && endedBySlurm(l)
		if exited = exited || l.says("srun: error: ") && srunExit().Match(l.text); exited && cancelled {
			return true
		}
		if cancelled && l.contains("application called MPI_Abort(", "MPI_ABORT was invoked on rank") {
			return true
		}
	}
	return false
}

// ofTask judges srun by the task that has failed. What nothing explains is no worse for that: it stays what the code says.
func (f Finding) ofTask(o Outcome, task int, rules *Rules) Finding {
	own := o.Status
	o.Status = Status{Code: task}
	of := failed(f, o, rules)
	if of.Rule == "srun.killed" { // which srun did because of that task
		return f
	}
	if of.Unknown {
		f.Evidence = of.Evidence
		f.also("a task " + answer(o.Status) + ": " + clip(of.Evidence))
		return f
	}
	if of.Verdict != Preempted {
		of.Code = CodeFor(of.Verdict, own.Number())
		of.CodeOverridden = of.Code != own.Number()
	}
	return of
}
