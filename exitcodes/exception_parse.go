package exitcodes

import (
	"bytes"
	"strings"
)

type parserState uint8

const (
	stateIdle    parserState = iota
	stateFrames              // between the header and the line that names the exception
	stateMessage             // in the message
	stateUser                // in what Keras and AutoGraph quote of the program's own code, with the exception at its end
	stateAfter               // behind it, where the words may come that link it to the next
)

// parser finds the chains among the lines of one origin. What another stream brings in between, or after it, is no part of
// them: Python's standard output comes late, and its standard error does not.
type parser struct {
	r       *reader
	stream  int // of the origin
	state   parserState
	chain   *chain
	link    link // of the next member
	base    int  // indentation of the header
	group   int  // 1 and above within an ExceptionGroup
	rich    bool
	between int
	heading []int // the lines before that are not blank, the last two
	headed  bool  // a heading of a traceback was seen
	bare    bool  // the chain began without one
	dump    bool  // within a stack that is no traceback
	before  *int  // the last line that is not blank of the same tag, by whichever stream
}

// findChains finds all chains, in the order in which they end.
func (r *reader) findChains() {
	parsers, before, open := map[origin]*parser{}, map[string]*int{}, map[string]*parser{}
	for i := range r.lines {
		from := origin{r.lines[i].tag, r.lines[i].stream}
		p := parsers[from]
		if o := open[from.tag]; (p == nil || p.state == stateIdle) && o != nil && o.state != stateIdle && sameStream(from.stream, o.stream) {
			p = o // the streams of what came long ago are not all known
		}
		if p == nil {
			if len(parsers) > 1024 {
				continue
			}
			if before[from.tag] == nil {
				before[from.tag] = new(int)
				*before[from.tag] = -1
			}
			p = &parser{r: r, stream: from.stream, before: before[from.tag]}
			parsers[from] = p
		}
		p.feed(i)
		if p.state != stateIdle {
			open[from.tag] = p
		}
	}
	for _, p := range parsers {
		p.close()
	}
	sortChains(r.chains)
}

func (p *parser) feed(i int) {
	l := &p.r.lines[i]
	text := p.margin(l.text)
	switch {
	case isHeader(text) || isHeader(l.text):
		p.header(i, indent(text))
	case isRichHeader(l.text):
		p.header(i, indent(l.text))
		p.rich = true
	default:
		switch p.state {
		case stateFrames:
			p.frame(i, text)
		case stateMessage:
			p.message(i, text)
		case stateUser:
			p.userCode(i, text)
		case stateAfter:
			p.after(i, text)
		default:
			p.idle(i, text)
		}
	}
	if !l.blank() {
		if p.heading = append(p.heading, i); len(p.heading) > 2 {
			p.heading = p.heading[1:]
		}
		*p.before = i
	}
}

// margin takes off what an ExceptionGroup draws at the left.
func (p *parser) margin(text []byte) []byte {
	if p.group == 0 && !bytes.Contains(text[:min(len(text), 40)], []byte("Exception Group ")) {
		return text
	}
	inner := bytes.TrimLeft(text, " ")
	for _, edge := range []string{"| ", "+ ", "|"} {
		if bytes.HasPrefix(inner, []byte(edge)) {
			return inner[len(edge):]
		}
	}
	return text
}

func (p *parser) header(i, base int) {
	l := &p.r.lines[i]
	group := bytes.Contains(l.text, []byte("Exception Group Traceback"))
	nested := p.chain != nil && (p.state == stateMessage || p.state == stateAfter) && p.passedOn(i)
	if p.headed = true; p.bare && p.state == stateFrames {
		p.drop() // it was no traceback
	}
	switch {
	case p.state == stateFrames && p.chain != nil: // cut off, or printed into each other
	case p.chain != nil && (p.link != linkNone || nested || p.group > 0):
		if p.link == linkNone {
			p.link = linkNested
		}
	default:
		p.close()
		p.begin(i)
	}
	if group {
		p.group++
	}
	p.rich = false
	p.state, p.base, p.between = stateFrames, base, 0
	p.chain.frames = append(p.chain.frames, i)
	p.chain.end, p.chain.head = i, i
}

