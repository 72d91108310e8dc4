package format

import (
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// plain is a directory of single files with nothing around them, as programs write that save for themselves: torch
// files, safetensors and what Keras saves.
//
// The step is the last whole number in a name without its ending, wherever it stands: 1000 in model_1000.pt, 10 in
// weights.10-0.25.h5, where 0.25 is no whole number; but also 2 in model_v2.pt. Without one it is not known. Nothing is
// written last and nothing says what belongs together, so that a file is whole when its structure is, and whether
// training can go on from it is known to the program alone. Only names that Hugging Face's libraries give to a model by
// itself say that there is no more in it.
var plain = kind{"plain", findPlain, checkPlain}

// plainParts are names, without the rank, that a program gives to what it saves beside the weights.
var plainParts = []string{"optimizer", "scheduler", "scaler", "sampler", "training_args", "rng_state", "random_states"}

func findPlain(_ *look, root *dir) (found []*Checkpoint, err error) {
	sets := map[string]bool{}
	for _, name := range root.files(func(string) bool { return true }) {
		index, shard := shardIndex(name)
		switch {
		case shard:
			name = index
		case strings.HasSuffix(name, ".safetensors"+indexSuffix), strings.HasSuffix(name, ".bin"+indexSuffix):
		case !isPlain(name):
			continue
		}
		if sets[name] {
			continue
		}
		sets[name] = true
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
		stem := strings.TrimSuffix(name, indexSuffix)
		if step, ok := plainNumber(strings.TrimSuffix(stem, path.Ext(stem))); ok {
			c.Step, c.StepFrom = step, StepFromName
		}
		found = append(found, c)
	}
	return found, nil
}

// isPlain tells the names of single files.
func isPlain(name string) bool {
	ext := path.Ext(name)
	switch ext {
	case ".safetensors", ".pt", ".pth", ".bin", ".keras", ".h5":
	default:
		return false
	}
	stem := strings.TrimRight(strings.TrimSuffix(name, ext), "0123456789_")
	return stem != "" && !slices.Contains(plainParts, stem) && !strings.HasPrefix(name, ".")
}

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

// plainNumber is the last whole number in a text: digits with no digits before or after a dot beside them.
func plainNumber(s string) (n int64, ok bool) {
	for len(s) > 0 {
		end := strings.LastIndexFunc(s, isDigit) + 1
		if end == 0 {
			return 0, false
		}
		start := end
		for start > 0 && (isDigit(rune(s[start-1])) || s[start-1] == '.' && start > 1 && isDigit(rune(s[start-2]))) {
			start--
		}
		if n, ok = digits(s[start:end]); ok {
			return n, true
		}
		s = s[:start]
	}
	return 0, false
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

func checkPlain(l *look, c *Checkpoint) error {
	c.Basis, c.Elastic = BasisStructure, true
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	name := c.base()
	switch path.Ext(name) {
	case ".json":
		if !root.has(name) {
			return problem.New(problem.NoMarker, "%s is missing, which is written after its shards", c.Path)
		}
		shards, err := indexed(l, c, root, name)
		if err != nil {
			return err
		}
		c.Basis, c.ShardsExpected, c.ShardsFound = BasisManifest, len(shards), l.present(shards)
		if err := checkWeightFiles(l, c, shards); err != nil {
			return err
		}
		// Saved into the same names again, it is the index of the earlier save until the shards are written
		// (save_pretrained in transformers/modeling_utils.py).
		info, err := l.stat(c.Path)
		if err != nil {
			return err
		}
		if err := c.marked(c.Path, info.ModTime(), []string{"a shard of it"}, []part{{0, c.Modified}}); err != nil {
			return err
		}
	case ".keras":
		err = checkKeras(l, c, c.Path)
	case ".h5":
		err = checkHDF5(l, c, c.Path)
	default:
		err = checkWeightFiles(l, c, []string{c.Path})
	}
	if err == nil && isHFWeights(name) {
		err = checkHFConfigs(l, root)
	}
	if err == nil && c.Resumable && isHFWeights(name) {
		c.weightsOnly("%s is a model by itself", c.Path)
	}
	return err
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
