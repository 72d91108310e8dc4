package format

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxBelow bounds the directories that are searched on each level, the newest eight of each series, and maxLevels how far
// down: one level, then two; between them a program may put a day, a time and the number of the job.
const (
	maxBelow  = 64
	maxLevels = 5
)

// Descent searches a tree from its root down, level by level: a directory may have been named that is too high.
type Descent struct {
	l      *look
	level  []*dir // nil before the root was searched
	down   int
	unseen int
	others []string // entries of the root that are not understood
}

// Descend begins a search. The error is a [problem.Error], and says that the state is unknown when its reason does: a
// directory that does not exist holds nothing, and one that cannot be read may hold anything.
func Descend(ctx context.Context, fsys fs.FS, o Options) (*Descent, error) {
	if o.Format == "" && o.Rule != nil {
		o.Format = "custom" // what the user says goes before what can be detected
	}
	if o.Format != "" && !Known(o.Format) {
		return nil, problem.New(problem.UnknownFormat, "there is no format %q", o.Format)
	}
	return &Descent{l: newLook(ctx, fsys, o)}, nil
}

// Next lists what may be checkpoints on the next level, in the root at first. Those of one writer are one training run's
// (Lightning's version_0 and version_1); of several nobody can say which is meant, and neither where there are more
// directories than are searched. within, when set, says of a directory that it is a part of what was found above. It
// reports false when all levels were searched; what a user describes is nowhere but in the root.
func (d *Descent) Next(within func(dir string) bool) (found Found, ok bool, err error) {
	if d.level == nil {
		root, err := d.l.dir(".")
		if err == nil {
			d.level = []*dir{root}
			found, err = d.l.findIn(root)
		}
		d.others = found.Others
		return found.sorted(), err == nil, asProblem(err)
	}
	if d.down == maxLevels || d.l.Rule != nil {
		return Found{Format: d.l.Format, Others: d.others, Unseen: d.unseen}, false, nil
	}
	d.down++
	found, err = d.below(within)
	return found.sorted(), err == nil, asProblem(err)
}

func asProblem(err error) error {
	if err == nil {
		return nil
	}
	return problem.Of(err, problem.NoMarker)
}

func (f Found) sorted() Found {
	slices.SortStableFunc(f.Checkpoints, newestFirst)
	return f
}

// below searches the directories in those of the last level.
func (d *Descent) below(within func(dir string) bool) (Found, error) {
	found := Found{Format: d.l.Format, Unseen: d.unseen}
	var next []*dir
	full := false
	for _, above := range d.level {
		names := above.dirs(func(name string) bool {
			return !strings.HasPrefix(name, ".") && name != quarantined && (within == nil || !within(above.join(name)))
		})
		newest := lastOfEach(names, 8)
		found.Unseen += len(names) - len(newest)
		for i, name := range newest {
			if len(next) == maxBelow {
				found.Unseen, full = found.Unseen+len(newest)-i, true
				break
			}
			below, err := d.l.dir(above.join(name))
			if vanished(err) || errors.Is(err, fs.ErrPermission) {
				continue // lost+found
			}
			if err != nil {
				return found, err
			}
			next = append(next, below)
		}
	}
	formats := map[string]bool{}
	var all []Found // of each directory
	for _, dir := range next {
		in, err := d.l.findIn(dir)
		if vanished(err) {
			continue
		}
		if err != nil {
			return found, err
		}
		if len(in.Checkpoints) == 0 {
			continue
		}
		in.Below = []string{dir.path}
		all = append(all, in)
	}
	uses := func(f Found) bool { return ofUse[path.Base(f.Below[0])] }
	if slices.ContainsFunc(all, func(f Found) bool { return !uses(f) }) {
		all = slices.DeleteFunc(all, uses)
	}
	for _, in := range all {
		found.Checkpoints = append(found.Checkpoints, in.Checkpoints...)
		found.Below = append(found.Below, in.Below...)
		found.Format = in.Format
		formats[in.Format] = true
	}
	found.Apart = full && len(found.Below) > 0 || len(formats) > 1 || len(found.Below) > 1 && !Versions(found.Below)
	found.Others = slices.DeleteFunc(slices.Clone(d.others), func(name string) bool {
		return slices.ContainsFunc(found.Below, func(b string) bool { return b == name || strings.HasPrefix(b, name+"/") })
	})
	d.level, d.unseen = append([]*dir{}, next...), found.Unseen
	return found, nil
}

// ofUse are the names of directories in which those who use a model keep what they do with it, beside that in which it is trained.
var ofUse = set("eval evaluation evaluations validation valid val test tests inference export exports exported")

// BestDir reports whether a directory is by its name that of the best so far, and of nothing else.
func BestDir(dir string) bool {
	t := titleOf(path.Base(dir))
	return t.slot == "best" && t.family == "" && t.step < 0
}

// OfPastBelow reports whether a directory is by its name, or that of one above it, of what a run was begun from or has left behind.
func OfPastBelow(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool { return pastWords[titleOf(name).slot] })
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

// signless is a name without its digits and without the sign of a number: checkpoint--1 stands beside checkpoint-100.
func signless(numberless string) string {
	if s, found := strings.CutSuffix(numberless, "--"); found {
		return s + "-"
	}
	return numberless
}

// Versions reports whether directories differ in numbers alone, as those of runs of the same training do, or in which of
// those that are written over they are: best and latest.
func Versions(paths []string) bool {
	kind := func(p string) string {
		base := path.Base(p)
		if isHash(base) { // a run's own name, which says nothing of the order of runs
			return p
		}
		if t := titleOf(base); t.slot != "" && t.family == "" && !pastWords[t.slot] {
			base = t.roles
		}
		return path.Join(numberless(path.Dir(p)), signless(numberless(base)))
	}
	return !slices.ContainsFunc(paths, func(p string) bool { return kind(p) != kind(paths[0]) })
}
