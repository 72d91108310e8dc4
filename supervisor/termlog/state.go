package termlog

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/exitcodes/replace"
)

// WriteState keeps m as <dir>/<node>.json, one line of at most exitcodes.MaxMessage bytes and a newline. The directory
// is an ordinary one on a volume that outlives the container, so the file is replaced by a rename: a reader, a kill or a
// crash of the machine finds the old record or the new one.
//
// It takes as long as the volume does. The last element of dir is made where it is missing, and characters that a file
// name cannot have are written as %XX. Errors are those of package os; the old record is then still there. A kill may
// leave a temporary file behind, whose name begins with a dot.
func WriteState(dir, node string, m exitcodes.Message) error {
	if node == "" {
		return fmt.Errorf("state directory %s: no name for the node", dir)
	}
	name := url.PathEscape(node) + ".json"
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return replace.File(filepath.Join(dir, name), 0o644, replace.Bytes(append(m.Encode(exitcodes.MaxMessage), '\n')))
}
