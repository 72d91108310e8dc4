package format

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// weightFiles are the names under which Hugging Face libraries keep weights: of each line the first that is there is the
// one that is loaded (from_pretrained in transformers/modeling_utils.py, utils/save_and_load.py of peft).
var weightFiles = [][]string{
	{"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"},
	{"adapter_model.safetensors", "adapter_model.bin"},
	{"diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.safetensors.index.json", "diffusion_pytorch_model.bin"},
}

const indexSuffix = ".index.json"

// checkWeights looks at the weights of a Hugging Face model in a directory: safetensors or torch files, whole or in
// shards with an index, or an adapter's. It reports false when there are none. It counts them into the checkpoint, as
// its shards too; a checkpoint that consists of more counts its shards afterwards.
func checkWeights(l *look, c *Checkpoint, dir string) (bool, error) {
	d, err := l.dir(dir)
	if err != nil {
		return false, err
	}
	var paths []string
	found, basis := false, BasisStructure
	for _, family := range weightFiles {
		i := slices.IndexFunc(family, d.isFile)
		if i < 0 {
			// The index is written after the shards.
			for _, name := range family {
				if shards := d.files(shardOf(name)); strings.HasSuffix(name, indexSuffix) && len(shards) > 0 {
					return true, problem.New(problem.NoMarker, "%s is missing, which is written after %s", d.join(name),
						d.join(shards[len(shards)-1]))
				}
			}
			continue
		}
		found = true
		name := family[i]
		if !strings.HasSuffix(name, indexSuffix) {
			paths = append(paths, d.join(name))
			continue
		}
		shards, err := indexed(l, c, d, name)
		if err != nil {
			return true, err
		}
		basis = BasisManifest
		paths = append(paths, shards...)
	}
	if !found {
		return false, nil
	}
	c.Basis = cmp.Or(c.Basis, basis)
	c.ShardsExpected = len(paths)
	c.ShardsFound = l.present(paths)
	if err := checkHFConfigs(l, d); err != nil {
		return true, err
	}
	return true, checkWeightFiles(l, c, paths)
}

// checkHFConfigs wants the files that say what the weights are of to be whole: nothing loads the weights otherwise. They
// are written in place and before the weights, so that a save over an earlier one may leave the weights as they were.
//
// That of an adapter counts for an adapter by itself (plainDirs) alone: a trainer is given the adapter, and reads its
// weights.
func checkHFConfigs(l *look, d *dir) error {
	names := d.files(func(name string) bool { return name == "config.json" })
	paths := prefixed(d, names)
	if _, err := l.parts(&Checkpoint{}, paths, false); err != nil || l.Level < Manifests {
		return err
	}
	return l.each(paths, func(name string) error {
		_, err := l.jsonContent(name)
		return err
	})
}

// checkWeightFiles looks at files of weights of either kind, which all have to be there.
func checkWeightFiles(l *look, c *Checkpoint, paths []string) error {
	var torch, safetensors []string
	for _, p := range paths {
		if strings.HasSuffix(p, ".safetensors") {
			safetensors = append(safetensors, p)
		} else {
			torch = append(torch, p)
		}
	}
	if err := checkSafetensors(l, c, safetensors); err != nil {
		return err
	}
	_, err := checkTorchAll(l, c, torch)
	return err
}

// checkSafetensors looks at safetensors files, which all have to be there, and counts them into the checkpoint.
func checkSafetensors(l *look, c *Checkpoint, paths []string) error {
	if _, err := l.parts(c, paths, false); err != nil || l.Level < Ends {
		return err
	}
	return l.each(paths, func(p string) error {
		return l.inside(p, func(r io.ReaderAt, size int64) error {
			header, err := file.SafetensorsHeader(r, size)
			if err != nil || l.Level < Manifests && header > maxEndsDirectory {
				return err
			}
			return file.Safetensors(r, size)
		})
	})
}

// indexed lists the shards that an index names, which below the level Manifests is read only when it is small: else they
// are those whose names fit to it, and there are as many as the names say.
func indexed(l *look, c *Checkpoint, d *dir, index string) (paths []string, err error) {
	found, err := l.parts(c, []string{d.join(index)}, false)
	if err != nil {
		return nil, err
	}
	if l.Level < Ends || l.Level < Manifests && found[0].size > maxEndsDirectory {
		return namedShards(d, index)
	}
	var names []string
	err = l.inside(d.join(index), func(r io.ReaderAt, size int64) (err error) {
		names, err = file.WeightIndex(r, size)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !under(name) {
			return nil, problem.New(problem.BadIndex, "%s: %.100q is not a file below it", d.join(index), name)
		}
		// A name that tells how many there are has to tell the truth.
		if _, of, ok := shardNumber(name); ok && of != int64(len(names)) {
			return nil, problem.New(problem.BadIndex, "%s names %s and %d files in all", d.join(index), name, len(names))
		}
		paths = append(paths, d.join(name))
	}
	return paths, nil
}

// namedShards lists the shards that are there by their names alone. Those of another save may lie among them, of which
// there were more or fewer.
func namedShards(d *dir, index string) (paths []string, err error) {
	sets := make(map[int64][]string)
	for _, name := range d.files(shardOf(index)) {
		_, of, _ := shardNumber(name)
		if sets[of] = append(sets[of], d.join(name)); int64(len(sets[of])) == of {
			return sets[of], nil
		}
	}
	for of, some := range sets {
		err = problem.New(problem.MissingShard, "%s: of %d shards like %s there are %d", d.join(index), of, some[0], len(some))
	}
	return nil, err
}

// shardOf matches the names of shards that belong to an index: "model-00001-of-00002.safetensors".
func shardOf(index string) func(name string) bool {
	whole := strings.TrimSuffix(index, indexSuffix)
	ext := path.Ext(whole)
	stem := strings.TrimSuffix(whole, ext)
	return func(name string) bool {
		rest, found := strings.CutPrefix(name, stem+"-")
		first, _, _ := strings.Cut(rest, "-of-")
		_, number := digits(first)
		_, _, ok := shardNumber(name)
		return found && number && ok && path.Ext(name) == ext
	}
}

// shardNumber reads "…-00001-of-00002.ext".
func shardNumber(name string) (number, of int64, ok bool) {
	stem := strings.TrimSuffix(name, path.Ext(name))
	rest, last, found := cutLast(stem, "-of-")
	if !found {
		return 0, 0, false
	}
	_, first, found := cutLast(rest, "-")
	if !found {
		return 0, 0, false
	}
	number, ok1 := digits(first)
	of, ok2 := digits(last)
	return number, of, ok1 && ok2 && number >= 1 && number <= of
}

// present counts the files that are there, by the listings of their directories alone.
func (l *look) present(paths []string) (n int) {
	for _, p := range paths {
		if d, err := l.dir(path.Dir(p)); err == nil && d.isFile(path.Base(p)) {
			n++
		}
	}
	return n
}
