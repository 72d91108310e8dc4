package format

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxMembers bounds the files of one save in a directory, and maxPlainDirs how many directories of each family are read;
// the older ones are taken to be like them.
const (
	maxMembers   = 1 << 14
	maxPlainDirs = 16
)

// plainDirs lists the directories that are saves.
func (l *look) plainDirs(root *dir) (saves []*save, err error) {
	names := root.dirs(func(name string) bool {
		return !strings.HasPrefix(name, ".") && name != quarantined && !isTemporary(name)
	})
	looked := newestByTitle(names, maxPlainDirs)
	each := make([]*save, len(looked))
	err = l.eachOf(len(looked), func(i int) error {
		d, err := l.dir(root.join(looked[i]))
		if vanished(err) {
			return nil
		}
		if err != nil {
			t := titleOf(looked[i])
			if t.step < 0 && errors.Is(err, fs.ErrPermission) {
				return nil // lost+found
			}
			each[i] = &save{title: t, directory: true, family: dirFamily(t), members: []member{{path: root.join(looked[i]), title: t}}, has: []string{}, unread: true}
			return nil // the check says so
		}
		each[i], err = l.saveIn(d, looked[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	dropAmongSeveral(looked, each)
	like := map[string]*save{}
	for _, s := range each {
		if s != nil && len(s.has) > 0 {
			like[s.family] = s
		}
	}
	for _, name := range names {
		i, found := slices.BinarySearch(looked, name)
		var s *save
		if found {
			s = each[i]
		}
		if !found || s != nil && len(s.has) == 0 && !s.unread {
			// Not read, or with nothing in it yet: it is a save when its likes are.
			t := titleOf(name)
			if like[dirFamily(t)] == nil || t.step < 0 {
				continue
			}
			s = &save{title: t, directory: true, family: dirFamily(t), members: []member{{path: root.join(name), title: t}}}
		}
		if s != nil {
			saves = append(saves, s)
		}
	}
	byTimes(saves)
	firstOfTwo(saves)
	return saves, nil
}

// dropAmongSeveral leaves out the directories of several saves, and of those that are named like them but for numbers the ones
// that hold a single file: those are directories of saves, too, of a training run each.
func dropAmongSeveral(names []string, saves []*save) {
	several := map[string]bool{}
	for i, s := range saves {
		if s != nil && s.several {
			several[numberless(names[i])] = true
			saves[i] = nil
		}
	}
	for i, s := range saves {
		if s != nil && s.kept && several[numberless(names[i])] {
			saves[i] = nil
		}
	}
}

func dirFamily(t title) string {
	return "/" + t.family + "|" + t.slot + "|" + t.roles + "|" + string(t.unit)
}

// saveIn is the save that a directory is, nil when it is something else, and one without members when it may become one.
func (l *look) saveIn(d *dir, name string) (*save, error) {
	t := titleOf(name).glued()
	if t.ofRun(name) && hasEvents(d) {
		t = title{step: -1, rank: -1}
	}
	s := &save{title: t, directory: true, family: dirFamily(t), members: []member{{path: d.path, title: t}}}
	files, err := l.membersOf(d)
	if err != nil {
		return nil, err
	}
	if isArray(d) {
		return nil, nil
	}
	tensors, forms, bundles := 0, 0, 0
	for _, m := range files {
		switch {
		case m.form == &tfBundle:
			bundles++ // alone it is the checkpoint
		case m.form != nil:
			forms++
		case !isSide(m.path):
			tensors++
		}
	}
	if bundles > 1 {
		tensors += bundles
	}
	if tensors > 0 || t.step >= 0 && (forms > 1 || forms == 1 && t.named && t.unit == UnitStep) {
		tensors += forms // else the one of a form of its own is the checkpoint
	}
	known := t.step >= 0 || t.slot != "" && (t.family == "" || !pastWords[t.slot]) || t.family == "" || l.hasModel(d)
	switch {
	case tensors == 0 && t.step >= 0: // perhaps one that has just begun, or of which this is left
		if bundles > 0 {
			left := save{members: files}
			left.templates(d.path)
			s.has = left.has
		}
		return s, nil
	case tensors == 0, !known, t.step < 0 && isHash(name) && inOneBelow(d, files):
		return nil, nil
	case tensors == 1 && t.step < 0 && (t.slot == "" || t.slot == "warmup") && !l.hasModel(d): // that of a phase
		kept := keptIn(files)
		if isHash(name) && kept.step >= 0 {
			return nil, nil // the file says of which step it is: the random name is that of a run, and others have others
		}
		kept.kept = !isHash(name) // it is one of a save
		return kept, nil
	case t.step < 0 && tensors == 1 && l.ofLightning(files):
		return nil, nil // a directory in which Lightning keeps its best
	case strings.Contains(name, "=") && tensors == 1 && l.ofLightning(files):
		kept := keptIn(files) // a measure with a slash in its name has made the directory: epoch=2-val/loss=0.1.ckpt
		kept.kept = true
		return kept, nil
	case severalSaves(d, t, files):
		return &save{several: true}, nil
	}
	whole := save{members: files}
	whole.templates(d.path)
	s.has, s.ranks = whole.has, whole.ranks
	return s, nil
}

// ofLightning reports whether one of these files is a state of Lightning's.
func (l *look) ofLightning(files []member) bool {
	return slices.ContainsFunc(files, func(m member) bool {
		if path.Ext(m.path) != ".ckpt" {
			return false
		}
		is, err := claimedByLightning(l, &Checkpoint{Path: m.path})
		return err == nil && is == yes
	})
}

// keptIn is the one file of a directory that is there to keep it in: checkpoint/ckpt.pth.
func keptIn(files []member) *save {
	only := files[slices.IndexFunc(files, func(m member) bool { return !isSide(m.path) })]
	s := &save{title: only.title, members: []member{only}, family: only.family + "|" + only.slot + "|" + string(only.unit)}
	if s.step < 0 {
		s.family += "|" + only.path // nothing to be compared with
	}
	s.templates("")
	return s
}

// hasModel reports whether a directory holds a model of Hugging Face's, whatever its name.
func (l *look) hasModel(d *dir) bool { return slices.ContainsFunc(d.names, isHFWeights) }

// membersOf lists the files of a save in a directory, and in those below it.
func (l *look) membersOf(d *dir) (files []member, err error) {
	name := path.Base(d.path)
	t := titleOf(name).glued()
	levels := 1
	if t.step >= 0 && (t.named || checkpointName(name)) {
		levels = 2 // checkpoint_20/policies/default/state.pkl
	}
	err = l.collect(d, &files, levels, t.step >= 0)
	byRank(path.Base(d.path), files)
	return files, err
}

// byRank takes the numbers in the names of the files of one step for ranks, where no word says what they count and they begin
// at 0 without a gap: model_0.pt, model_1.pt, optimizer_0.pt, optimizer_1.pt in step_100.
func byRank(dir string, files []member) {
	t := titleOf(dir)
	if sure := t.named || checkpointName(dir); t.step < 0 || !sure && !ofLearners(files) {
		return
	}
	layers(files)
	bare := func(m member) bool {
		return m.step >= 0 && !m.named && m.rank < 0 && m.family == "" && m.form == nil && !isSide(m.path)
	}
	var numbers rankSet
	for _, m := range files {
		if bare(m) {
			numbers = append(numbers, m.step)
		}
	}
	if _, gap := numbers.sorted().gap(); gap {
		return
	}
	for i := range files {
		if m := &files[i]; bare(*m) {
			m.rank, m.step, m.roles = m.step, -1, strings.TrimSpace(m.roles+" #")
		}
	}
}

// learnerWords stand before the numbers of those who learn together.
var learnerWords = set("agent player expert member")

// ofLearners reports whether the files of a directory are those of such: agent_0.pt, agent_1.pt in 100.
func ofLearners(files []member) bool {
	return !slices.ContainsFunc(files, func(m member) bool { return !isSide(m.path) && !learnerWords[m.family] })
}

// layers takes numbers behind words of a program's own, in the files of one step, for those of its layers, where they are
// counted without a gap: dense_0.npz, dense_1.npz.
func layers(files []member) {
	bare := func(m member) bool {
		return m.step >= 0 && !m.named && m.rank < 0 && m.family != "" && m.form == nil && !isSide(m.path)
	}
	numbers := map[string]rankSet{}
	for _, m := range files {
		if bare(m) {
			numbers[m.family] = append(numbers[m.family], m.step)
		}
	}
	for i := range files {
		m := &files[i]
		set := numbers[m.family].sorted()
		if bare(*m) && len(set) > 1 && set[0] <= 1 && set[len(set)-1] == set[0]+int64(len(set))-1 {
			m.family, m.step = m.family+" "+strconv.FormatInt(m.step, 10), -1
		}
	}
}

// collect adds the files in a directory, and the bundles of tensors in that of a step.
func (l *look) collect(d *dir, files *[]member, levels int, ofStep bool) error {
	if ofStep {
		bundles, err := l.bundleIn(d)
		if err != nil {
			return err
		}
		*files = append(*files, bundles...)
	}
	for _, name := range d.names {
		if len(*files) >= maxMembers {
			return nil
		}
		switch {
		case d.isFile(name):
			strong, weak, own := fileKind(name)
			mine := strong || weak && path.Ext(name) != "" || strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") || tellsProgress(name)
			if !mine && (own || weak && (checkpointName(name) || titleOf(name).roles != "")) {
				var err error
				if mine, err = l.holdsTensors(d.join(name)); err != nil {
					return err
				}
			}
			if !mine && ofStep && slices.Contains(boosterEndings, path.Ext(name)) && !isSide(name) {
				var err error
				if mine, err = l.isBooster(d.join(name)); err != nil {
					return err
				}
			}
			if mine {
				*files = append(*files, member{path: d.join(name), title: titleOf(name)})
			}
		case d.isDir(name) && levels > 0 && !strings.HasPrefix(name, "."):
			below, err := l.dir(d.join(name))
			if vanished(err) {
				continue
			}
			if err != nil {
				return err
			}
			form, err := l.formOf(below, titleOf(path.Base(d.path)).step)
			if err != nil {
				return err
			}
			if form != nil {
				*files = append(*files, member{d.join(name), titleOf(name), form})
				continue
			}
			if err := l.collect(below, files, levels-1, ofStep); err != nil {
				return err
			}
		}
	}
	return nil
}
