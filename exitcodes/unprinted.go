package exitcodes

import (
	"bytes"
	"fmt"
)

// What CPython prints of an exception when another one comes while it prints the traceback, from a signal handler, say, as
// that of torch's DataLoader (_PyObject_Dump, in CPython's Objects/object.c): five fields, and "lost sys.stderr". The first of
// them may stand behind what was printed of the traceback's last line.
var dumpedFields = [][]byte{
	[]byte("object address  : "), []byte("object refcount : "), []byte("object type     : "), []byte("object type name: "),
}

const dumpedRepr = "object repr     : "

func isDumped(text []byte) bool {
	for _, field := range dumpedFields {
		if bytes.HasPrefix(text, field) {
			return true
		}
	}
	return false
}

// unprinted is the exception of such a dump, as its traceback would have named it; nil where the line tells none.
func unprinted(text []byte) (class string, exception []byte) {
	repr, found := bytes.CutPrefix(bytes.TrimRight(text, " "), []byte(dumpedRepr))
	open := bytes.IndexByte(repr, '(')
	if !found || open <= 0 || repr[len(repr)-1] != ')' {
		return "", nil
	}
	name, said := repr[:open], repr[open+1:len(repr)-1]
	if !looksRaised(string(name)) {
		return "", nil
	}
	if len(said) == 0 {
		return string(name), name
	}
	if number, what, two := bytes.Cut(said, []byte(", ")); two && len(bytes.Trim(number, "0123456789")) == 0 { // an OSError's
		return string(name), fmt.Appendf(nil, "%s: [Errno %s] %s", name, number, bytes.Trim(what, `'"`))
	}
	return string(name), fmt.Appendf(nil, "%s: %s", name, bytes.Trim(said, `'"`))
}
