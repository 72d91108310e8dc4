package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/exitcodes/replace"
)

// HistoryFile is the name of the file in which a run remembers, beside its checkpoints, how far it had come.
const HistoryFile = ".gangrun.json"

// History is what a run remembers beside its checkpoints. Every framework takes a directory without checkpoints for a
// first start; this is how gangrun knows that it is not.
type History struct {
	V int `json:"v"`
	Run
	// Reached is the highest step of which there was a complete checkpoint.
	Reached *int64 `json:"reached,omitempty"`
	// Aside are those that were newer than the one that a round began from, as they were then. One that is written again
	// counts again.
	Aside []Aside `json:"aside,omitempty"`
	// Before are those that lay there when this run began its first round, as they were then. What of them cannot be
	// resumed from is not this run's.
	Before []Aside `json:"before,omitempty"`
}

// Aside is one checkpoint that is not to be read as it was then.
type Aside struct {
	Path     string    `json:"path"`
	Modified time.Time `json:"modified"`
}

const (
	memoryVersion = 1
	maxMemory     = 1 << 20
	maxAside      = 1024
)

func (m History) superseded(c format.Checkpoint) bool {
	return slices.ContainsFunc(m.Aside, func(a Aside) bool { return a.Path == c.Path && a.Modified.Equal(c.Modified) })
}

// lay reports whether a checkpoint lay there before this run began, as it is now.
func (m History) lay(c format.Checkpoint) bool {
	return slices.ContainsFunc(m.Before, func(a Aside) bool { return a.Path == c.Path && a.Modified.Equal(c.Modified) })
}

// Observed records which steps are complete now. One that says no step counts as step 0: it is more than nothing.
func (m History) Observed(steps []int64, identities []string) History {
	if len(steps) == 0 && len(identities) > 0 {
		steps = []int64{0}
	}
	if len(steps) > 0 && (m.Reached == nil || steps[0] > *m.Reached) {
		newest := steps[0]
		m.Reached = &newest
	}
	return m
}

// Begin records that a run resumes from something. What is newer is set aside: it belongs to an abandoned branch,
// and will be written over, half of it at first.
func (m History) Begin(run Run, from From, s Scan) History {
	next := History{V: memoryVersion, Run: run, Reached: from.Step, Before: m.Before}
	if from.Identity != "" {
		next.Reached = new(int64)
	}
	first := m.UID == "" || m.UID != run.UID
	if first {
		next.Before = nil
	}
	for _, c := range s.Checkpoints {
		newer := from.Fresh() && c.Step >= 0 || from.Step != nil && c.Step > *from.Step
		if m.superseded(c) || newer && c.Complete && !c.Modified.IsZero() {
			next.Aside = append(next.Aside, Aside{c.Path, c.Modified})
		}
		if first {
			next.Before = append(next.Before, Aside{c.Path, c.Modified})
		}
	}
	next.Aside, next.Before = bounded(next.Aside), bounded(next.Before)
	return next
}

// bounded leaves as many as can be written so that they are read again, the newest.
func bounded(list []Aside) []Aside {
	list = list[:min(len(list), maxAside)]
	size := 0
	for i, a := range list {
		text, _ := json.Marshal(a) // of what was listed
		if size += len(text) + 1; size > maxMemory/3 {
			return list[:i]
		}
	}
	return list
}

// ReadHistory reads what an earlier run has left in the root of a tree; nothing when there is no such file. One that is
// corrupt is a [problem.Error] with the reason bad_json.
func ReadHistory(fsys fs.FS) (m History, err error) {
	f, err := fsys.Open(HistoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return History{}, nil
	}
	if err != nil {
		return History{}, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxMemory+1))
	if err != nil {
		return History{}, fmt.Errorf("reading %s: %w", HistoryFile, err)
	}
	if len(data) > maxMemory {
		return History{}, problem.New(problem.BadJSON, "%s: larger than %d bytes", HistoryFile, maxMemory)
	}
	return parseHistory(data)
}

func parseHistory(data []byte) (m History, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		return History{}, problem.New(problem.BadJSON, "%s: %v", HistoryFile, err)
	}
	switch {
	case m.V != memoryVersion:
		return History{}, problem.New(problem.BadJSON, "%s: version %d, and this gangrun knows %d", HistoryFile, m.V, memoryVersion)
	case len(m.Aside) > maxAside || len(m.Before) > maxAside:
		return History{}, problem.New(problem.BadJSON, "%s: more than %d checkpoints are set aside", HistoryFile, maxAside)
	case m.Reached != nil && *m.Reached < 0:
		return History{}, problem.New(problem.BadJSON, "%s: step %d reached", HistoryFile, *m.Reached)
	}
	return m, nil
}

// write puts the memory into a directory, atomically. Several nodes that share the directory may do so
// at once; the last one wins, and they agree.
func (m History) write(dir string) error {
	m.V = memoryVersion
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, HistoryFile), append(data, '\n'))
}

// replaceFile gives a file a new content atomically. It keeps its mode.
func replaceFile(name string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return replace.File(name, mode, replace.Bytes(data))
}

func sameHistory(a, b History) bool {
	same := func(x, y Aside) bool { return x.Path == y.Path && x.Modified.Equal(y.Modified) }
	return a.V == b.V && a.Run == b.Run && slices.EqualFunc(a.Aside, b.Aside, same) && slices.EqualFunc(a.Before, b.Before, same) && (a.Reached == b.Reached || a.Reached != nil && b.Reached != nil && *a.Reached == *b.Reached)
}
