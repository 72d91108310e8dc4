package format

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Files of forms that are not read are taken for parts of a save by their names: those of frameworks that are not of
// Python, and of programs that write bytes of their own. Nothing is known of what is in them. To pass them over would be
// to start over beside them.

// opaqueEndings are those that such files have, and hardly anything else that has the number of a step.
var opaqueEndings = []string{".caffemodel", ".solverstate", ".weights", ".params", ".states", ".mdl", ".mat", ".bson", ".jld2", ".mpk", ".d3",
	".tckpt", ".ot", ".t7", ".state", ".opt", ".optim", ".eqx", ".ckp", ".dnn", ".ckpt", ".checkpoint", ".chkpt", ".model"}

// checkpointEndings are those that are words for a checkpoint.
var checkpointEndings = []string{".ckp", ".ckpt", ".checkpoint", ".chkpt", ".state", ".states"}

// withoutOwn is a name without an ending that is none of those that are known, and so says nothing.
func withoutOwn(name string) string {
	if ext := path.Ext(name); ext != "" && ownEnding(name, strings.ToLower(ext)) {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// optimizerEndings are those of them that say that the state of an optimizer is in it.
var optimizerEndings = []string{".solverstate", ".states", ".state", ".opt", ".optim", ".pdopt"}

// ofAnother reports whether a name is that of a file with an ending more, for the state of the optimizer: model.bin.optim.
func ofAnother(name string) bool {
	ext := path.Ext(name)
	return slices.Contains(optimizerEndings, strings.ToLower(ext)) && slices.Contains(endings, strings.ToLower(path.Ext(strings.TrimSuffix(name, ext))))
}

// stateWords and dataWords say in the name of such a file that it is a state, and that it is none.
var (
	opaqueWords = set("checkpoint checkpoints ckpt ckpts ckpnt chkpt chkpnt ckp ckps snapshot state states")
	dataWords   = set("data dataset datasets feature features embedding embeddings prediction predictions preds sample samples log logs event events " +
		"cache index vocab token tokens tokenizer replay buffer image images output outputs result results trace profile")
)

// magics begin files that are known to be no state.
var magics = []string{"\x89PNG", "\xff\xd8\xff", "GIF8", "RIFF", "%PDF", "\x7fELF", "SQLite", "PAR1", "ARROW1", "OggS", "ID3", "fLaC", "ply\n", "\x00\x00\x00 ftyp", "#!"}

// opaque reports whether a file of no form that is known is likely to be of a save.
func opaque(name string, head []byte) bool {
	name = path.Base(name)
	if len(head) < 64 || isText(head) || slices.ContainsFunc(magics, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) }) {
		return false
	}
	t := titleOf(withoutOwn(name))
	checkpoint := false
	if ext := strings.ToLower(path.Ext(name)); saysState(ext) || slices.Contains(checkpointEndings, ext) {
		return true
	}
	for _, p := range pieces(stemOf(name)) {
		if checkpoint = checkpoint || opaqueWords[p.text]; dataWords[p.text] {
			return false
		}
	}
	switch {
	case checkpoint:
		return true
	case slices.Contains(opaqueEndings, strings.ToLower(path.Ext(name))):
		return t.step >= 0 || t.slot != ""
	}
	return t.step >= 0 && t.family == "" && (t.named || t.roles != "")
}

// notShorter wants a file of which nothing is known to be about as long as that of the save before it: one that was cut
// cannot be told otherwise.
func (l *look) notShorter(s *save, m member) error {
	if s.before == nil {
		return nil
	}
	template := m.template("")
	i := slices.IndexFunc(s.before.members, func(o member) bool { return o.template("") == template })
	if i < 0 {
		return nil
	}
	now, err := l.stat(m.path)
	if err != nil {
		return err
	}
	other := s.before.members[i].path
	then, err := l.stat(other)
	if err != nil {
		return nil //nolint:nilerr // it went away, and says nothing
	}
	if now.Size() < then.Size()/4*3 {
		return problem.New(problem.Truncated, "%s has %d bytes, and %s before it %d", m.path, now.Size(), other, then.Size())
	}
	return nil
}
