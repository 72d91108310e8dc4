package format

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// severalSaves reports whether the files of a directory with this name are several saves, and not the parts of one: it is a
// directory of checkpoints, then.
func severalSaves(d *dir, t title, files []member) bool {
	steps, slots := map[int64]bool{}, map[string]bool{}
	parts := map[string]string{}                        // of each part of a state, which of those that are written over it is
	turns := false                                      // the same part is there twice: best and last
	times := map[string]string{}                        // of each part, the time in its name
	later := false                                      // the same part is there of two times
	bare, other := map[string]bool{}, map[string]bool{} // of each ending, a word for a checkpoint alone, and a name of its own
	alike := map[string]bool{}                          // names that differ in a measure alone
	for _, m := range files {
		if m.form != nil || isSide(m.path) {
			continue
		}
		if name := m.template(d.path); t.step < 0 && m.step < 0 && m.rank < 0 && m.when == "" {
			if alike[name] { // ckpt_best_0.85.pth, ckpt_best_0.89.pth
				return true
			}
			alike[name] = true
		}
		if t.step < 0 && path.Dir(m.path) == d.path && m.roles == "" && m.step < 0 && m.rank < 0 && m.slot == "" {
			ending := endingOf(path.Base(m.path))
			bare[ending] = bare[ending] || checkpointWord(stemOf(path.Base(m.path)))
			other[ending] = other[ending] || m.family != ""
			if bare[ending] && other[ending] { // pretrain.pth.tar beside checkpoint.pth.tar
				return true
			}
		}
		dir := path.Dir(m.path)
		above := titleOf(path.Base(dir))
		if dir == d.path {
			above = title{step: -1}
		}
		if t.unit == UnitEpoch && (counts(m.title, path.Base(m.path)) || counts(above, path.Base(dir))) {
			return true // epoch_2/iter_500: of the steps of an epoch
		}
		if above.step >= 0 && above.roles == "" && above.step != t.step {
			steps[above.step] = true // in a directory of a step of its own
		}
		if m.step >= 0 && m.step != t.step {
			steps[m.step] = true
		}
		if partOnly(m.roles) { // optimizer_last.pkl beside training.pkl
			continue
		}
		if slot := cmp.Or(m.slot, above.slot); slot != "" && (m.slot != "" || above.family == "" && above.roles == "") {
			slots[slot] = true // best/ and last/, too
		}
		part := m.roles + "|" + dir
		if at, found := times[part]; m.family == "" && m.step < 0 && m.rank < 0 && len(m.when) >= dateDigits {
			later = later || found && at != m.when
			times[part] = m.when
		}
		if m.slot == "best" { // model_best.pth.tar beside checkpoint.pth.tar
			part = strings.TrimPrefix(part, "model")
		}
		before, found := parts[part]
		turns = turns || found && before != m.slot
		parts[part] = m.slot
	}
	switch {
	case t.step >= 0 && t.family != "" && turns: // whatever number its name has: resnet50_e50/ckpt.pth.tar, ckpt.best.pth.tar
		return true
	case len(steps) > 1, len(steps) > 0 && !t.named:
		return true
	case later && t.step < 0 && t.when == "": // named by their times alone
		return true
	case len(slots) > 1 && t.step < 0: // best and last are two
		return true
	}
	return len(slots) > 0 && (t.step < 0 && t.slot == "" || !t.named && allBelow(d, files))
}

// checkpointWord reports whether a name is a word for a checkpoint, and no word for what goes with one: training.pkl.
func checkpointWord(stem string) bool {
	stem = strings.ToLower(stem)
	return opaqueWords[stem] && !strings.HasPrefix(stem, "state")
}

// counts reports whether a name says a step, and no number of a part.
func counts(t title, name string) bool {
	return t.step >= 0 && t.unit == UnitStep && (t.named || t.roles == "" && t.slot == "" && checkpointName(name))
}

// partOnly reports whether a file is by its name a part of a state that is not one by itself.
func partOnly(roles string) bool {
	return roles == "optimizer" || roles == "scheduler" || roles == "scaler" || roles == "rng"
}

// inOneBelow reports whether all of a save lies in one directory of that which is taken for it, and that is no part of a model
// by its name: runs/3f2a9c1e/ckpt.
func inOneBelow(d *dir, files []member) bool {
	below := path.Dir(files[0].path)
	return below != d.path && titleOf(path.Base(below)).roles == "" &&
		!slices.ContainsFunc(files, func(m member) bool { return path.Dir(m.path) != below })
}

// allBelow reports whether all of a save lies in directories of that which is taken for it.
func allBelow(d *dir, files []member) bool {
	return !slices.ContainsFunc(files, func(m member) bool { return path.Dir(m.path) == d.path })
}
