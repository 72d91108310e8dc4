package exitcodes

import (
	"bytes"
	"slices"

	"github.com/gangrun/gangrun/exitcodes/wording"
)

// A program in C or C++ that finds something wrong says so, by a check of glog's or MXNet's, by the C library's assert or in words of
// its own, and aborts. What it has found is why it died.

// failedCheck is the check of which a program has aborted: what it says of a condition that is known, what was said right before it
// where it says nothing, else that the program had passed something wrong, where that is what was checked.
func (r *reader) failedCheck() (said, bool) {
	check, known := r.checkRule()
	for i := len(r.lines) - 1; i >= 0 && len(r.lines)-i <= backtrace; i-- { // which always abort, whatever other threads print meanwhile
		l := &r.lines[i]
		if l.kind == kindWork && !worded(l.text) && bytes.ContainsAny(l.text, "0123456789") { // a step, and no warning of many threads
			break
		}
		if !known || !asserted(l.text) || r.inside[i] {
			continue
		}
		at := i
		switch {
		case unreachablePattern().Match(l.text):
			if r.passesNear(i) {
				at = -1
			}
		case !aboutArguments(l):
			at = r.unsupportedBefore(i)
		}
		if at >= 0 {
			return said{match: Match{Rule: check, Line: r.lines[at].shown()}, known: true, at: at}, true
		}
	}
	for i := len(r.lines) - 1; i >= 0 && len(r.lines)-i <= backtrace; i-- {
		l := &r.lines[i]
		if l.kind == kindWork {
			break
		}
		if r.inside[i] || l.kind != kindLast && !l.contains("Non-OK-status: ") || !l.contains("Check failed: ", "Non-OK-status: ", "Assertion `", "Assertion '") && !l.contains(abortHeads...) && !l.fatal || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			continue
		}
		if f := familyOf("", l.text); f.known() {
			return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, true
		}
		if l.contains("Assertion `") {
			if s, found := r.toldBefore(i); found {
				return s, true
			}
		}
		if known && aboutArguments(l) {
			return said{match: Match{Rule: check, Line: l.shown()}, known: true, at: i}, true
		}
	}
	return said{}, false
}

// childAborted lets the check of which a child has aborted explain that death, of which a shell or a launcher tells.
func (r *reader) childAborted(w said) said {
	if !w.known || w.role() >= RoleRoot || !abortTold().MatchString(w.match.Line) {
		return w
	}
	s, found := r.failedCheck()
	if !found || s.at > w.at {
		return w
	}
	s.other = w.match.Line
	return s
}

var abortTold = lazy(`\bAborted(?: *\(core dumped\)|\)| {4,}|$)|\bSIGABRT\b|\bsignal:? 6\b|\b(?:exit )?(?:status|code):? 134\b|\bexitcode: -6\b`)

// checkRule is the rule about a check that failed of what the program had passed, where it is among the rules.
func (r *reader) checkRule() (Rule, bool) {
	if at := slices.IndexFunc(r.rules.list, func(rule Rule) bool { return rule.Name == "cxx.check" }); at >= 0 {
		return r.rules.list[at], true
	}
	return Rule{}, false
}

// aboutArguments reports whether a line says that what a program was given is wrong: a check of MXNet's, of which that is most of
// them, or one of an index, a size, a shape or a count. A state, a call that failed and what the C library itself checks are none.
func aboutArguments(l *line) bool {
	text := l.text[:min(len(l.text), maxCheck)]
	switch {
	case misfitPattern().Match(text):
		return true
	case asserted(text):
		return !allocatedPattern().Match(text) && (argumentPattern().Match(text) || !statePattern().Match(text))
	case checkPattern().Match(text):
		return !checksState(text)
	case l.contains(abortHeads...):
		if check, found := bytes.CutPrefix(text, []byte("OpenCV Error: Assertion failed")); found {
			check, _, _ = bytes.Cut(check, []byte(", file ")) // and its place in the source
			return argumentPattern().Match(check) && !statePattern().Match(check)
		}
		return abortPattern().Match(text) && !passingAbort().Match(text)
	case l.contains("Non-OK-status: "):
		return staysPattern().Match(text)
	case l.contains("Check failed: "):
		_, text, _ = bytes.Cut(text, []byte("Check failed: "))
		at := comparedPattern().FindIndex(text)
		if at == nil { // glog tells it of numbers alone
			return bytes.HasPrefix(text, []byte("getenv(")) || shapePattern().Match(text) && !statePattern().Match(text)
		}
		return !statePattern().Match(text[:at[0]]) && wording.Weigh(string(text[at[1]:])).Score < 0
	case l.contains("Assertion `", "Assertion '"):
		if ofLibrary().Match(text) {
			return false
		}
		_, text, _ = bytes.Cut(text, []byte("Assertion "))
	default:
		return false
	}
	return argumentPattern().Match(text) && !statePattern().Match(text)
}

