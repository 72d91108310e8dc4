package format

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// byStem puts what is written over in place under one stem, those with an ending for the state of an optimizer, to the other:
// checkpoint.ckpt and checkpoint.optim, net.bin and net.bin.optim, latest.pdparams and latest.pdopt and latest.states.
func byStem(saves []*save) []*save {
	single := func(s *save) (stem string, optimizer, ok bool) {
		if s.step >= 0 || len(s.members) != 1 {
			return "", false, false
		}
		name := path.Base(s.members[0].path)
		ext := strings.ToLower(path.Ext(name))
		return strings.TrimSuffix(name, path.Ext(name)), slices.Contains(optimizerEndings, ext), ext != ""
	}
	alone := map[*save]bool{}
	for _, s := range saves {
		_, optimizer, ok := single(s)
		alone[s] = ok && !optimizer
	}
	return slices.DeleteFunc(saves, func(s *save) bool {
		stem, optimizer, ok := single(s)
		if !ok || !optimizer {
			return false
		}
		i := slices.IndexFunc(saves, func(o *save) bool {
			if !alone[o] || o.when != s.when {
				return false
			}
			name := path.Base(o.members[0].path)
			return name == stem || strings.TrimSuffix(name, path.Ext(name)) == stem
		})
		if i >= 0 {
			saves[i].members = append(saves[i].members, s.members...)
		}
		return i >= 0
	})
}

// byOptimizer puts saves of steps that are by their names the state of an optimizer alone to those of the one series beside them
// that have the same steps: adam-100.pt and net-100.pt.
func byOptimizer(saves []*save) []*save {
	with, others := map[int64]*save{}, map[int64]*save{}
	family := map[string]bool{}
	for _, s := range saves {
		switch {
		case s.step < 0:
		case s.slot == "" && s.major == "" && s.title.family == "" && slices.ContainsFunc(s.members, ofOptimizer) && !slices.ContainsFunc(s.members, func(m member) bool { return m.roles != "args" && !ofOptimizer(m) }):
			with[s.step] = s
		default:
			others[s.step] = s
			family[s.family] = true
		}
	}
	if len(with) < 2 || len(family) != 1 {
		return saves
	}
	for step, s := range with {
		if o := others[step]; o == nil || o.unit != s.unit || o.slot != "" || slices.ContainsFunc(o.members, ofOptimizer) {
			return saves
		}
	}
	return slices.DeleteFunc(saves, func(s *save) bool {
		if with[s.step] != s {
			return false
		}
		others[s.step].members = append(others[s.step].members, s.members...)
		return true
	})
}

// bySlot puts what is by its name the state of an optimizer alone, written over in place, to the only other one beside it that has
// the same word for which of several it is, and the same name where it has one: net_latest.pth and optimizer_latest.pth.
func bySlot(saves []*save) []*save {
	all := slices.Clone(saves)
	return slices.DeleteFunc(saves, func(s *save) bool {
		if s.step >= 0 || s.slot == "" || slices.ContainsFunc(s.members, func(m member) bool { return !ofOptimizer(m) }) {
			return false
		}
		var other *save
		for _, o := range all {
			switch {
			case o == s || o.step >= 0 || o.slot != s.slot || o.when != s.when || s.title.family != "" && o.title.family != s.title.family:
			case other != nil || slices.ContainsFunc(o.members, ofOptimizer):
				return false
			default:
				other = o
			}
		}
		if other != nil {
			other.members = append(other.members, s.members...)
		}
		return other != nil
	})
}

// firstOfTwo takes the first of two numbers without a word for that of the save, where the second does not grow with it: it is
// the iteration of an epoch, as in checkpoint_2_9999 and checkpoint_3_512.
func firstOfTwo(saves []*save) {
	families := map[string][]*save{}
	for _, s := range saves {
		if s.major != "" && s.step >= 0 {
			f := "|" + s.title.family + "|" + string(s.unit)
			families[f] = append(families[f], s)
		}
	}
	for _, f := range families {
		slices.SortFunc(f, func(a, b *save) int { return cmp.Or(cmp.Compare(a.epoch(), b.epoch()), cmp.Compare(a.step, b.step)) })
		grows := true
		for i := range f[1:] {
			grows = grows && (f[i].epoch() == f[i+1].epoch() || f[i].step < f[i+1].step)
		}
		for _, s := range f {
			if !grows {
				s.step, s.unit = s.epoch(), UnitEpoch
				for i := range s.members {
					s.members[i].step, s.members[i].unit = s.step, s.unit
				}
			}
		}
	}
}

// epoch is the first of two numbers without a word.
func (t title) epoch() int64 {
	n, _ := digits(t.major)
	return n
}
