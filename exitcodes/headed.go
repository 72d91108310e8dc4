package exitcodes

import "bytes"

// Runtimes of other languages put what went wrong below a line that only says where: MATLAB and R below the call, Julia below the
// worker, OpenFOAM below a heading. joinHeads reads such a head as one line with what it heads, which stays a line of its own, too.
func joinHeads(lines []line, m *meter) {
	for i := range lines {
		l := &lines[i]
		most := headsNext(l.text)
		for j := i + 1; most > 0 && j < len(lines); j++ {
			next := &lines[j]
			text := bytes.TrimSpace(next.text)
			if len(text) == 0 || next.tag != l.tag || len(l.text)+len(text) > maxHeaded || isHeader(next.text) || isMATLABFrame(next.text) || headsNext(next.text) > 0 && !endsWithWorker(next.text) {
				break
			}
			m.pass(2, len(text))
			next.headed = true
			if most--; endsWithWorker(next.text) { // Julia names all workers between
				most = 1
			}
			l.text = append(append(append(make([]byte, 0, len(l.text)+1+len(text)), bytes.TrimRight(l.text, " ")...), ' '), text...)
		}
	}
}

const (
	maxHeaded = 600 // bytes of a head and what it heads
	maxLower  = 3   // lines that MATLAB breaks a message into
)

// headsNext is how many of the next lines at most belong to a line that says only where something went wrong.
func headsNext(text []byte) int {
	text = bytes.TrimLeft(text[:min(len(text), maxHeaded)], " {[?")
	switch {
	case bytes.HasPrefix(text, []byte("Error using ")):
		return maxLower
	case bytes.HasPrefix(text, []byte("Error in ")):
		if text = bytes.TrimRight(text, " "); bytes.HasSuffix(text, []byte(" :")) || bytes.HasSuffix(text, []byte("`:")) {
			return 1
		}
	case endsWithWorker(text), bytes.HasPrefix(text, []byte("--> FOAM FATAL ")):
		return 1
	}
	return 0
}

// endsWithWorker reports whether a line of Julia's ends with the worker on which the error was that follows: "On worker 2:".
func endsWithWorker(text []byte) bool {
	rest, found := bytes.CutSuffix(bytes.TrimSpace(text), []byte(":"))
	rest = bytes.TrimRight(rest, "0123456789")
	return found && bytes.HasSuffix(rest, []byte("On worker "))
}

// isMATLABFrame reports whether the line is a frame of MATLAB's: "Error in train>step (line 12)".
func isMATLABFrame(text []byte) bool {
	text = bytes.TrimSpace(text[:min(len(text), maxHeaded)])
	return bytes.HasPrefix(text, []byte("Error in ")) && bytes.Contains(text, []byte(" (line ")) && bytes.HasSuffix(text, []byte(")"))
}

// findStacks marks what libraries and runtimes print beneath an error of what was being done: noise, but for the innermost call of HDF5's
// stack, which alone says why.
func (r *reader) findStacks() {
	inner := -1 // the innermost call of HDF5's stack so far
	for i := range r.lines {
		l := &r.lines[i]
		switch {
		case isHDF5Call(l.text):
			if inner >= 0 && r.lines[inner].tag == l.tag {
				r.lines[inner].traits |= traitNoise
				r.lines[inner].inner = false
			}
			inner = i
			l.inner = true
			l.traits |= traitError
		case bytes.HasPrefix(bytes.TrimLeft(l.text, " "), []byte("major: ")), bytes.HasPrefix(bytes.TrimLeft(l.text, " "), []byte("minor: ")), bytes.HasPrefix(bytes.TrimLeft(l.text, " "), []byte("class: HDF5")):
			if inner >= 0 && i-inner <= maxBelow {
				l.traits |= traitNoise
			}
		case i > 0 && l.says("stack traceback:") && r.lines[i-1].contains(".lua:"): // below the error
			r.lines[i-1].traits |= traitError
		case l.says("HDF5-DIAG: Error detected in "):
			l.traits |= traitNoise
			inner = -1
		case i > 0 && !l.blank() && isMATLABFrame(r.lines[i-1].text) && !isMATLABFrame(l.text): // the source of the call
			l.traits |= traitNoise
		}
	}
}

