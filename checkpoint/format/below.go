package format

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// maxBelow bounds the directories that are looked through on each of two levels, the newest eight of each series.
const maxBelow = 64

// findBelow looks for checkpoints one level below a directory that holds none, and then two: a directory was named that
// is too high. Those of one writer are one training's (Lightning's version_0 and version_1); of several nobody can say
// which is meant.
func (l *look) findBelow(root *dir, empty Found) (Found, error) {
	level := []*dir{root}
	for range 3 { // one level, then two; Lightning puts its own between
		var next []*dir
		found := empty
		for _, d := range level {
			names := d.dirs(func(name string) bool { return !strings.HasPrefix(name, ".") && name != quarantined })
			for _, name := range newestByTitle(names, 8) {
				if len(next) == maxBelow {
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
		if len(found.Checkpoints) > 0 {
			found.Apart = len(formats) > 1 || len(found.Below) > 1 && !versions(found.Below)
			found.Others = slices.DeleteFunc(slices.Clone(empty.Others), func(name string) bool {
				return slices.ContainsFunc(found.Below, func(b string) bool { return b == name || strings.HasPrefix(b, name+"/") })
			})
			return found, nil
		}
		level = next
	}
	return empty, nil
}

// versions reports whether directories differ in one number alone, as those of runs of the same training do.
func versions(paths []string) bool {
	stem := func(p string) string {
		return strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, p)
	}
	return !slices.ContainsFunc(paths, func(p string) bool { return stem(p) != stem(paths[0]) })
}
