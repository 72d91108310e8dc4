package exitcodes

// notSetUp finds why what the exception of chain c misses, as it says, was not set up: the same process had said right before that setting
// it up had failed, of a condition that passes.
func (r *reader) notSetUp(c *chain, s said) (said, bool) {
	if s.known || !r.rules.families || !r.lines[s.at].contains("not been initialized", " is not initialized", "not been set up") || c.begin == 0 {
		return s, false
	}
	t, found := r.saidBefore(c.begin)
	if !found || t.match.Rule.Verdict != Retry || r.lines[t.at].tag != c.tag || r.lines[t.at].kind != kindLast {
		return s, false
	}
	t.other = s.exception
	return t, true
}
