package exitcodes

import (
	"bytes"
	"strings"
)

// link says how an exception came out of the one before it in a chain.
type link uint8

const (
	linkNone    link = iota
	linkContext      // "During handling of the above exception": the one before was handled
	linkCause        // "direct cause": raised from it
	linkNested       // told within the message of the one before, which only passes it on
	linkSibling      // another one of the same ExceptionGroup
)

// member is one exception of a chain.
type member struct {
	class string // as it was printed: "requests.exceptions.ReadTimeout"
	lines []int  // the line that names it and the rest of its message
	link  link   // to the member before it
}

// chain is what a program printed about exceptions that came out of each other, the last one last. It is known by the
// shape of a traceback, not by the names in it.
type chain struct {
	tag     string
	stream  int  // by which it came; 0 when that is not known
	own     bool // torch's hook for uncaught exceptions printed it
	begin   int  // index of its first line, the heading included
	end     int  // index of its last line
	members []member
	ignored bool // the interpreter itself, a thread or a logger told of it: the program did not end of it
	logged  bool // a logger wrote it, so it was caught
	warned  bool // and called it a warning
	thread  bool // it ended a thread, not the program
	frames  []int
	head    int  // line with which its last traceback begins
	cut     bool // the output ends in that one before the exception is named
	// survived is set once the reader knows that training went on after it.
	survived bool
}

func (c *chain) last() *member { return &c.members[len(c.members)-1] }

const (
	maxMessage = 40 // lines of a message
	maxBetween = 8  // lines between an exception and the words that link it to the next
	maxChains  = 256
)

// sameStream reports whether two lines may have come by one stream.
func sameStream(a, b int) bool { return a == b || a == 0 || b == 0 }

// isHeader reports whether the line begins a traceback, and nothing else.
func isHeader(text []byte) bool {
	head := bytes.TrimLeft(text, " +|\t")
	head = bytes.TrimPrefix(head, []byte("Exception Group "))
	head = bytes.TrimPrefix(head, []byte("Original "))
	head = bytes.TrimPrefix(head, []byte("Remote "))
	return bytes.HasPrefix(head, []byte(traceback))
}

// isRichHeader reports whether the line is the upper edge of the box that rich draws around a traceback.
func isRichHeader(text []byte) bool {
	text = bytes.TrimLeft(text, " ")
	return (bytes.HasPrefix(text, []byte("╭")) || bytes.HasPrefix(text, []byte("+---"))) &&
		bytes.Contains(text, []byte(" Traceback (most"))
}

func isRichBox(text []byte) bool {
	text = bytes.TrimLeft(text, " ")
	for _, edge := range []string{"│", "╭", "╰", "|", "+-"} {
		if bytes.HasPrefix(text, []byte(edge)) {
			return true
		}
	}
	return false
}

// exceptionHead splits the line that names an exception: a dotted name, perhaps another one in parentheses as Ray puts
// it, and what it says.
func exceptionHead(text []byte) (class, message string, ok bool) {
	n := 0
	for n < len(text) {
		c := text[n]
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || n > 0 && (c == '.' || c >= '0' && c <= '9') || n > 0 && (c == '<' || c == '>') {
			n++
			continue
		}
		break
	}
	if n == 0 || n > 200 {
		return "", "", false
	}
	name := n
	if n < len(text) && text[n] == '(' {
		end := bytes.IndexByte(text[n:min(len(text), n+120)], ')')
		if end < 0 {
			return "", "", false
		}
		if number, _, found := bytes.Cut(text[n+1:min(len(text), n+12)], []byte(", ")); found && digits(string(number)) { // as Python writes it in source
			return string(text[:name]), string(text[n:]), looksRaised(string(text[:name]))
		}
		n += end + 1
	}
	class = string(text[:name])
	rest := bytes.TrimPrefix(text[n:], []byte(" (see above for traceback)")) // TensorFlow 1
	if len(bytes.TrimSpace(rest)) == 0 {
		return class, "", true
	}
	if rest[0] != ':' || len(rest) > 1 && rest[1] != ' ' && rest[1] != '\t' && (rest[1] == ':' || !looksRaised(class)) { // some print no blank
		return "", "", false
	}
	return class, strings.TrimSpace(string(rest[1:])), true
}

// looksRaised reports whether a name is one that exceptions have, for lines outside of a traceback.
func looksRaised(class string) bool {
	class = strings.TrimPrefix(class[strings.LastIndexByte(class, '.')+1:], "_") // gRPC's are private
	for _, s := range []string{"Error", "Exception", "Interrupt", "Timeout", "Exit", "Disconnected", "Mismatch"} {
		if strings.HasSuffix(class, s) && class[0] >= 'A' && class[0] <= 'Z' {
			return true
		}
	}
	return strings.HasPrefix(class, "NVMLError_")
}

// oneLine reports whether the messages of the class take one line. What follows such a line is something else.
func oneLine(class string) bool {
	switch class {
	case "KeyError", "AttributeError", "NameError", "IndexError", "ImportError", "ModuleNotFoundError", "FileNotFoundError",
		"UnboundLocalError", "ZeroDivisionError", "StopIteration", "KeyboardInterrupt", "SyntaxError", "IndentationError",
		"ConnectionResetError", "ConnectionRefusedError", "ConnectionAbortedError", "BrokenPipeError", "PermissionError",
		"ValueError", "TypeError", "IsADirectoryError", "NotADirectoryError", "FileExistsError", "RecursionError", "MemoryError":
		return true
	}
	return false
}

// builtinClass are exceptions of Python that are often raised without a message: then there is none in the lines below.
var builtinClass = set("EOFError", "TimeoutError", "AssertionError", "NotImplementedError", "RuntimeError", "OSError", "StopIteration", "Exception")