// passedOn reports whether the header at i stands within the message of the exception before it.
func (p *parser) passedOn(i int) bool {
	if p.r.lines[i].contains("Original Traceback", "Remote Traceback") {
		return true
	}
	if len(p.heading) == 0 {
		return false
	}
	last := &p.r.lines[p.heading[len(p.heading)-1]]
	return last.says("-- Process ", "'''", "\"\"\"", "The above exception", "Caused by", "Worker traceback", "The original traceback", "Traceback from") ||
		last.contains("terminated with the following error", " with message:")
}

// begin starts a chain at the header i. The line before it may say whose it is.
func (p *parser) begin(i int) {
	l := &p.r.lines[i]
	p.chain = &chain{tag: l.tag, stream: l.stream, own: l.own, begin: i, end: i, logged: l.logged, warned: l.level == levelWarning}
	if n := len(p.heading); n > 0 {
		h := p.heading[n-1]
		before := &p.r.lines[h]
		if isIgnoredHeading(before) || n > 1 && before.text[0] == ' ' && isIgnoredHeading(&p.r.lines[p.heading[0]]) {
			p.chain.ignored = true
			p.chain.thread = before.says(threadHead)
			p.chain.begin = h
			return
		}
	}
	if h := *p.before; h >= 0 && i-h <= 1 && !l.own && !p.partOfChain(h) {
		before := &p.r.lines[h]
		overcome := before.is(traitHandled)
		p.chain.logged = p.chain.logged || before.logged || overcome
		p.chain.warned = p.chain.warned || before.logged && before.level == levelWarning || overcome && !before.logged && before.level != levelInfo
	}
}

// partOfChain reports whether a line belongs to the chain that was found last.
func (p *parser) partOfChain(i int) bool {
	if n := len(p.r.chains); n > 0 {
		c := p.r.chains[n-1]
		l := &p.r.lines[i]
		return c.tag == l.tag && sameStream(c.stream, l.stream) && i >= c.begin && i <= c.end
	}
	return false
}

func (p *parser) frame(i int, text []byte) {
	l := &p.r.lines[i]
	if p.rich && isRichBox(text) {
		p.chain.frames = append(p.chain.frames, i)
		return
	}
	if p.rich { // beside the columns of rich's log
		text = bytes.TrimLeft(text, " ")
		l.text, p.base = text, 0
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if class, exception := unprinted(text); exception != nil {
		l.text = clipped(exception)
		p.name(i, class)
		p.state = stateAfter
		return
	}
	if isDumped(text) || indent(text) > p.base || text[0] == '\t' || bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte("^")) {
		p.chain.frames = append(p.chain.frames, i)
		return
	}
	class, _, ok := exceptionHead(text)
	if !ok || (l.logged || p.bare) && !looksRaised(class) {
		p.drop()
		return
	}
	p.name(i, class)
}

// behindRule reports whether the line before is the rule that is drawn above each member of a group.
func (p *parser) behindRule() bool {
	return len(p.heading) > 0 && p.r.lines[p.heading[len(p.heading)-1]].contains("+---------------- ")
}

// name adds the exception that line i names to the chain.
func (p *parser) name(i int, class string) {
	l := &p.r.lines[i]
	if p.group > 0 {
		l.text = trimMargin(l.text)
		if n := len(p.chain.members); n > 0 && p.link == linkNested && p.chain.members[n-1].link >= linkNested {
			p.link = linkSibling
		}
	}
	p.chain.members = append(p.chain.members, member{class: class, lines: []int{i}, link: p.link})
	p.chain.end = i
	p.link, p.bare = linkNone, false
	p.state = stateMessage
	switch {
	case inUserCode(l.text):
		p.state = stateUser
	case oneLine(class), (builtinClass[class] || strings.IndexByte(class, '.') > 0) && string(bytes.TrimSpace(l.text)) == class: // whose message is empty
		p.state = stateAfter
	}
}

// drop forgets a traceback that names no exception, but not what came before it in its chain.
func (p *parser) drop() {
	p.state, p.link, p.bare = stateIdle, linkNone, false
	if p.chain != nil && len(p.chain.members) > 0 {
		p.state = stateAfter
		return
	}
	p.chain, p.group = nil, 0
}

