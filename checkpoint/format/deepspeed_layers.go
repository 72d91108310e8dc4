package format

import (
	"maps"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// layersBefore wants the layers of a pipeline that the checkpoint before has: those without weights have no file, so that a gap
// between two of them says nothing.
func (l *look) layersBefore(c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if len(startingWith(d, "layer_")) == 0 {
		return nil
	}
	layers := deepSpeedNames(d).layers
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	stem, _ := tagStep(c.Tag)
	before, last := "", int64(-1)
	for _, name := range root.dirs(func(name string) bool { return name != c.Tag }) {
		if s, step := tagStep(name); s == stem && step < c.Step && step > last {
			before, last = name, step
		}
	}
	if before == "" {
		return nil
	}
	previous, err := l.dir(root.join(before))
	if vanished(err) {
		return nil // removed in the meantime
	}
	if err != nil {
		return err
	}
	for _, layer := range slices.Sorted(maps.Keys(deepSpeedNames(previous).layers)) {
		if layers[layer] == nil {
			return problem.New(problem.MissingShard, "%s holds nothing of %s, and %s does", d.path, layer, previous.path)
		}
	}
	return nil
}
