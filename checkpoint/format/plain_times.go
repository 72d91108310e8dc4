package format

import (
	"cmp"
	"path"
	"slices"
)

// timeDigits are the fewest of a number that is a time since 1970.
const timeDigits = 10

// isTime reports whether a name is nothing but a time since 1970.
func isTime(name string) bool {
	_, number := digits(name)
	return number && len(name) >= timeDigits && name[0] != '0'
}

// dirOf is the directory of a save, or in which it is the only file.
func (s *save) dirOf() string {
	if s.kept {
		return path.Dir(s.members[0].path)
	}
	return s.members[0].path
}

// byTimes wants of the last save in directories that are called after when they were written what the two before it both have:
// there they are compared by their names, which say no step.
func byTimes(saves []*save) {
	var timed []*save
	for _, s := range saves {
		if (s.directory || s.kept) && s.step < 0 && isTime(path.Base(s.dirOf())) {
			timed = append(timed, s)
		}
	}
	slices.SortFunc(timed, func(a, b *save) int { // of the same length, for some centuries
		return cmp.Compare(path.Base(b.dirOf()), path.Base(a.dirOf()))
	})
	if len(timed) < 3 || !timed[0].kept || timed[1].kept || timed[2].kept {
		return
	}
	last, dir := timed[0], timed[0].dirOf()
	mine := save{members: last.members}
	mine.templates(dir)
	required := slices.DeleteFunc(slices.Clone(timed[1].has), func(t string) bool { return !slices.Contains(timed[2].has, t) })
	if !slices.ContainsFunc(mine.has, func(t string) bool { return slices.Contains(required, t) }) {
		return
	}
	t := titleOf(path.Base(dir))
	*last = save{title: t, directory: true, family: dirFamily(t), members: []member{{path: dir, title: t}}, has: mine.has, required: required}
}
