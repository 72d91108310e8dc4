package exitcodes

import (
	"strings"
	"time"
)

// wordsOf reads what the worker itself said about its end: the exception that torch recorded of it, and its output.
func wordsOf(o Outcome, rules *Rules, crashed bool) (w said) {
	if o.shared != nil && len(o.ErrorFile) == 0 && o.recorded == nil {
		if w, found := o.shared.words[crashed]; found {
			return w
		}
		defer func() { o.shared.words[crashed] = w }()
	}
	r := newReader(o, rules)
	defer func() { w.accusations, w.trained = r.accusations(), o.Progressed == Unknown && r.trained() }()
	printed := r.lastWords
	if crashed {
		printed = r.crashWords
	}
	file, found := o.record(r, crashed)
	if !found {
		w = printed()
		if crashed && (!w.known && !w.unknown || w.childKilled()) { // a shell's word about this very death says less
			if told := r.crashTold(o.Status.Number() - CodeSignalBase); !w.known || told != r.toldDeath(o.Status.Number()-CodeSignalBase) {
				w = said{told: told}
			}
		}
		return o.attributed(r.weighed(r.childAborted(w)))
	}
	if crashed {
		o.Status = Status{Code: uncaught}
	}
	w = file.read(o, rules)
	w.ended = crashed // what is recorded has left the program's main function
	if w.known || w.program {
		return w
	}
	w.exception, w.unknown = firstLine(file.Message), true
	if p := printed(); p.known {
		p.other = w.exception
		return p
	}
	return r.weighed(w)
}

// record is what torch recorded of the exception that ended this process: not what another one had left at that path,
// nor what the program got over.
func (o Outcome) record(r *reader, crashed bool) (ErrorFile, bool) {
	file, err := ParseErrorFile(o.ErrorFile)
	switch {
	case err != nil && o.recorded == nil:
		return ErrorFile{}, false
	case err != nil:
		return *o.recorded, true
	case file.ErrorCode != 0: // a launcher passes it on
		return file, true
	case !file.At.IsZero() && file.At.Before(o.StartedAt.Truncate(time.Second)), r.wentOnSince(file.At, o.StepAt, crashed):
		return ErrorFile{}, false
	}
	return file, true
}

// read judges the exception by its traceback, or by its message alone.
func (file ErrorFile) read(o Outcome, rules *Rules) said {
	o.Arrived, o.StepAt, o.died, o.shared = nil, time.Time{}, time.Time{}, nil
	o.Output = []byte(file.Callstack)
	if !strings.Contains(file.Callstack, traceback) || !strings.Contains(file.Callstack, "rror") {
		o.Output = []byte(traceback + "\n" + file.Message + "\n")
	}
	return newReader(o, rules).lastWords()
}

// attributed takes words from lines that are nobody's only where they are the end of a program: whoever dies of a crash
// seldom says something, and other ranks may have.
func (o Outcome) attributed(w said) said {
	if o.nobodys && (!w.ended || w.role() < RoleRoot) {
		return said{accusations: w.accusations}
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
