package exitcodes

import (
	"strings"
	"time"
)

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
