package format

import (
	"path"
	"slices"
	"strings"
)

// stateInEnding are words in endings that say by themselves that a state is in the file: .solverstate, .cbsnapshot, .trainstate.
var stateInEnding = []string{"snapshot", "checkpoint", "solverstate", "trainstate", "trainerstate", "optstate", "optimstate"}

// saysState reports whether an ending says that a state is in the file, whatever its form. Chkpt and the like are endings of
// anything, and what is in the file says more.
func saysState(ext string) bool {
	return !slices.Contains(strongEndings, ext) && !slices.Contains(backups, ext) &&
		slices.ContainsFunc(stateInEnding, func(word string) bool { return strings.Contains(ext, word) })
}

// hiddenState reports whether a hidden name is that of a state to resume from, which a program hides from its user. Most
// hidden files are being written, or somebody else's: ._checkpoint.pt, .checkpoint.pt.6bE5Ba1F.
func hiddenState(name string) bool {
	name = strings.TrimPrefix(name, ".")
	if !slices.Contains(strongEndings, strings.ToLower(path.Ext(name))) || strings.HasPrefix(name, "_") {
		return false
	}
	return checkpointName(name) || slices.ContainsFunc(pieces(stemOf(name)), func(p piece) bool { return p.text == "resume" })
}

// hiddenCopy reports whether a hidden file is one that gets its name when it is written: another of its series is there.
func hiddenCopy(root *dir, name string) bool {
	hidden, found := strings.CutPrefix(name, ".")
	return found && slices.ContainsFunc(root.names, func(other string) bool {
		return !strings.HasPrefix(other, ".") && seriesOf(other) == seriesOf(hidden) && root.isFile(other)
	})
}

// marks reports whether a file is empty and has the name of another with an ending more that is none of a file of tensors: what has
// uploaded the other has left it (ckpt-100.uploaded).
func (l *look) marks(root *dir, name string) bool {
	ext := path.Ext(name)
	other := strings.TrimSuffix(name, ext)
	if len(ext) < 3 || ext == name || strings.ContainsAny(ext, "0123456789") || slices.Contains(endings, strings.ToLower(ext)) || slices.Contains(backups, strings.ToLower(ext)) || !root.isFile(other) {
		return false
	}
	info, err := l.stat(root.join(name))
	return err == nil && info.Size() == 0
}
