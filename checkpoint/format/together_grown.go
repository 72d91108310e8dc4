package format

// grown takes a count that could as well say how much there will be for the step where it grows with the numbers in the names of
// the saves of a series: what was planned does not.
func grown(cs []*Checkpoint) {
	grows, shrinks := map[string]bool{}, map[string]bool{} // by series and key
	for i, a := range cs {
		for _, b := range cs[i+1:] {
			if a.save == nil || b.save == nil || a.bowed.key == "" || a.series != b.series || a.bowed.key != b.bowed.key || a.bowed.unit != b.bowed.unit {
				continue
			}
			name, count := a.save.title.step-b.save.title.step, a.bowed.n-b.bowed.n
			key := a.series + "|" + a.bowed.key
			grows[key] = grows[key] || name*count > 0
			shrinks[key] = shrinks[key] || name != 0 && name*count <= 0
		}
	}
	for _, c := range cs {
		if key := c.series + "|" + c.bowed.key; c.bowed.key != "" && grows[key] && !shrinks[key] {
			c.Step, c.Unit, c.StepFrom = c.bowed.n, c.bowed.unit, StepFromContent
		}
	}
}
