package format

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gangrun/gangrun/checkpoint/file"
)

// Pointer is the file in a root by which a framework finds its newest checkpoint. Most are written before the checkpoint
// is whole, and a framework that trusts one fails, or starts over without a word.
type Pointer struct {
	Name string
	// Point is the file's content for a checkpoint, given its content now.
	Point func(c Checkpoint, now []byte) []byte
	// To says where the content points.
	To func(now []byte) string
	// Made reports whether the framework has made one when it wrote the checkpoint, so that it looks for it: then one that is
	// missing is made again.
	Made func(c Checkpoint) bool
}

var (
	// https://github.com/deepspeedai/DeepSpeed: load_checkpoint reads the tag.
	tagPointer = Pointer{deepSpeedPointer, func(c Checkpoint, _ []byte) []byte { return []byte(c.Tag) }, trimmed, always}
	// https://github.com/NVIDIA/Megatron-LM: read_metadata; with anything but a number or "release" it exits with 0.
	iterationPointer = Pointer{iterationTracker, iteration, trimmed, always}
	// tensorflow/python/checkpoint/checkpoint_management.py: a text proto. Checkpoint.write makes none, nor does it put a
	// number behind the name.
	bundlePointer = Pointer{tfPointer, pointBundle, bundlePointed, func(c Checkpoint) bool { return tfStep(c.Tag) >= 0 }}
)

func always(Checkpoint) bool { return true }

func trimmed(now []byte) string { return strings.TrimSpace(string(now)) }

func iteration(c Checkpoint, _ []byte) []byte {
	if c.Step < 0 {
		return []byte(c.Tag) // "release"
	}
	return strconv.AppendInt(nil, c.Step, 10)
}

func bundlePointed(now []byte) string {
	if s, err := file.ReadCheckpointState(now); err == nil {
		return tfName(s.Path)
	}
	return ""
}

// Compiled when it is needed: most runs never do.
var modelPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*model_checkpoint_path:\s*"(?:[^"\\]|\\.)*"`)
})

// pointBundle changes the one line and keeps the rest: the list of all checkpoints, by which old ones are removed. A
// directory that was given as an absolute path is kept as well. Where the line cannot be told for sure, what was
// understood is rewritten.
func pointBundle(c Checkpoint, now []byte) []byte {
	line := "model_checkpoint_path: " + quoteText(c.Tag)
	s, err := file.ReadCheckpointState(now)
	if err != nil {
		return []byte(line + "\n")
	}
	if dir := path.Dir(s.Path); dir != "." {
		to := path.Join(dir, c.Tag)
		if c.Tag == "" {
			to += "/" // files of no name of their own
		}
		line = "model_checkpoint_path: " + quoteText(to)
	}
	if all := modelPath().FindAllIndex(now, -1); all != nil {
		at := all[len(all)-1] // of several, the last counts
		kept := bytes.Join([][]byte{now[:at[0]], []byte(line), now[at[1]:]}, nil)
		if bundlePointed(kept) == c.Tag {
			return kept
		}
	}
	anew := []byte(line + "\n")
	for _, path := range s.All {
		anew = append(anew, "all_model_checkpoint_paths: "+quoteText(path)+"\n"...)
	}
	return anew
}

// quoteText is a string as protobuf writes it in text: what is not printable ASCII as octal bytes.
func quoteText(s string) string {
	b := []byte{'"'}
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, `\%03o`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
