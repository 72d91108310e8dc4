package format

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// kerasIndexSuffix ends the name of the index to weights that Keras has split (save_weights with max_shard_size, in
// keras/src/saving/saving_lib.py): model_3.weights.json, which is written after model_3_00000.weights.h5 and so on.
const (
	kerasIndexSuffix = ".weights.json"
	kerasShardSuffix = ".weights.h5"
)

func isKerasIndex(name string) bool { return strings.HasSuffix(name, kerasIndexSuffix) }

// kerasShard is the name of the index to a shard.
func kerasShard(name string) (index string, ok bool) {
	stem, isWeights := strings.CutSuffix(name, kerasShardSuffix)
	stem, number, cut := cutLast(stem, "_")
	_, isNumber := digits(number)
	return stem + kerasIndexSuffix, isWeights && cut && isNumber && len(number) == 5
}

// hasKerasShards reports whether there is an index with a shard of it. Where there is none, numbers at the end of names
// are those of saves.
func hasKerasShards(d *dir) bool {
	return slices.ContainsFunc(d.names, func(name string) bool {
		index, ok := kerasShard(name)
		return ok && d.isFile(index)
	})
}

// checkKerasShards looks at weights in shards, of which one or several hold the state of the optimizer.
func checkKerasShards(l *look, c *Checkpoint) error {
	c.Basis, c.Elastic = BasisManifest, true
	d, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	if !d.isFile(c.base()) {
		return problem.New(problem.NoMarker, "%s is missing, which is written after its shards", c.Path)
	}
	found, err := l.parts(c, []string{c.Path}, false)
	if err != nil || l.Level < Ends {
		return err
	}
	text, err := l.small(c.Path, 0)
	if err != nil {
		return err
	}
	var index struct {
		Map map[string]kerasFiles `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return problem.New(problem.BadIndex, "%s: %v", c.Path, err)
	}
	var paths []string
	optimizer := false
	for part, files := range index.Map {
		optimizer = optimizer || strings.Contains(part, "optimizer")
		for _, name := range files {
			if !under(name) {
				return problem.New(problem.BadIndex, "%s: %.100q is not a file below it", c.Path, name)
			}
			paths = append(paths, path.Join(c.Root, name))
		}
	}
	if len(paths) == 0 {
		return problem.New(problem.BadIndex, "%s names no files", c.Path)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	c.ShardsExpected, c.ShardsFound = len(paths), l.present(paths)
	shards, err := l.parts(c, paths, false)
	if err != nil {
		return err
	}
	if err := l.each(paths, func(p string) error { return checkHDF5(l, &Checkpoint{}, p) }); err != nil {
		return err
	}
	if err := l.marked(c, c.Path, found[0].mod, shards); err != nil {
		return err
	}
	if c.Training, c.Optimizer = optimizer, optimizer; !optimizer {
		c.weightsOnly("%s names no state of an optimizer", c.Path)
	}
	return nil
}

// kerasFiles are the names of one or of several files.
type kerasFiles []string

// UnmarshalJSON takes a string or an array of strings.
func (f *kerasFiles) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*f = kerasFiles{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(f))
}
