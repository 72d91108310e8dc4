package format

import (
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// shardIndex is the name of the index to a shard such as model-00001-of-00003.safetensors.
func shardIndex(name string) (index string, ok bool) {
	ext := path.Ext(name)
	rest, of, ok := cutLast(strings.TrimSuffix(name, ext), "-of-")
	if !ok || ext != ".safetensors" && ext != ".bin" {
		return "", false
	}
	stem, shard, ok := cutLast(rest, "-")
	_, isShard := digits(shard)
	_, isOf := digits(of)
	return stem + ext + indexSuffix, ok && isShard && isOf
}

// checkIndexed looks at a model in shards with an index.
func checkIndexed(l *look, c *Checkpoint) error {
	c.Basis, c.Elastic = BasisManifest, true
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	name := c.base()
	if !root.has(name) {
		return problem.New(problem.NoMarker, "%s is missing, which is written after its shards", c.Path)
	}
	shards, err := indexed(l, c, root, name)
	if err != nil {
		return err
	}
	c.ShardsExpected, c.ShardsFound = len(shards), l.present(shards)
	if err := checkWeightFiles(l, c, shards); err != nil {
		return err
	}
	// Saved into the same names again, it is the index of the earlier save until the shards are written
	// (save_pretrained in transformers/modeling_utils.py).
	info, err := l.stat(c.Path)
	if err != nil {
		return err
	}
	if err := l.marked(c, c.Path, info.ModTime(), c.parts); err != nil {
		return err
	}
	if err := checkHFConfigs(l, root); err != nil {
		return err
	}
	c.weightsOnly("%s is a model by itself", c.Path)
	return nil
}

// isHFWeights tells the names under which Hugging Face libraries keep weights.
func isHFWeights(name string) bool {
	for _, family := range weightFiles {
		if slices.Contains(family, name) {
			return true
		}
	}
	index, ok := shardIndex(name)
	return ok && isHFWeights(index)
}
