package format

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// pointer is what the file in a root is worth that names the newest checkpoint.
//
// It is a hint: several frameworks write it before the data is there, and no checkpoint is whole or torn because of it.
// And yet it decides what the framework loads. So one that leads nowhere, or that cannot be understood, is listed like
// a checkpoint that is not complete.
type pointer int

const (
	noPointer pointer = iota
	points
	isMalformed
)

// maxPointer bounds the content of a pointer.
const maxPointer = 4096

// pointer reads the file in a root that names the newest checkpoint. One that cannot be read says nothing here.
func (l *look) pointer(root *dir, name string) (text string, p pointer) {
	text, p, _ = l.readPointer(root, name)
	return text, p
}

// readPointer does so where it matters that a pointer cannot be read: the error says that it is unknown.
func (l *look) readPointer(root *dir, name string) (text string, p pointer, err error) {
	if !root.isFile(name) {
		return "", noPointer, nil
	}
	data, err := l.small(root.join(name), maxPointer)
	switch text = strings.TrimSpace(string(data)); {
	case err == nil && (!fs.ValidPath(text) || text == "." || strings.ContainsAny(text, "/\n\x00")):
		return "", isMalformed, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", noPointer, nil
	case err != nil:
		if problem.Of(err, problem.NoMarker).Reason.Unknown() {
			return "", noPointer, err
		}
		return "", isMalformed, nil
	}
	return text, points, nil
}

// checkPointed looks at what a pointer has brought into the list, and reports whether it was that.
func checkPointed(l *look, c *Checkpoint, pointer string) (done bool, err error) {
	if c.Tag == pointer {
		data, err := l.small(c.Path, maxPointer)
		if err == nil {
			return true, problem.New(problem.PointerMalformed, "%s names no checkpoint: %.64q", c.Path, data)
		}
		wrong := problem.Of(err, problem.PointerMalformed)
		if !wrong.Reason.Unknown() {
			wrong.Reason = problem.PointerMalformed
		}
		return true, wrong
	}
	if c.StepFrom != StepFromPointer {
		return false, nil
	}
	if _, err := l.stat(c.Path); err != nil {
		e := problem.Of(err, problem.PointerDangling)
		if e.Reason == problem.PointerDangling {
			e.Detail = fmt.Sprintf("%s names %s, which is not there", pointer, c.Path)
		}
		return true, e
	}
	return false, nil
}
