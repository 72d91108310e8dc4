package exitcodes

import "time"

// ownWords is what a worker that gangrun stopped would have been judged by, had it ended of what it said before. Nil
// when it had said nothing of a failure in that role, or a stronger one.
func ownWords(f Finding, o Outcome, rules *Rules, least Role) *Finding {
	if len(o.Output) == 0 && len(o.ErrorFile) == 0 {
		return nil
	}
	o.Status, o.Stop, o.OOMKills, o.Xids = Status{Code: 1}, NotStopped, 0, nil
	o.Output, o.shared = before(o.Output, o.Arrived, o.StoppedAt), nil
	r := newReader(o, rules)
	w := r.uncaught()
	if file, found := o.record(r, false); found {
		recorded := file.read(o, rules)
		if recorded.at = len(r.lines); recorded.role() > w.role() && o.writtenBefore(file, recorded) {
			w = recorded
		}
	}
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

// writtenBefore reports whether a record was there before the stop, and is no answer to it. It has whole seconds: within
// the stop's own, only what nobody answers with counts.
func (o Outcome) writtenBefore(file ErrorFile, w said) bool {
	if o.StoppedAt.IsZero() || file.At.IsZero() {
		return o.StoppedAt.IsZero()
	}
	stop := o.StoppedAt.Truncate(time.Second)
	return file.At.Before(stop) || file.At.Equal(stop) && (w.known || w.program)
}

// HadFailed is the sentence about a worker that gangrun stopped when it had said why it fails: of a finding that is
// [Finding.Said].
func (f Finding) HadFailed() string {
	message := f.who() + " was stopped when it had failed already: " + clip(f.Evidence)
	if f.Rule == "" {
		message += "; no rule explains it"
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
