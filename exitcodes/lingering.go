package exitcodes

import "bytes"

// SaysEnd reports whether the last words of a worker that still runs are those of a program that has ended: an exception
// that nobody caught, and nothing after it. line is what ended it. That the worker ends is for the caller to await: what
// is printed from where a program begins, and then survived, looks the same.
func SaysEnd(o Outcome, rules *Rules) (line string, ended bool) {
	if !bytes.Contains(o.Output, []byte(traceback)) {
		return "", false // most have none, and the rest takes time
	}
	o.Status, o.Stop = Status{Code: 1}, NotStopped
	r := newReader(o, rules)
	final := r.finalChains()
	for i := len(final) - 1; i >= 0; i-- { // the first of several ranks that share an output
		c := &r.chains[final[i]]
		if !r.looksUncaught(c) || r.goesOnAfter(c) {
			continue
		}
		if s := r.judgeStream(final[i]); !s.known || s.match.Rule.Verdict != Preempted {
			return r.lines[c.last().lines[0]].shown(), true
		}
	}
	return "", false
}

// lingered judges a worker that had said it was done, and that gangrun has ended because it did not do so itself.
func lingered(f Finding, o Outcome) Finding {
	f.Verdict, f.Reason, f.Role = Success, ReasonSucceeded, RoleNone
	f.Message = f.who() + " had finished, and was ended since it did not end by itself"
	f.Evidence = o.Lingered
	return f
}
