package exitcodes

// asserted looks, where an exception is about the state of a device, for what had brought it there: an assertion that failed on
// it, or the driver's word. Whatever the library called next has told of it; which assertion it was only its own line says.
func (r *reader) asserted(s said) (said, bool) {
	triggered := s.match.Rule.Reason == "CUDAAssert"
	if s.match.Rule.Reason != "CUDAError" && !triggered {
		return s, false
	}
	for i := r.explainsFrom(s.at); i < len(r.lines); i++ {
		if rule := r.lines[i].rule; rule != nil && (!triggered || r.lines[i].contains(" Assertion `")) && breaksDevice(rule.Reason) && r.lines[i].kind != kindSurvived && !r.inside[i] {
			if triggered {
				s.match.Line += "; " + r.lines[i].shown()
				return s, true
			}
			return said{match: Match{Rule: *rule, Line: r.lines[i].shown()}, known: true, at: i, other: s.match.Line}, true
		}
	}
	return s, false
}

func breaksDevice(reason string) bool {
	return reason == "CUDAAssert" || reason == "GPUXid" || reason == "GPULost"
}