// abortHeads are the words with which a compiler, libc++, .NET and Android's runtime tell why they abort, and
// OpenCV 2.
var abortHeads = []string{"LLVM ERROR: ", "OpenCV Error: ", "uncaught exception of type ", "Unhandled exception. System.", "Unhandled Exception: System.", "JNI DETECTED ERROR IN APPLICATION: ", "--> FOAM FATAL ERROR"}

var (
	// abortPattern is such a line about what the program was given or does: of exceptions those of logic, as the language calls them.
	abortPattern = lazy(`LLVM ERROR: |^OpenCV Error: (?:Assertion failed|Bad argument|Bad flag|Sizes of input|One of (?:the )?arguments|Incorrect size|The function/feature|Unsupported|Null pointer|Parsing error|Formats of input)|^libc\+\+abi(?:\.dylib)?: terminating (?:due to|with) uncaught exception of type std::(?:__1::)?(?:logic_error|out_of_range|invalid_argument|length_error|domain_error|bad_cast|bad_any_cast|bad_variant_access|bad_optional_access|bad_function_call|regex_error)\b|` +
		`Unhandled [Ee]xception[.:] System\.(?:TypeInitialization|NullReference|Argument|ArgumentNull|ArgumentOutOfRange|IndexOutOfRange|Format|Collections\.Generic\.KeyNotFound|InvalidCast|NotImplemented|NotSupported|DllNotFound|TypeLoad|MissingMethod|DivideByZero|BadImageFormat)Exception\b|JNI DETECTED ERROR IN APPLICATION: |--> FOAM FATAL ERROR`)
	passingAbort = lazy(`(?i)alloc|memory|mmap|file|i/o|thread`)
)

// asserted reports whether a line is of a macro by which a program asserts something of its own and aborts, as ggml does:
// "ggml.c:20623: GGML_ASSERT(n % 8 == 0) failed", "fattn.cu:567: fatal error" where it has no code for what it was given. It may be
// glued to a line that had no end yet.
func asserted(text []byte) bool {
	return bytes.HasSuffix(text, []byte(": fatal error")) && unreachablePattern().Match(text) || (bytes.Contains(text, []byte("ASSERT(")) || bytes.Contains(text, []byte("ASSERT: "))) && assertPattern().Match(text)
}

var assertPattern = lazy(`\.(?:c|cc|cpp|cu|cuh|h|hpp|m|metal):\d+: [A-Z][A-Z0-9]*_ASSERT\(.*\) failed(?:\s*$|\S)|\b[A-Z][A-Z0-9]*_ASSERT: \S+\.(?:c|cc|cpp|cu|cuh|h|hpp|m|metal):\d+: `)

// unreachablePattern is such a line where ggml has no code for what it was given: of memory, of a device or of a peer it says more.
var unreachablePattern = lazy(`\b(?:ggml|llama)[\w.-]*/(?:[\w.-]+/)*[\w.-]+\.(?:c|cc|cpp|cu|cuh|h|hpp|m|metal):\d+: fatal error$|\b(?:ggml|llama)[\w-]*\.(?:c|cpp|cu|cuh|h|m):\d+: fatal error$`)

// passesNear reports whether a line near line i, which says nothing itself, tells of what may pass.
func (r *reader) passesNear(i int) bool {
	return slices.ContainsFunc(r.lines[max(0, i-2*maxBefore):min(len(r.lines), i+1+backtrace)], func(l line) bool { return passingNear().Match(l.text[:min(len(l.text), maxCheck)]) })
}

var passingNear = lazy(`(?i)alloc|memory|lost\b|peer|timed? ?out|connect|\brecv|\bsend|hang|thread|nccl|\bretry|exceeded|input/output|wait`)

// allocatedPattern is such a line about memory that there was, or was not: a pointer, a buffer.
var allocatedPattern = lazy(`(?i)_ASSERT\([\w.>()\[\]*! -]*\) failed|\b(?:null|nullptr)\b|mem|buf|alloc`)

// checksState reports whether a check is one of a state, or of what a call has returned.
func checksState(text []byte) bool {
	_, text, _ = bytes.Cut(text, []byte("Check failed: "))
	text, _, _ = bytes.Cut(text, []byte(": "))
	return statePattern().Match(text[:min(len(text), maxCheck)])
}

const maxCheck = 400 // bytes of such a line

