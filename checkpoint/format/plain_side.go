package format

import (
	"errors"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Beside files of tensors some programs write how far the training is, as text: model.npz.progress.yml, epoch_3.yaml,
// epoch.txt. Such files are parts of the save beside which they stand, and never one by themselves.

// sideEndings are those of text that may say how far the training is.
var sideEndings = []string{".json", ".yaml", ".yml", ".txt", ".epoch", ".iter", ".trainstats", ".progress"}

// isSide reports whether a file of a save is no file of tensors by its name.
func isSide(name string) bool { return slices.Contains(sideEndings, strings.ToLower(path.Ext(name))) }

// progressWords are in the names of files that say how far the training is, of whatever save.
var progressWords = set("progress state states trainer training train resume counter counters iter iteration epoch step steps trainstats status " +
	"running meta metadata info")

// notProgress are the names of files that say it of what has ended, or of what is planned.
var notProgress = set(hfState + " train.txt train.json train.yaml train.yml training.yaml training.yml info.txt meta.yaml metadata.yaml status.txt")

// tellsProgress reports whether a name is that of a file that says how far the training is.
func tellsProgress(name string) bool {
	if !isSide(name) || notProgress[name] || strings.HasPrefix(name, ".") {
		return false
	}
	found := false
	for _, p := range pieces(sideStem(name)) {
		word := progressWords[p.text]
		if found = found || word; !word && (p.number || roleWords[p.text] == "args" || !neutralWords[p.text] && !slotWords[p.text] && !endingWords[p.text] && roleWords[p.text] == "") {
			return false
		}
	}
	return found
}

// sideStem is a name without its ending, but for one that says what the file is.
func sideStem(name string) string {
	if ext := path.Ext(name); progressWords[strings.TrimPrefix(ext, ".")] {
		return stemOf(strings.TrimSuffix(name, ext)) + ext
	}
	return stemOf(strings.TrimSuffix(name, path.Ext(name)))
}

// newestSlots are words for what is newest.
var newestSlots = set("last latest current cur")

// attachSides gives each save the files of text that stand beside it: those with its own stem (epoch_3.pt, epoch_3.yaml),
// and to one that is written over in place, where there is no other, or no other is a model by its name, those that say how far
// the training is.
func attachSides(root *dir, names []string, saves []*save) {
	place := map[string][]*save{} // those in place, of each slot
	stems := map[string]*save{}
	for _, s := range saves {
		for _, m := range s.members {
			stems[stemOf(path.Base(m.path))] = s
		}
		if s.step < 0 && s.when == "" {
			place[s.slot] = append(place[s.slot], s)
		}
	}
	var texts []string
	for _, name := range names {
		if !isSide(name) {
			continue
		}
		if ofArguments(name) {
			texts = append(texts, name)
			continue
		}
		t := titleOf(sideStem(name))
		s := stems[sideStem(name)]
		if len(place[t.slot]) == 0 && newestSlots[t.slot] {
			t.slot = "" // last_epoch.txt
		}
		if s == nil && tellsProgress(name) {
			s = model(place[t.slot])
		}
		if s != nil && (s.step >= 0 || tellsProgress(name)) {
			s.sides = append(s.sides, root.join(name))
		} else if s == nil {
			texts = append(texts, name)
		}
	}
	attachTexts(root, texts, place)
}

// model is the only one of several saves, or the only one that is a model by its name; nil where there is none such.
func model(saves []*save) (only *save) {
	if len(saves) == 1 {
		return saves[0]
	}
	for _, s := range saves {
		switch is := slices.ContainsFunc(s.members, func(m member) bool { return slices.Contains(strings.Fields(m.roles), "model") }); {
		case is && only != nil:
			return nil
		case is:
			only = s
		}
	}
	return only
}

// maxSide bounds a file of text that is read to learn how far the training is.
const maxSide = 1 << 20

// sideContent reads a file that stands beside tensors: a configuration, or how far the training is.
func (l *look) sideContent(name string) (in content, err error) {
	if strings.HasSuffix(name, ".json") {
		return l.jsonContent(name)
	}
	in = content{step: -1, alone: true}
	data, err := l.small(name, maxSide)
	if err != nil {
		if p, ok := errors.AsType[*problem.Error](err); ok && p.Reason == problem.SizeMismatch {
			return in, nil
		}
		return in, err
	}
	if !isText(data) {
		return in, nil
	}
	return textContent(path.Base(name), string(data), in), nil
}

// textContent reads lines such as "epoch: 3" or "step = 100", or one number, of which the name says what it counts.
func textContent(name, text string, in content) content {
	numbers := map[string]int64{}
	if n, ok := digits(strings.TrimSpace(text)); ok {
		for _, p := range pieces(sideStem(name)) {
			if epochWords[p.text] || stepWords[p.text] {
				numbers[p.text] = n
			}
		}
	}
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !found {
			key, value, found = strings.Cut(line, "=")
		}
		if n, ok := digits(strings.TrimSpace(value)); found && ok && !strings.HasPrefix(key, " ") {
			numbers[strings.ToLower(strings.Trim(strings.TrimSpace(key), `"'`))] = n
		}
	}
	if !tellsProgress(name) { // a configuration says "epochs" of what is to be done
		delete(numbers, "epochs")
		delete(numbers, "steps")
	}
	in.count(numbers)
	return in
}

// isText reports whether something is text, as far as its bytes tell.
func isText(data []byte) bool {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 && len(data)-i >= utf8.UTFMax || r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != 0x1b {
			return false
		}
		i += n
	}
	return true
}