const maxBelow = 8 // lines below the innermost call

// isHDF5Call reports whether the line is one of HDF5's stack: "  #006: H5FD.c line 2412 in H5FD_lock(): driver lock request failed", in R
// "error #006: H5FD.c in H5FD_lock(): line 2412: driver lock request failed".
func isHDF5Call(text []byte) bool {
	text, found := bytes.CutPrefix(bytes.TrimPrefix(bytes.TrimLeft(text, " "), []byte("error ")), []byte("#"))
	return found && len(text) > 12 && digits(string(text[:3])) && text[3] == ':' && bytes.HasPrefix(text[4:], []byte(" ")) && bytes.Contains(text[:min(len(text), 160)], []byte("(): "))
}

func (r *reader) stackedKnown() (said, bool) { return r.stacked(len(r.lines), true) }

// stacked is what HDF5's innermost call says before line to, and that is known, if it has to be: what the program says after that comes of
// it.
func (r *reader) stacked(to int, known bool) (said, bool) {
	after := 0
	for i := to - 1; i >= 0 && after <= maxAfterStack; i-- {
		l := &r.lines[i]
		if l.blank() || l.kind == kindNoise || l.is(traitNoise|traitEcho) {
			continue
		}
		if !l.inner {
			if after++; r.inside[i] || l.kind == kindWork || l.rule != nil && l.rule.Role > RoleConfirm {
				break
			}
			continue
		}
		if l.kind != kindLast || !r.rules.families || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			break
		}
		f := familyOf("", l.text)
		if !f.known() {
			return said{exception: l.shown(), at: i, unknown: true, program: true}, !known
		}
		return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, true
	}
	return said{}, false
}

const maxAfterStack = 8 // lines

// workerRule is about a worker of R's, or its master, that the other has lost.
const workerRule = "r.worker"

// masterEnded reports whether line i, of such a loss, comes after an error of which the other had ended itself.
func (r *reader) masterEnded(i int) bool {
	halted := false
	for j := i - 1; j >= 0 && i-j <= fresh; j-- {
		l := &r.lines[j]
		halted = halted || l.says("Execution halted")
		if halted && l.kind == kindLast && l.says("Error in ", "Error: ") && !r.rejected(j) {
			return true
		}
	}
	return false
}

// isRuntimeFrame reports whether a line is of a stack as Fortran's runtimes print it: Intel's table of images, addresses and routines,
// GNU's numbered addresses.
func isRuntimeFrame(text []byte) bool {
	text = text[:min(len(text), 200)]
	if bytes.HasPrefix(text, []byte("#")) {
		number, rest, found := bytes.Cut(text[1:], []byte("  0x"))
		return found && digits(string(number)) && (bytes.Contains(rest, []byte(" in ")) || bytes.HasSuffix(bytes.TrimSpace(rest), []byte(" ???")) || bytes.IndexByte(bytes.TrimSpace(rest), ' ') < 0)
	}
	if bytes.HasPrefix(text, []byte("\tat /")) {
		return true
	}
	if bytes.HasPrefix(text, []byte("Image ")) {
		return bytes.Contains(text, []byte(" PC ")) && bytes.Contains(text, []byte(" Routine "))
	}
	words := bytes.Fields(text)
	return len(words) >= 4 && (len(words[1]) == 16 || len(words[1]) == 8) && len(bytes.Trim(words[1], "0123456789ABCDEF")) == 0 &&
		(bytes.HasSuffix(text, []byte("Unknown")) || len(words) == 5 && (digits(string(words[3])) || string(words[3]) == "Unknown"))
}
