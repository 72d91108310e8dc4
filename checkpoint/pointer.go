package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/format"
)

// A pointer is the file by which a framework finds its newest checkpoint. Most are written before the checkpoint is
// whole, and a framework that trusts one fails, or begins anew without a word.
type pointer struct {
	name string
	// point is the file's content for a checkpoint, given its content now.
	point func(c format.Checkpoint, now []byte) []byte
	// to says where the content points.
	to func(now []byte) string
}

// pointers are those of the formats that have one, by the names of the formats.
var pointers = map[string]pointer{
	// https://github.com/deepspeedai/DeepSpeed: load_checkpoint reads the tag.
	"deepspeed": {"latest", func(c format.Checkpoint, _ []byte) []byte { return []byte(c.Tag) }, trimmed},
	// https://github.com/NVIDIA/Megatron-LM: read_metadata; with anything but a number or "release" it exits with 0.
	"megatron": {"latest_checkpointed_iteration.txt", iteration, trimmed},
	"verl":     {"latest_checkpointed_iteration.txt", iteration, trimmed},
	// tensorflow/python/checkpoint/checkpoint_management.py: a text proto.
	"tf_bundle": {"checkpoint", bundlePointer, bundlePointed},
}

func trimmed(now []byte) string { return strings.TrimSpace(string(now)) }

func iteration(c format.Checkpoint, _ []byte) []byte {
	if c.Step < 0 {
		return []byte(c.Tag) // "release"
	}
	return strconv.AppendInt(nil, c.Step, 10)
}

func bundlePointed(now []byte) string {
	if s, err := file.ReadCheckpointState(now); err == nil {
		return filepath.Base(s.Path)
	}
	return ""
}

// Compiled when it is needed: most runs never do.
var modelPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*model_checkpoint_path:\s*"(?:[^"\\]|\\.)*"`)
})

// bundlePointer changes the one line and keeps the rest: the list of all checkpoints, by which old ones are removed. A
// directory that was given as an absolute path is kept as well. Where the line cannot be told for sure, what was
// understood is written anew.
func bundlePointer(c format.Checkpoint, now []byte) []byte {
	line := "model_checkpoint_path: " + quoteText(c.Tag)
	s, err := file.ReadCheckpointState(now)
	if err != nil {
		return []byte(line + "\n")
	}
	if dir := filepath.Dir(s.Path); dir != "." {
		line = "model_checkpoint_path: " + quoteText(filepath.Join(dir, c.Tag))
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

// previous is what a pointer's old content is kept under.
const previous = ".gangrun-prev"

// maxPointer bounds what is read of a pointer.
const maxPointer = 1 << 20

// repoint makes the framework's own pointer name the checkpoint that was chosen. It reports what the pointer said before,
// empty when there was nothing to change.
func repoint(root string, c format.Checkpoint) (was string, err error) {
	name, _, _ := strings.Cut(c.Format, "+")
	p, found := pointers[name]
	if !found {
		return "", nil
	}
	name = filepath.Join(root, filepath.FromSlash(c.Root), p.name)
	now, err := readPointer(name)
	missing := errors.Is(err, fs.ErrNotExist) // then the framework would find nothing at all
	if err != nil && !missing {
		return "", err
	}
	next := p.point(c, now)
	if !missing {
		if p.to(now) == p.to(next) {
			return "", nil
		}
		if err := replaceFile(name+previous, now); err != nil {
			return "", err
		}
	}
	if err := replaceFile(name, next); err != nil {
		return "", err
	}
	if was = p.to(now); was == "" {
		was = "nothing"
	}
	return was, nil
}

func readPointer(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxPointer+1))
	if err == nil && len(data) > maxPointer {
		err = fmt.Errorf("%s: larger than %d bytes", name, maxPointer)
	}
	return data, err
}
