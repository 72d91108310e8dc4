package exitcodes

import (
	"bytes"
	"strings"
)

const toCoordinator = "Error reported to Coordinator: <class '"

// coordinated takes a lost peer of which TensorFlow's coordinator tells for what it is: it is logged as information, and often
// nothing else is left of it. What else the coordinator tells of is raised once more.
func (l *line) coordinated() {
	i := bytes.Index(l.text[:min(len(l.text), 200)], []byte(toCoordinator))
	if i < 0 {
		return
	}
	switch class, _, _ := coordinatorHead(l.text[i:]); class[strings.LastIndexByte(class, '.')+1:] {
	case "UnavailableError", "AbortedError", "DeadlineExceededError":
		l.text, l.level = l.text[i:], levelNone
	}
}

// coordinatorHead splits such a line: "Error reported to Coordinator: <class 'a.b.UnavailableError'>, Socket closed".
func coordinatorHead(text []byte) (class, message string, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(toCoordinator))
	if !ok {
		return "", "", false
	}
	class, message, ok = strings.Cut(string(rest), "'>, ")
	return class, message, ok && len(class) < 100 && looksRaised(class)
}
