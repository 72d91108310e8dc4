package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// File takes the exact bytes of one stream. The stream that it is given to closes it.
//
// A failing write (a full disk) does not stop anything: it is reported once, what could not be written is missing, and
// each later chunk is tried again. After such a gap the file goes on at the start of a line. A write that hangs, as on
// a file server that does not answer, does hold up the worker.
type File struct {
	w        io.WriteCloser
	report   func(error)
	reported bool
	gap      bool // something is missing right before what comes next
	inLine   bool // the stream, with what is missing, ended in the middle of a line
	torn     bool // the file ends in the middle of a line
}

// OpenFile opens the file at path for appending, and makes it with mode 0644 if it is not there. Report, when not nil,
// is told the first error of a write, from the stream's goroutine.
func OpenFile(path string, report func(error)) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return NewFile(f, report), nil
}

// NewFile is OpenFile for something that is open already.
func NewFile(w io.WriteCloser, report func(error)) *File {
	if report == nil {
		report = func(error) {}
	}
	return &File{w: w, report: report}
}

// Close closes the file. Only a caller that gave it to no stream needs it.
func (f *File) Close() error {
	return f.w.Close()
}

func (f *File) write(p []byte) {
	ended := p[len(p)-1] == '\n'
	if f.gap && f.inLine {
		p = p[bytes.IndexByte(p, '\n')+1:]
	}
	f.inLine = !ended
	if len(p) == 0 {
		return
	}
	if f.gap && f.torn {
		if _, err := f.w.Write([]byte{'\n'}); err != nil {
			return
		}
		f.torn = false
	}
	n, err := f.w.Write(p)
	if n > 0 {
		f.torn = p[n-1] != '\n'
	}
	f.gap = n < len(p)
	if f.gap && !f.reported {
		f.reported = true
		f.report(fmt.Errorf("output: worker's output is missing in its file: %w", err))
	}
}
