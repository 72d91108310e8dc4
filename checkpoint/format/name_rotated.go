package format

import (
	"path"
	"slices"
	"strings"
)

// maxRotated is the highest number of a copy. What is higher behind a name is a step.
const maxRotated = 9

// rotated takes a small number behind an ending for that of a copy, where the file without it is there: ckpt.pt.1 is what
// ckpt.pt was before. Should it count epochs, the content says so, or their times tell which is the newest.
func (t title) rotated(root *dir, name string) title {
	before := strings.TrimSuffix(name, path.Ext(name))
	n, ok := digits(strings.TrimPrefix(path.Ext(name), "."))
	if !ok || n > maxRotated || len(path.Ext(name)) > 2 || !slices.Contains(endings, strings.ToLower(path.Ext(before))) || !root.isFile(before) {
		return t
	}
	if of := titleOf(before); of.step < 0 {
		of.when = path.Ext(name)[1:]
		return of
	}
	return t
}
