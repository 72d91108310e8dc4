// Package stacks reads the stacks that Python's faulthandler writes when a signal ends a process: of each thread, the
// innermost call first.
package stacks

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Frame is one call.
type Frame struct {
	File     string
	Line     int
	Function string
}

// String names the frame for a person: the function, and where it stands.
func (f Frame) String() string {
	return f.Function + " (" + path.Base(f.File) + ":" + strconv.Itoa(f.Line) + ")"
}

// Thread is the stack of one thread.
type Thread struct {
	Current bool    // it took the signal: the main thread, unless that blocks signals
	Frames  []Frame // innermost first; none where it runs no Python
}

// The bounds of what is read: faulthandler itself writes no more.
const (
	mostThreads = 128
	mostFrames  = 128
)

var (
	head      = []byte("Fatal Python error: ")
	threadRE  = regexp.MustCompile(`^(Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\):$`)
	frameRE   = regexp.MustCompile(`^  File "(.*)", line (\d+) in (.+)$`)
	truncated = []byte("  ...")
)

// Find returns the part of an output that is the last dump in it, and the rest before; nil where there is none.
func Find(output []byte) (dump, before []byte) {
	at := bytes.LastIndex(output, head)
	for at > 0 && output[at-1] != '\n' {
		at = bytes.LastIndex(output[:at], head)
	}
	if at < 0 {
		return nil, output
	}
	return output[at:], output[:at]
}

// Parse reads one dump. What does not belong to it is left out; what is torn by other output is read as far as it goes.
func Parse(dump []byte) (threads []Thread) {
	for line := range bytes.Lines(dump) {
		line = bytes.TrimRight(line, "\r\n")
		if m := threadRE.FindSubmatch(line); m != nil {
			if len(threads) == mostThreads {
				break
			}
			threads = append(threads, Thread{Current: m[1][0] == 'C'})
			continue
		}
		m := frameRE.FindSubmatch(line)
		if m == nil || len(threads) == 0 || bytes.Equal(line, truncated) {
			continue
		}
		t := &threads[len(threads)-1]
		if number, err := strconv.Atoi(string(m[2])); err == nil && len(t.Frames) < mostFrames {
			t.Frames = append(t.Frames, Frame{File: string(m[1]), Line: number, Function: string(m[3])})
		}
	}
	return threads
}

// Main is the thread that runs the program: the one whose outermost call is a module, else the one that took the signal.
func Main(threads []Thread) (Thread, bool) {
	for _, t := range threads {
		if n := len(t.Frames); n > 0 && t.Frames[n-1].Function == "<module>" {
			return t, true
		}
	}
	for _, t := range threads {
		if t.Current && len(t.Frames) > 0 {
			return t, true
		}
	}
	return Thread{}, false
}

// Took is the thread that took the signal; none of its calls are known where it runs no Python.
func Took(threads []Thread) Thread {
	for _, t := range threads {
		if t.Current {
			return t
		}
	}
	return Thread{}
}

// Stands is where a thread stands, for a person: its innermost call, and the innermost one that is neither of Python nor
// of an installed package, as that is what its author knows.
func (t Thread) Stands() string {
	if len(t.Frames) == 0 {
		return ""
	}
	inner := t.Frames[0]
	for i, f := range t.Frames {
		if installed(f.File) {
			continue
		}
		if i == 0 {
			break
		}
		return inner.String() + ", called by " + f.String()
	}
	return inner.String()
}

func installed(file string) bool {
	return strings.Contains(file, "site-packages/") || strings.Contains(file, "dist-packages/") ||
		strings.Contains(file, "/lib/python") || strings.HasPrefix(file, "<")
}

// Signature is what two threads have in common that stand at the same place: the functions, not the lines.
func (t Thread) Signature() string {
	var b strings.Builder
	for _, f := range t.Frames {
		b.WriteString(f.File + ":" + f.Function + "\n")
	}
	return b.String()
}

// Waits reports whether the thread waits for the other ranks: in a collective or in the store by which they meet, or, as far as
// its stack shows, for the GPU, on which collectives run.
func (t Thread) Waits() bool {
	for i, f := range t.Frames {
		if strings.Contains(f.File, "torch/distributed/") || strings.Contains(f.File, "horovod/") ||
			i == 0 && strings.Contains(f.File, "torch/cuda/") && (f.Function == "synchronize" || f.Function == "wait") {
			return true
		}
	}
	return false
}
