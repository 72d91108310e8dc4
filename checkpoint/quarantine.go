package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// QuarantineDir is where checkpoints go that must not be read: a directory in their root, which no framework looks
// into. Another name in the root itself would not do: some match theirs anywhere in a name.
const QuarantineDir = "quarantine"

// quarantine moves a checkpoint aside, with a note on why, and reports whether there was anything to move: another node
// that shares the directory may have been faster. Nothing is ever deleted.
func quarantine(root string, c format.Checkpoint, now time.Time) (moved bool, err error) {
	if !c.Movable() {
		return false, fmt.Errorf("a %s checkpoint is not one directory or file", c.Format)
	}
	from := filepath.Join(root, filepath.FromSlash(c.Path))
	files, err := stemmed(from)
	if err != nil || len(files) == 0 {
		return false, err
	}
	dir := filepath.Join(root, QuarantineDir, filepath.Dir(filepath.FromSlash(c.Path)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	note, err := json.Marshal(struct {
		Path   string         `json:"path"`
		Step   int64          `json:"step"`
		Reason problem.Reason `json:"reason"`
		Detail string         `json:"detail,omitempty"`
		At     time.Time      `json:"at"`
	}{c.Path, c.Step, cmp.Or(c.Reason, problem.Quarantined), c.Detail, now.UTC()})
	if err != nil {
		return false, err
	}
	suffix, err := leaveNote(filepath.Join(dir, filepath.Base(from)), append(note, '\n'))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		err := os.Rename(file, filepath.Join(dir, filepath.Base(file))+suffix)
		switch {
		case err == nil:
			moved = true
		case !errors.Is(err, fs.ErrNotExist):
			return moved, err
		}
	}
	if !moved {
		err = os.Remove(filepath.Join(dir, filepath.Base(from)) + suffix + ".json")
	}
	return moved, err
}

// stemmed lists the directory or file of this name, and the files whose names go on after it with a dot: the parts of a
// tensor bundle, or a marker.
func stemmed(name string) (files []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	base := filepath.Base(name)
	for _, e := range entries {
		if e.Name() == base || strings.HasPrefix(e.Name(), base+".") {
			files = append(files, filepath.Join(filepath.Dir(name), e.Name()))
		}
	}
	return files, err
}

// leaveNote writes a note under a name that nothing has yet, and returns what had to be appended to it. The note comes
// before what it is about, and takes the name: two nodes cannot both have it.
func leaveNote(name string, note []byte) (suffix string, err error) {
	for n := range 1000 {
		if n > 0 {
			suffix = fmt.Sprintf(".%d", n)
		}
		taken, err := stemmed(name + suffix)
		if err != nil {
			return "", err
		}
		if len(taken) > 0 {
			continue
		}
		f, err := os.OpenFile(name+suffix+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(note)
		return suffix, errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("%s is taken, and a thousand names after it", name)
}
