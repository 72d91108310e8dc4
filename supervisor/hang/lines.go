package hang

// settled reports whether the time between two steps says how long the next one may take: somebody tells each of them, or lines
// have come for long enough at the same pace. Not every step has a line: programs show each of the first ten, and then one in a
// hundred, or the steps 1, 10, 100.
func (d *Detector) settled() bool {
	lines := false
	for i := range d.workers {
		for _, r := range d.workers[i].ranks {
			if r.steps > 0 && (!r.line || r.calm >= Calm) {
				return true
			}
			lines = lines || r.line
		}
	}
	return !lines
}

// unsettle takes that the time between two steps has grown.
func (d *Detector) unsettle() {
	for i := range d.workers {
		for _, r := range d.workers[i].ranks {
			r.calm = 0
		}
	}
}
