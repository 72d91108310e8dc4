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
	if first := firstOf(root, name); first != "" {
		of := titleOf(first).rotated(root, first)
		of.roles += " 2"
		return of
	}
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

// firstOf is the name of the first of two parts of one kind, where a name says that it is the second, and there is no third: ema.pth
// beside ema2.pth.
func firstOf(root *dir, name string) string {
	stem, ending := stemOf(name), endingOf(name)
	before, found := strings.CutSuffix(stem, "2")
	ps := pieces(before)
	if !found || ending == "" || len(ps) == 0 || before+"2"+ending != name {
		return ""
	}
	last := ps[len(ps)-1]
	if role := roleWords[last.text]; last.number || len(last.text) < 2 || role == "" || role == "model" ||
		!strings.HasSuffix(strings.ToLower(before), last.text) || !root.isFile(before+ending) || root.isFile(before+"1"+ending) || root.isFile(before+"3"+ending) {
		return ""
	}
	return before + ending
}
