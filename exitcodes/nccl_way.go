package exitcodes

// ncclWay reads the way by which NCCL passes an error up through its own source, where nothing else is left of what it said: the
// number at its end says what it was. Wrong arguments (4) and wrong usage (5) are the caller's.
func (r *reader) ncclWay() (said, bool) {
	for i := len(r.lines) - 1; i >= 0 && i >= len(r.lines)-fresh; i-- {
		l := &r.lines[i]
		if l.kind == kindWork {
			break
		}
		if l.rule == nil || l.rule.Name != "noise.nccl_way" || !r.meter.afford(1, len(l.text)) {
			continue
		}
		if m := wayNumber().FindSubmatch(l.text); m != nil {
			f := transient("collective", "NCCLError", RoleCascade)
			return said{match: Match{Rule: f.rule(), Line: r.warnedOfWay(i)}, known: true, at: i}, true
		}
		break
	}
	return said{}, false
}

// warnedOfWay is NCCL's warning of what went wrong, from which the way in line i begins, or that line where there is none.
func (r *reader) warnedOfWay(i int) string {
	for j := i - 1; j >= 0 && i-j <= maxWay; j-- {
		l := &r.lines[j]
		if l.contains("NCCL WARN ") {
			return l.shown()
		}
		if !l.blank() && (l.rule == nil || l.rule.Name != "noise.nccl_way") {
			break
		}
	}
	return r.lines[i].shown()
}

const maxWay = 12 // lines

var wayNumber = lazy(`:\d+ -> [1236](?: \[|\s*$)`)
