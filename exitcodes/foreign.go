package exitcodes

import "bytes"

// foreignHead splits a line in which a program of another language than Python says what it ended of: Java's, Julia's,
// Go's, Rust's. Go and Rust have no classes; theirs is called a panic.
func foreignHead(text []byte) (class, message string, ok bool) {
	if rest, found := bytes.CutPrefix(text, []byte(`Exception in thread "`)); found {
		if i := bytes.Index(rest[:min(len(rest), 100)], []byte(`" `)); i >= 0 {
			return exceptionHead(rest[i+2:])
		}
		return "", "", false
	}
	for _, head := range [][]byte{javaCause, juliaError, juliaTask, juliaLost} {
		if rest, found := bytes.CutPrefix(bytes.TrimLeft(text, " "), head); found {
			for bytes.HasPrefix(rest, juliaWorker) {
				_, inner, _ := bytes.Cut(rest, []byte(":"))
				rest = bytes.TrimLeft(inner, " ")
			}
			for bytes.HasPrefix(rest, juliaLoad) { // once for each file that loads another
				rest = rest[len(juliaLoad):]
			}
			return exceptionHead(rest)
		}
	}
	if rest, found := bytes.CutPrefix(text, rustThread); found { // before 1.73 the message stood in the same line
		if _, quoted, found := bytes.Cut(rest, rustPanicked); found {
			if end := bytes.LastIndex(quoted, []byte("', ")); end > 0 {
				quoted = quoted[:end] // else it goes on in the next line
			}
			return "panic", string(quoted), true
		}
	}
	for _, head := range [][]byte{goPanic, rustUnwrap, rustUnmarked} {
		if bytes.HasPrefix(text, head) {
			return "panic", string(text[len(head):]), true
		}
	}
	return "", "", false
}

// libhdfsHead splits the line in which libhdfs, Hadoop's client in C, names an exception of Java whose stack it cannot print:
// "(unable to get root cause for java.io.EOFException)".
func libhdfsHead(text []byte) (class, message string, ok bool) {
	rest, found := bytes.CutPrefix(text, []byte("(unable to get root cause for "))
	if !found {
		return "", "", false
	}
	name, _, closed := bytes.Cut(rest[:min(len(rest), 200)], []byte(")"))
	class, _, ok = exceptionHead(name)
	return class, "", closed && ok
}

var (
	javaCause    = []byte("Caused by: ")
	juliaError   = []byte("ERROR: LoadError: ")
	juliaLoad    = []byte("LoadError: ")
	juliaTask    = []byte("nested task error: ")
	juliaWorker  = []byte("On worker ")
	juliaLost    = []byte("UNHANDLED TASK ERROR: ")
	goPanic      = []byte("panic: ")
	rustThread   = []byte("thread '")
	rustPanicked = []byte("' panicked at '")
	rustUnwrap   = []byte("called `Result::") // on an `Err` value, which follows
	rustUnmarked = []byte("called Result::")  // where a page has taken the marks for its own
)

// rustPanic is the first line of the panic in Rust to whose backtrace line i belongs; its message is in the next line. -1
// when there is none.
func (r *reader) rustPanic(i int) int {
	for at := i; at >= 0 && at > i-backtrace; at-- {
		if l := &r.lines[at]; l.says("thread '") && l.contains("' panicked at ") && at+1 < len(r.lines) {
			return at
		}
	}
	return -1
}

// isRustHead reports whether a line says only where a program in Rust panicked: why, the next line says.
func isRustHead(text []byte) bool {
	return bytes.HasPrefix(text, rustThread) && bytes.Contains(text, []byte("' panicked at ")) && bytes.HasSuffix(bytes.TrimSpace(text), []byte(":"))
}

const backtrace = 200 // lines of one
