package format

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxBelow bounds the directories that are searched on each of two levels, the newest eight of each series.
const maxBelow = 64

// findBelow looks for checkpoints one level below a directory that holds none, and then two: a directory was named that
// is too high. Those of one writer are one training run's (Lightning's version_0 and version_1); of several nobody can
// say which is meant, and neither where there are more directories than are searched. Further down than where something is
// found it is searched when all is wanted.
func (l *look) findBelow(root *dir, empty Found, all bool) (Found, error) {
	level := []*dir{root}
	var gathered []*Checkpoint
	for range 3 { // one level, then two; Lightning puts its own between
		var next []*dir
		found := empty
		full := false
		for _, d := range level {
			names := d.dirs(func(name string) bool { return !strings.HasPrefix(name, ".") && name != quarantined })
			newest := lastOfEach(names, 8)
			found.Unseen += len(names) - len(newest)
			for i, name := range newest {
				if len(next) == maxBelow {
					found.Unseen, full = found.Unseen+len(newest)-i, true
					break
				}
				below, err := l.dir(d.join(name))
				if vanished(err) || errors.Is(err, fs.ErrPermission) {
					continue // lost+found
				}
				if err != nil {
					return empty, err
				}
				next = append(next, below)
			}
		}
		formats := map[string]bool{}
		for _, d := range next {
			in, err := l.findIn(d)
			if err != nil {
				return empty, err
			}
			if len(in.Checkpoints) == 0 {
				continue
			}
			found.Checkpoints = append(found.Checkpoints, in.Checkpoints...)
			found.Below = append(found.Below, d.path)
			found.Format = in.Format
			formats[in.Format] = true
		}
		gathered = append(gathered, found.Checkpoints...)
		if all {
			next = slices.DeleteFunc(next, func(d *dir) bool {
				return slices.ContainsFunc(gathered, func(c *Checkpoint) bool { return d.path == c.Path || strings.HasPrefix(d.path, c.Path+"/") })
			})
		} else if len(found.Checkpoints) > 0 {
			found.Apart = full || len(formats) > 1 || len(found.Below) > 1 && !Versions(found.Below)
			found.Others = slices.DeleteFunc(slices.Clone(empty.Others), func(name string) bool {
				return slices.ContainsFunc(found.Below, func(b string) bool { return b == name || strings.HasPrefix(b, name+"/") })
			})
			return found, nil
		}
		level, empty.Unseen = next, found.Unseen
	}
	empty.Checkpoints = gathered
	return empty, nil
}

// lastOfEach lists so many of those names that differ in their numbers alone, the last by these, sorted.
func lastOfEach(names []string, most int) (last []string) {
	series := map[string][]string{}
	for _, name := range names {
		series[numberless(name)] = append(series[numberless(name)], name)
	}
	for _, s := range series {
		slices.SortFunc(s, func(a, b string) int { return byNumbers(b, a) })
		last = append(last, s[:min(len(s), most)]...)
	}
	slices.Sort(last)
	return last
}

// byNumbers compares two names that differ in their numbers alone, by the first number that differs.
func byNumbers(a, b string) int {
	split := func(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r < '0' || '9' < r }) }
	return slices.CompareFunc(split(a), split(b), func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

// numberless is a name without its digits.
func numberless(name string) string {
	if isHash(name) {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, name)
}

// Versions reports whether directories differ in numbers alone, as those of runs of the same training do.
func Versions(paths []string) bool {
	kind := func(p string) string { return path.Join(numberless(path.Dir(p)), numberless(path.Base(p))) }
	return !slices.ContainsFunc(paths, func(p string) bool { return kind(p) != kind(paths[0]) })
}
