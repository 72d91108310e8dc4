package format

import (
	"path"
	"slices"
	"strings"
)

// unfinishedWords say in a name, beside others, that what it names is being written; unfinishedEndings do so at its end, where
// the same word elsewhere says something else.
var (
	unfinishedWords   = set("tmp unfinished incomplete inprogress uncommitted writing uploading")
	unfinishedEndings = []string{".part", ".partial", ".temp", ".new~", ".lck"}
)

// saysUnfinished reports whether a name says that it is changed when what it names is written: checkpoint_3000.tmp-1714560000
// (T5X), checkpoint_300tmp (flax), tmp-checkpoint-500, 1000.orbax-checkpoint-tmp-7, ckpt_6.pt.part. One that has no other
// word is somebody's own.
func saysUnfinished(name string) bool {
	if slices.Contains(unfinishedEndings, strings.ToLower(path.Ext(name))) {
		return true
	}
	found, more := false, false
	for _, p := range pieces(stemOf(name)) {
		word := !p.number && unfinishedWords[p.text]
		found, more = found || word, more || !word
	}
	return found && more
}

// lonely reports whether a file with a temporary word in its name may be all that a program keeps: model_tmp.pth.
func lonely(name string) bool {
	return !strings.HasPrefix(name, ".") && isTemporary(name) && slices.Contains(strongEndings, strings.ToLower(path.Ext(name)))
}
