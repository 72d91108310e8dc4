package format

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// arrays is a directory for each step with a directory for each array of a state, as TensorStore and zarr write them without
// Orbax: T5X, Levanter, AXLearn. The names of the arrays say what they are. What is written last has another name with each
// of these programs: a save has what the one before it has.
var arrays = kind{name: "arrays", find: findArrays, check: checkArrays, movable: true}

const (
	zarrArray  = ".zarray"   // of zarr, version 2
	zarrArray3 = "zarr.json" // of version 3, of a group too

	maxArraysDepth = 8
	maxArraysLooks = 4  // how many of each series are looked into, the newest
	maxArraysDirs  = 64 // and how many directories of each to find an array
)

// isArray reports whether a directory holds one array.
func isArray(d *dir) bool { return d.isFile(zarrArray) || d.isFile(zarrArray3) }

func findArrays(l *look, root *dir) (found []*Checkpoint, err error) {
	names := root.dirs(func(name string) bool {
		t := titleOf(name)
		return t.step >= 0 && !t.yearlike && !strings.HasPrefix(name, ".") && !isTemporary(name)
	})
	if isArray(root) || len(names) == 0 {
		return nil, nil
	}
	looked := newestByTitle(names, maxArraysLooks)
	yes := make([]bool, len(looked))
	err = l.eachOf(len(looked), func(i int) error {
		d, err := l.dir(root.join(looked[i]))
		if err != nil || isArray(d) {
			return l.ctx.Err() // it is somebody else's
		}
		left := maxArraysDirs
		yes[i] = l.holdsArray(d, &left, 0)
		return l.ctx.Err()
	})
	series := map[string]bool{}
	for i, name := range looked {
		series[dirFamily(titleOf(name))] = series[dirFamily(titleOf(name))] || yes[i]
	}
	families := map[string][]*save{}
	for _, name := range names {
		t := titleOf(name)
		if f := dirFamily(t); series[f] {
			s := &save{title: t, directory: true, family: f, members: []member{{path: root.join(name), title: t}}}
			families[f] = append(families[f], s)
			c := s.checkpoint(root)
			c.Step, c.Unit, c.StepFrom = t.step, t.unit, StepFromName
			found = append(found, c)
		}
	}
	for _, f := range families {
		slices.SortStableFunc(f, func(a, b *save) int { return int(max(-1, min(1, a.step-b.step))) })
		for i := range f[1:] {
			f[i+1].before = f[i]
		}
		if len(f) > 1 {
			f[0].before = f[1] // the first is like what follows
		}
	}
	return found, err
}

// holdsArray reports whether there is an array below a directory. So many directories are read at most.
func (l *look) holdsArray(d *dir, left *int, depth int) bool {
	for _, name := range d.dirs(func(name string) bool { return !strings.Contains(name, orbaxTemporary) }) {
		if *left--; *left < 0 || depth == maxArraysDepth {
			return false
		}
		if below, err := l.dir(d.join(name)); err == nil && (isArray(below) || l.holdsArray(below, left, depth+1)) {
			return true
		}
	}
	return false
}

// tree is what a directory of arrays holds: the paths of its arrays, and of the files above them.
type tree struct{ arrays, files []string }

func (l *look) treeOf(d *dir, at string, depth int, t *tree) error {
	for _, name := range d.names {
		switch {
		case len(t.arrays)+len(t.files) >= maxMembers:
			return nil
		case d.isFile(name) && name != zarrArray3 && !strings.HasPrefix(name, ".z"):
			t.files = append(t.files, path.Join(at, name))
		case d.isDir(name) && depth < maxArraysDepth:
			below, err := l.dir(d.join(name))
			if err != nil {
				return err
			}
			array := below.isFile(zarrArray) || below.isFile(zarrArray3) && !slices.ContainsFunc(below.dirs(func(string) bool { return true }), func(name string) bool { return name != "c" })
			if array {
				t.arrays = append(t.arrays, path.Join(at, name))
			} else if err := l.treeOf(below, path.Join(at, name), depth+1, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkArrays(l *look, c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	c.Basis, c.Elastic = BasisStructure, true
	if _, err := l.parts(c, prefixed(d, d.files(func(string) bool { return true })), true); err != nil || l.Level < Manifests {
		return err
	}
	var now, then tree
	if err := l.treeOf(d, "", 0, &now); err != nil {
		return err
	}
	if before := c.save.before; before != nil {
		other, err := l.dir(before.members[0].path)
		if err == nil {
			err = l.treeOf(other, "", 0, &then)
		}
		if err != nil && !vanished(err) {
			return err
		}
		for _, want := range slices.Concat(then.arrays, then.files) {
			if !slices.Contains(now.arrays, want) && !slices.Contains(now.files, want) && before.step < c.save.step {
				return problem.New(problem.MissingShard, "%s has no %s, which %s has", c.Path, want, other.path)
			}
		}
	}
	if len(now.arrays) == 0 {
		return problem.New(problem.MissingShard, "%s holds no array yet", c.Path)
	}
	c.ShardsExpected, c.ShardsFound = len(now.arrays), len(now.arrays)
	left := maxOrbaxChunks
	for _, name := range now.arrays {
		if err := l.arrayWhole(c, path.Join(c.Path, name), &left); err != nil {
			return err
		}
		for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '/' || r == '.' }) {
			c.Optimizer = c.Optimizer || optimizerKey(part) || part == "param_states" || part == "nu" || part == "trace"
			c.Training = c.Training || slices.Contains(stepKeys, part)
		}
	}
	if c.Training = c.Training || c.Optimizer; !c.Training {
		c.weightsOnly("%s holds arrays and neither the state of an optimizer nor a step: weights", c.Path)
	}
	return nil
}

// arrayWhole wants the pieces of an array of zarr, version 2. Those that are nothing but the value that fills are not written
// by all, and without compression zeros are a value.
func (l *look) arrayWhole(c *Checkpoint, name string, left *int) error {
	d, err := l.dir(name)
	if err != nil {
		return err
	}
	if _, err := l.parts(c, prefixed(d, d.files(func(string) bool { return true })), false); err != nil || !d.isFile(zarrArray) {
		return err
	}
	text, err := l.small(d.join(zarrArray), 0)
	if err != nil {
		return err
	}
	var about struct {
		Fill       json.RawMessage `json:"fill_value"`
		Compressor json.RawMessage `json:"compressor"`
	}
	finite(text)
	if err := json.Unmarshal(text, &about); err != nil {
		return problem.New(problem.BadJSON, "%s: %v", d.join(zarrArray), err)
	}
	none := func(m json.RawMessage) bool { return len(m) == 0 || string(m) == "null" }
	if !none(about.Fill) || none(about.Compressor) && len(about.Compressor) > 0 {
		return nil
	}
	return l.zarrayWhole(d, left)
}