var (
	checkPattern    = lazy(`\.(?:cc|cpp|cu|cuh|h):\d+: Check failed: `)
	comparedPattern = lazy(` \(-?\d\S{0,40} vs\. -?\d[^)]{0,40}\)`)
	shapePattern    = lazy(`(?i)(?:==|<=?|>=?|\bequal\().*(?:shape|dims?\b|ndim|axes|(?:size|count|width|height|num)\(\)|channels|bottom\[)`)
	staysPattern    = lazy(`(?i)status: (?:invalid[_ ]argument|unimplemented|out[_ ]of[_ ]range|permission[_ ]denied)\b|invalid (?:configuration )?argument\b`)
	// What an expression in source calls the sizes of things, which of them, or their kind.
	argumentPattern = lazy(`(?i)(?:size|shape|dim|axis|axes|count|num|chann?el|width|height|length|ind(?:ex|ices)|idx|label|class|target|batch|type|layer|bottom|blob|param|vocab|stride|elements?|offset|range)|^[a-z] [<>]=? [a-z] \(-?\d`)
	statePattern    = lazy(`(?i)(?:status|success|err(?:or|no)?\b|\bret\b|\bret(?:val|code)\b|\brc\b|\bok\(|result|sock|\b_?(?:send|recv|sent|received|connect|bind|listen|accept)(?:_?bytes|msg|to|from|all|\b)|!= ?\(?-1\b|fd\b|\bthread\b|thread_|mutex|lock|refc|state|nccl|gloo|ucx|\bibv?_|rdma|peer|timeout|memory|alloc|stream|event|handle|retr(?:y|ies)|attempts|beat|deadline|\bnow\b|alive|closed|healthy|ready|lease|leader|lost|remote|read\(|write\(|mmap|ptr|pid|\bn?_?dev)`)
	misfitPattern   = lazy(`(?i)\b(?:invalid (?:data )?type\b|invalid usage\b|compiled to use\b|(?:shape|size|dimension|type|dtype)s? (?:mismatch|do(?:es)? not match)|unknown (?:bottom|blob|layer|solver|op|operator|data|activation|enum|field|optimizer|parameter|flag|option|type)|must be\b|should be\b|has to be\b|unsupported|not supported|no such file or directory|file not found|permission denied|in cpu-only|failed to parse|could not parse|cannot parse)`)
	ofLibrary       = lazy(`\b(?:malloc|arena|pthread\w*|dl-\w+|cond_\w+|futex\w*|tpp|allocatestack|get(?:addrinfo|aliases)\w*|rwlock\w*|ib_\w+|uc[pts]_\w+)\.c:|/nptl/|/sysdeps/|\bUCX\b|nccl|gloo`)
)

// ofCall reports whether a line is a failed check of a state, or of what a call has returned, that says nothing more: "Check failed: (bytes) != (-1)".
func ofCall(l *line) bool {
	_, check, found := bytes.Cut(l.text[:min(len(l.text), maxCheck)], []byte("Check failed: "))
	return found && returnedPattern().Match(check) && checksState(l.text)
}

// returnedPattern is a call, or a name in parentheses, that has returned what tells of a failure, and nothing after it.
var returnedPattern = lazy(`^\(?[\w.>():-]+\)? *(?:!=|>=?|==) *\(?(?:-1|0)\)?\s*$`)

// toldBefore is what was said right before line i, a check that says nothing itself, where it is known.
func (r *reader) toldBefore(i int) (said, bool) {
	for j := i - 1; j >= 0 && i-j <= maxBefore; j-- {
		l := &r.lines[j]
		if l.blank() || l.kind == kindNoise {
			continue
		}
		if r.inside[j] || l.kind != kindLast || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			break
		}
		if f := familyOf("", l.text); f.known() {
			return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: j}, true
		}
	}
	return said{}, false
}

const maxBefore = 3 // lines

// unsupportedBefore is the line before line i, an assertion of ggml's that says nothing itself, in which ggml says what it cannot do; or -1.
func (r *reader) unsupportedBefore(i int) int {
	if !r.lines[i].contains("GGML_ASSERT(ok)", `!"CUDA error"`) {
		return -1
	}
	for j := i - 1; j >= 0 && i-j <= maxBefore; j-- {
		if l := &r.lines[j]; l.kind != kindWork && !r.inside[j] && l.level != levelWarning && l.level != levelInfo && unsupportedPattern().Match(l.text[:min(len(l.text), maxCheck)]) {
			return j
		}
	}
	return -1
}

var unsupportedPattern = lazy(`\bop not supported\b|invalid device function|no kernel image`)

// abortedAfter is the error with which a program took its leave and died: nothing but noise and words about that death come after
// it. It makes fatal only where the program says that it aborts.
func (r *reader) abortedAfter() (said, bool) {
	aborts := false
	for i := len(r.lines) - 1; i >= 0 && len(r.lines)-i <= backtrace; i-- {
		l := &r.lines[i]
		if l.says("Aborted", terminated) || l.shellKilled() && l.contains("Aborted") {
			aborts = true
			continue
		}
		if l.kind == kindNoise || l.blank() || l.is(traitNoise|traitEcho) || isAddress(l.text) || r.talksOfDeath(i) || l.shellKilled() {
			continue
		}
		if r.inside[i] || l.kind != kindLast || l.level == levelWarning || !r.meter.afford(familyPasses, min(len(l.text), maxMessageText)) {
			break
		}
		f := familyOf("", l.text)
		return said{match: Match{Rule: f.rule(), Line: l.shown()}, known: true, at: i}, f.verdict == Retry || f.known() && (aborts || l.contains("assert"))
	}
	return said{}, false
}

// isAddress reports whether a line is a frame of which only the address is known, or the heading of such: "[0x5d38ab]".
func isAddress(text []byte) bool {
	text = bytes.TrimSpace(text)
	return bytes.HasPrefix(text, []byte("[0x")) || bytes.Equal(text, []byte("[CALL STACK]"))
}