func (p *parser) message(i int, text []byte) {
	l := &p.r.lines[i]
	m := p.chain.last()
	switch {
	case p.linked(l):
	case p.r.lines[m.lines[0]].contains("HDF5 error back trace") && len(m.lines) < 2*maxMessage: // which has frames of its own
		m.lines = append(m.lines, i)
		if p.chain.end = i; l.says("End of HDF5 error back trace") {
			p.state, p.between = stateAfter, 0
		}
	case (strings.Contains(m.class, "errors_impl.") || p.r.lines[m.lines[0]].contains("Exception encountered when calling ")) && !l.logged && !isIgnoredHeading(l) && len(m.lines) < 2*maxMessage:
		m.lines = append(m.lines, i) // TensorFlow's messages have paragraphs, and frames of their own
		if len(bytes.TrimSpace(text)) > 0 {
			p.chain.end = i
		}
	case len(bytes.TrimSpace(text)) == 0 || p.group > 0 && bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte("+-")):
		p.state, p.between = stateAfter, 0
	case (l.logged && !p.sourced(l)) || l.level != levelNone || l.is(traitHandled|traitExit) || l.is(traitTracker) && !p.announced() || l.says("terminate called", "Fatal Python error: ") || ofShell(text) || besideTheRun(l) && !p.announced() || isRule(text) || l.says("srun: ", "slurmstepd: ") || len(m.lines) > maxMessage || isIgnoredHeading(l) ||
		l.is(traitBar) || i-m.lines[len(m.lines)-1] > maxMessage:
		p.state, p.between = stateAfter, 0
		p.after(i, text)
	case bytes.HasPrefix(text, []byte(`  File "`)): // Ray tells the cause without a header
		p.state, p.link, p.base = stateFrames, linkNested, 0
		p.chain.frames = append(p.chain.frames, i)
	default:
		m.lines = append(m.lines, i)
		p.chain.end = i
	}
}

// announced reports whether the exception's own line leaves to the next ones what it has to say.
func (p *parser) announced() bool {
	return bytes.HasSuffix(bytes.TrimSpace(p.r.lines[p.chain.last().lines[0]].text), []byte(":"))
}

// sourced reports whether a line that a logger has dated is what an exception that leaves the rest to the next lines has to say: MXNet
// writes the place in its source and what failed there.
func (p *parser) sourced(l *line) bool {
	return p.announced() && sourcePattern().Match(l.text[:min(len(l.text), 200)])
}

var sourcePattern = lazy(`^\S+\.(?:h|cc|cpp|cu|cuh):\d+: `)

func (p *parser) after(i int, text []byte) {
	l := &p.r.lines[i]
	switch {
	case p.linked(l):
	case len(bytes.TrimSpace(text)) == 0:
	case l.says("-- Process ") || p.group > 0 && isRichBox(text):
		p.chain.end = i
	case p.group > 0 && p.behindRule():
		class, _, ok := exceptionHead(text)
		if !ok || !looksRaised(class) {
			return
		}
		if p.link == linkNone {
			p.link = linkNested
		}
		p.name(i, class)
	default:
		if p.between++; p.between > maxBetween {
			p.close()
			p.idle(i, text)
		}
	}
}

// linked notes the words that link an exception to the next.
func (p *parser) linked(l *line) bool {
	switch {
	case bytes.HasPrefix(trimMargin(l.text), []byte(chainedContext)):
		p.link = linkContext
	case bytes.HasPrefix(trimMargin(l.text), []byte(chainedCause)):
		p.link = linkCause
	default:
		return false
	}
	p.state, p.between = stateAfter, 0
	return true
}

const (
	chainedContext = "During handling of the above exception, another exception occurred"
	chainedCause   = "The above exception was the direct cause of the following exception"
)

// close ends the chain.
func (p *parser) close() {
	if p.chain != nil && len(p.chain.members) > 0 {
		p.chain.cut = p.state == stateFrames && p.link != linkNone
		if len(p.r.chains) == 2*maxChains {
			p.r.chains = append(p.r.chains[:0], p.r.chains[maxChains:]...)
		}
		p.r.chains = append(p.r.chains, *p.chain)
	}
	p.chain, p.state, p.link, p.group, p.rich, p.bare = nil, stateIdle, linkNone, 0, false, false
}
