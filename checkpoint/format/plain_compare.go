package format

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// unlikelyYears takes back numbers that are years where nothing beside them is a step: model_2026.pt.
func unlikelyYears(all []*save) {
	sure := map[string]bool{}
	for _, s := range all {
		if s.step >= 0 && !s.yearlike {
			sure[s.family] = true
		}
	}
	for _, s := range all {
		if s.yearlike && !sure[s.family] {
			s.step = -1
		}
	}
}

// dated reports whether a save is a directory with a word for a checkpoint and the time of the save in its name, by which such
// are ordered: CKPT+2026-11-20+13-00-00. Without the word it may be the directory of a training run.
func (s *save) dated() bool {
	return s.directory && s.step < 0 && len(s.when) >= dateDigits && !strings.ContainsFunc(s.when, func(r rune) bool { return r < '0' || '9' < r }) &&
		checkpointName(path.Base(s.members[0].path))
}

// compare finds what each save has to have: what the two before it of its family both have, and for the first what all
// after it have. What is written now and then alone is asked of none.
func compare(all []*save) {
	families := map[string][]*save{}
	for _, s := range all {
		if (s.step >= 0 || s.dated()) && len(s.has) > 0 {
			families[s.family] = append(families[s.family], s)
		}
	}
	for _, f := range families {
		slices.SortStableFunc(f, func(a, b *save) int { return cmp.Or(cmp.Compare(b.step, a.step), strings.Compare(b.when, a.when)) })
		for i, s := range f {
			others := f[i+1 : min(i+3, len(f))]
			if len(others) > 0 {
				s.before = others[0]
			}
			if len(others) == 0 {
				others = f[max(0, i-4):i]
			}
			for n, o := range others {
				if n == 0 {
					s.required, s.world = slices.Clone(o.has), o.ranks
					continue
				}
				s.required = slices.DeleteFunc(s.required, func(t string) bool { return !slices.Contains(o.has, t) })
				s.world = min(s.world, o.ranks)
			}
			// A configuration is no part of a state: it is written once, or beside weights that load without it.
			s.required = slices.DeleteFunc(s.required, func(t string) bool {
				return strings.HasPrefix(path.Base(t), "args|") && strings.HasSuffix(t, ".json")
			})
			// Nothing in common: they were written in different ways.
			if len(s.has) > 0 && !slices.ContainsFunc(s.required, func(t string) bool { return slices.Contains(s.has, t) }) {
				s.required, s.world = nil, 0
			}
		}
	}
}
