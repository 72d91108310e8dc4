package format

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Some programs keep each part of a state in a directory of its own, in which the files have the numbers of the steps:
// netG/netG_100.pth and netD/netD_100.pth, models/3.pt and optimizers/3.pt, G/latest.pth and optG/latest.pth. What has the same
// step, or the same word for the newest, is one save.

// maxApart bounds how many such directories there may be.
const maxApart = 16

// turn is what tells one save from the others of a directory.
type turn struct {
	unit Unit
	step int64
	slot string
}

// partIn is the part of a state that a directory is for by its name, empty where it is for none.
func partIn(name string) string {
	t := titleOf(strings.TrimSuffix(name, "s"))
	if t.roles == "args" || t.family != "" || t.slot != "" || t.when != "" || t.step >= 0 || t.rank >= 0 {
		return ""
	}
	return t.roles
}

// ChiefPart is of directories that are side by side, and each for a part of a state by its name (_actor, _critic), that of which a
// program is most likely told; empty where there is no such one, or another beside them.
func ChiefPart(paths []string) (chief string) {
	best := -1
	for _, p := range paths {
		part := partIn(path.Base(p))
		if part == "" || path.Dir(p) != path.Dir(paths[0]) || len(paths) > maxApart {
			return ""
		}
		if n, ok := importance[part]; best < 0 || ok && n > best {
			chief, best = p, max(n, 0)
		}
	}
	return chief
}

// OfRanks reports whether directories are by their names those of the ranks of one training run, all from 0 on: rank0, rank1.
func OfRanks(paths []string) bool {
	var ranks rankSet
	for _, p := range paths {
		t := titleOf(path.Base(p))
		if t.rank < 0 || t.of != 0 || t.step >= 0 || t.family != "" || path.Dir(p) != path.Dir(paths[0]) {
			return false
		}
		ranks = append(ranks, t.rank)
	}
	_, gap := ranks.sorted().gap()
	return len(paths) > 1 && !gap
}

// ForStates reports whether a directory is by its name there for checkpoints: trainstep_checkpoints, models.
func ForStates(dir string) bool {
	t := titleOf(path.Base(dir))
	return t.step < 0 && t.rank < 0 && t.slot == "" && t.when == "" && (checkpointName(path.Base(dir)) || partIn(path.Base(dir)) == "model")
}

// SameName reports whether the names of two have the same words, but for those of parts and of which save it is.
func (c *Checkpoint) SameName(o Checkpoint) bool {
	return c.save != nil && o.save != nil && c.save.title.family == o.save.title.family
}

// apart lists the saves of which the parts lie in directories of their own, and the names of these.
func (l *look) apart(root *dir) (saves []*save, dirs map[string]bool, err error) {
	names := root.dirs(func(name string) bool { return partIn(name) != "" })
	if len(names) < 2 || len(names) > maxApart {
		return nil, nil, nil
	}
	of, dirs := map[turn]*save{}, map[string]bool{}
	common := 0
	for _, name := range names {
		turns, err := l.turnsIn(root.join(name))
		if err != nil {
			return nil, nil, err
		}
		for k, p := range turns {
			dirs[name] = true
			s := of[k]
			if s == nil {
				s = &save{title: title{step: k.step, unit: k.unit, slot: k.slot, named: p.named, rank: -1}, family: "/apart|" + k.slot + "|" + string(k.unit)}
				of[k] = s
				saves = append(saves, s)
			} else {
				common++
			}
			for _, m := range p.members {
				m.roles = cmp.Or(m.roles, partIn(name))
				s.members = append(s.members, m)
			}
			s.sides = append(s.sides, p.sides...)
		}
	}
	if len(dirs) < 2 || common < len(dirs)-1 {
		return nil, nil, nil
	}
	for _, s := range saves {
		slices.SortStableFunc(s.members, func(a, b member) int { return strings.Compare(a.path, b.path) })
		s.templates(strings.TrimSuffix(root.path, "."))
	}
	slices.SortFunc(saves, func(a, b *save) int { return cmp.Or(cmp.Compare(a.step, b.step), strings.Compare(a.slot, b.slot)) })
	return saves, dirs, nil
}

// turnsIn lists the saves in a directory for one part, none where there is more than one series.
func (l *look) turnsIn(name string) (turns map[turn]*save, err error) {
	d, err := l.dir(name)
	if vanished(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parts, err := l.plainFiles(d, d.files(func(string) bool { return true }))
	if err != nil {
		return nil, err
	}
	turns = map[turn]*save{}
	for _, p := range parts {
		k := turn{p.unit, p.step, p.slot}
		if p.step < 0 && p.slot == "" || turns[k] != nil {
			return nil, nil
		}
		turns[k] = p
	}
	return turns, nil
}
