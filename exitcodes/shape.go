package exitcodes

import "bytes"

// shapeOf is a hash of a line with its numbers taken out: the lines of a training loop have the same one.
func shapeOf(text []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			for i+1 < len(text) && inNumber(text[i+1], i+2 < len(text) && text[i+2] >= '0' && text[i+2] <= '9') {
				i++
			}
			c = '#'
		} else if c == ' ' && i > 0 && text[i-1] == ' ' {
			continue // columns are padded
		}
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// inNumber reports whether c goes on a number; digit tells whether a digit follows it.
func inNumber(c byte, digit bool) bool {
	switch c {
	case '.', ',', ':', '/', '-', '+':
		return digit
	case 'e', 'E':
		return true
	}
	return c >= '0' && c <= '9'
}

// ofRuntime reports whether a library in C++ logs the line by glog, as TensorFlow does its allocator's table: a dump of it repeats
// itself, and counts, without a step. Caffe, whose training loop is in C++, calls its files .cpp.
func (l *line) ofRuntime() bool {
	if indent(l.text) > 0 && l.contains("Size: ", "Shape: ", "Operator: ", "Allocation type: ", "Unpadded size: ", "XLA label: ") { // of XLA's list of what fills the memory
		return true
	}
	return l.glog && bytes.Contains(l.raw[:max(0, len(l.raw)-len(l.text))], []byte(".cc:"))
}

// mayBeWork reports whether a line may show that training goes on once its shape has come often enough.
func mayBeWork(l *line) bool {
	if l.level == levelWarning || l.level == levelError || l.goesOn || len(l.text) < 4 || l.ofRuntime() {
		return false
	}
	if onlyValues(l.text[:min(len(l.text), 64)]) {
		return false
	}
	if isFrame(l.text) || ofProcess(l.text) || l.says("+ ", "++ ", "srun: ", "slurmstepd: ") || isPrompt(l.text) || l.says(ofEachRank...) { // a shell's trace
		return false
	}
	_, _, raised := raisedHead(l.text)
	return !raised
}

// ofEachRank begin lines that come once from each rank of a job that ends, and are no loop's.
var ofEachRank = []string{"Program received signal ", "Backtrace for this error:", "Abort(", "MPICH ERROR ", "Fatal error in ", "application called MPI_Abort", "amrex::Abort::", "SIGABRT"}

// onlyValues reports whether a text has no letters, or only those of exponents, among the values of an array: "2.5e-3, 1.25E+04,". A row
// of a table has such numbers without commas.
func onlyValues(text []byte) bool {
	exponents := false
	for i, c := range text {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter {
			continue
		}
		exponent := (c == 'e' || c == 'E') && i > 0 && isDigit(text[i-1]) && (i+1 == len(text) || text[i+1] == '-' || text[i+1] == '+' || isDigit(text[i+1]))
		if !exponent {
			return false
		}
		exponents = true
	}
	return !exponents || bytes.ContainsAny(text, ",]")
}

// isPrompt reports whether a line is a shell's prompt at which nothing was typed, or Ctrl-C: "(env) me@node:/data$ ^C".
func isPrompt(text []byte) bool {
	text = bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("^C")), " ")
	return len(text) > 1 && (text[len(text)-1] == '$' || text[len(text)-1] == '#') && bytes.IndexByte(text[:min(len(text), 80)], '@') > 0 && bytes.IndexByte(text, ':') > 0
}

// ofProcess reports whether Python heads with the line what has ended a process: "Process SpawnProcess-3:".
func ofProcess(text []byte) bool {
	return bytes.HasPrefix(text, []byte("Process ")) && bytes.HasSuffix(bytes.TrimSpace(text), []byte(":")) && bytes.Count(bytes.TrimSpace(text), []byte(" ")) == 1
}
