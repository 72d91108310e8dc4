package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// QuarantineDir is where checkpoints go that must not be read: a folder in their root, which no framework looks into.
// Another name in the root itself would not do: some match theirs anywhere in a name.
const QuarantineDir = "quarantine"

// quarantine moves a checkpoint aside, with a note on why. Nothing is ever deleted. That it is gone already is no error:
// another node that shares the directory was faster.
func quarantine(root string, c format.Checkpoint, now time.Time) error {
	if c.Path == "." {
		return fmt.Errorf("%s is a checkpoint itself: its parts cannot be told from the rest, and stay", root)
	}
	from := filepath.Join(root, filepath.FromSlash(c.Path))
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir := filepath.Join(root, QuarantineDir, filepath.Dir(filepath.FromSlash(c.Path)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Base(from)
	note, err := json.Marshal(struct {
		Path   string         `json:"path"`
		Step   int64          `json:"step"`
		Reason problem.Reason `json:"reason"`
		Detail string         `json:"detail,omitempty"`
		At     time.Time      `json:"at"`
	}{c.Path, c.Step, cmp.Or(c.Reason, problem.Quarantined), c.Detail, now.UTC()})
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		to := filepath.Join(dir, name)
		if n > 0 {
			to = fmt.Sprintf("%s.%d", to, n)
		}
		if _, err := os.Lstat(to); err == nil && n < 1000 {
			continue // nobody knows whose it is: it came without a note
		}
		// The note comes first, and takes the name: two nodes cannot both have it.
		f, err := os.OpenFile(to+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return err
		}
		_, err = f.Write(append(note, '\n'))
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err = os.Rename(from, to); err == nil {
			return nil
		}
		if noNote := os.Remove(to + ".json"); errors.Is(err, fs.ErrNotExist) {
			return noNote
		}
		return err
	}
}
