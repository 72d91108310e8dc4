package format

import (
	"cmp"
	"slices"
	"strings"
)

// Some programs keep each part of a state in a directory of its own, in which the files have the numbers of the steps:
// netG/netG_100.pth and netD/netD_100.pth, model/epoch_3.pt and optimizer/epoch_3.pt. The files of one step are one save.

// maxApart bounds how many such directories there may be.
const maxApart = 16

// apart lists the saves of which the parts lie in directories of their own, and the names of these.
func (l *look) apart(root *dir) (saves []*save, dirs map[string]bool, err error) {
	names := root.dirs(func(name string) bool {
		t := titleOf(name)
		return t.roles != "" && t.roles != "args" && t.family == "" && t.slot == "" && t.when == "" && t.step < 0 && t.rank < 0
	})
	if len(names) < 2 || len(names) > maxApart {
		return nil, nil, nil
	}
	type key struct {
		unit Unit
		step int64
	}
	of, dirs := map[key]*save{}, map[string]bool{}
	common := 0
	for _, name := range names {
		d, err := l.dir(root.join(name))
		if vanished(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		parts, err := l.plainFiles(d, d.files(func(string) bool { return true }))
		if err != nil {
			return nil, nil, err
		}
		parts = slices.DeleteFunc(parts, func(s *save) bool { return s.step < 0 })
		if len(parts) == 0 || slices.ContainsFunc(parts, func(s *save) bool { return s.family != parts[0].family }) {
			continue // several series
		}
		dirs[name] = true
		for _, p := range parts {
			s := of[key{p.unit, p.step}]
			if s == nil {
				s = &save{title: title{step: p.step, unit: p.unit, named: p.named, rank: -1}, family: "/apart|" + string(p.unit)}
				of[key{p.unit, p.step}] = s
				saves = append(saves, s)
			} else {
				common++
			}
			for _, m := range p.members {
				m.roles = cmp.Or(m.roles, titleOf(name).roles)
				s.members = append(s.members, m)
			}
			s.sides = append(s.sides, p.sides...)
		}
	}
	if len(dirs) < 2 || common < len(dirs)-1 {
		return nil, nil, nil
	}
	for _, s := range saves {
		s.templates(strings.TrimSuffix(root.path, "."))
	}
	return saves, dirs, nil
}
