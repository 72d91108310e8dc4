package format

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// checkBundle looks at a TensorFlow tensor bundle: the path without .index and .data-00000-of-00001. Its index is written
// after the data files are renamed to their names (tensorflow/core/util/tensor_bundle/tensor_bundle.cc), and in place.
func checkBundle(l *look, c *Checkpoint, prefix string) error {
	dir, name := path.Split(prefix)
	d, err := l.dir(path.Clean(dir))
	if err != nil {
		return err
	}
	shards := bundleShards(d, name)
	if !d.isFile(name + ".index") {
		c.ShardsFound = shards.found()
		if d.isDir(name+"_temp") || slices.ContainsFunc(startingWith(d, name+"."), isTempState) {
			return problem.New(problem.InProgress, "%s.index is missing, and temporary files are there", prefix)
		}
		return problem.New(problem.NoMarker, "%s.index is missing, which is written after the data", prefix)
	}
	index, err := l.parts(c, []string{prefix + ".index"}, false)
	if err != nil {
		return err
	}
	c.Basis, c.Elastic = BasisMarker, true
	var bundle *file.Bundle
	err = l.inside(prefix+".index", func(r io.ReaderAt, size int64) error {
		switch {
		case l.Level >= Manifests:
			bundle, err = file.ReadBundle(l.ctx, r, size, l.Level >= Everything || size <= maxSummed)
			if !errors.Is(err, file.ErrCompressed) {
				return err
			}
			bundle = nil // its data files are as many as their names say
			fallthrough
		case l.Level >= Ends:
			return file.TableEnds(r, size)
		}
		return nil
	})
	if err != nil {
		return err
	}
	of := shards.likely()
	if bundle != nil {
		of = bundle.Shards
	}
	c.ShardsExpected, c.ShardsFound = of, len(shards[of])
	paths := make([]string, of)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s.data-%05d-of-%05d", prefix, i, of)
		if _, found := slices.BinarySearch(shards[of], i); !found {
			return problem.New(problem.MissingShard, "%s is missing", paths[i])
		}
	}
	// One of several data files may hold no tensor. Only the index can tell.
	found, err := l.parts(c, paths, bundle != nil || of > 1)
	if err != nil {
		return err
	}
	if err := l.marked(c, prefix+".index", index[0].mod, found); err != nil {
		return err
	}
	if bundle == nil {
		return nil
	}
	c.Basis = BasisManifest
	if bundle.Layers {
		c.weightsOnly("%s holds the weights of layers, and neither the state of an optimizer nor a step", prefix)
	}
	for i, end := range bundle.Ends {
		switch {
		case found[i].size == 0 && end > 0:
			return problem.New(problem.EmptyFile, "%s is empty, %d bytes expected by %s.index", paths[i], end, prefix)
		case found[i].size < end:
			return problem.New(problem.Truncated, "%s has %d bytes, %d expected by %s.index", paths[i], found[i].size, end, prefix)
		}
	}
	if l.Level < Everything {
		bundle.Tensors = some(bundle.Tensors)
	}
	return sumBundle(l, bundle, paths)
}

const (
	// maxSummed bounds the index of a bundle of which some tensors are read when it is about to be chosen, maxSummedTensor
	// each of these, and maxSummedAll all of them, in bytes.
	maxSummed       = 4 << 20
	maxSummedTensor = 64 << 10
	maxSummedAll    = 16 << 20
)

// some picks small tensors, from the end of the data files on: what a machine that lost its power had not written yet is
// zeros, and mostly the end of a file.
func some(all []file.BundleTensor) (few []file.BundleTensor) {
	slices.SortFunc(all, func(a, b file.BundleTensor) int { return cmp.Compare(b.At, a.At) })
	left := int64(maxSummedAll)
	for i, t := range all {
		if size := t.Size; (size <= maxSummedTensor || i == 0 || i == len(all)-1) && size <= left {
			few, left = append(few, t), left-size
		}
	}
	return few
}

// sumBundle compares the CRCs of all tensors, of which there are some at the level Everything.
func sumBundle(l *look, b *file.Bundle, paths []string) error {
	slices.SortFunc(b.Tensors, func(a, b file.BundleTensor) int {
		return cmp.Or(cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.At, b.At))
	})
	for i := range len(b.Tensors) - 1 {
		if a, b := b.Tensors[i], b.Tensors[i+1]; a.Shard == b.Shard && a.At+a.Size > b.At {
			return problem.New(problem.BadIndex, "%s: %s and %s overlap by the index", paths[a.Shard], a.Name, b.Name)
		}
	}
	if len(b.Tensors) == 0 {
		return nil
	}
	largest := int64(0)
	for _, t := range b.Tensors {
		largest = max(largest, t.Size)
	}
	return l.each(paths, func(p string) error {
		shard, _ := slices.BinarySearch(paths, p)
		less := func(t file.BundleTensor, shard int) int { return cmp.Compare(t.Shard, shard) }
		from, _ := slices.BinarySearchFunc(b.Tensors, shard, less)
		to, _ := slices.BinarySearchFunc(b.Tensors, shard+1, less)
		return l.inside(p, func(r io.ReaderAt, _ int64) error {
			buffer := make([]byte, min(largest, 1<<20))
			for _, t := range b.Tensors[from:to] {
				if err := t.Check(r, buffer, l.progress); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// shardsOf are the numbers of the data files of a bundle, sorted, by how many there are to be. Those of an earlier save
// into the same name may still be there.
type shardsOf map[int][]int

// bundleShards lists the data files of a bundle.
func bundleShards(d *dir, name string) shardsOf {
	s := shardsOf{}
	for _, n := range startingWith(d, name+".data-") {
		if stem, shard, of, ok := bundleData(n); ok && stem == name && d.isFile(n) {
			s[of] = append(s[of], shard)
		}
	}
	return s
}

func (s shardsOf) found() (n int) {
	for _, shards := range s {
		n = max(n, len(shards))
	}
	return n
}

// likely is how many data files there are to be as far as their names tell.
func (s shardsOf) likely() (n int) {
	whole := false
	for of, shards := range s {
		if w := len(shards) == of; w && !whole || w == whole && of > n {
			n, whole = of, w
		}
	}
	return max(n, 1)
}

// bundleData takes the name of a data file apart.
func bundleData(name string) (stem string, shard, of int, ok bool) {
	i := strings.LastIndex(name, ".data-")
	if i < 0 {
		return "", 0, 0, false
	}
	first, second, found := strings.Cut(name[i+len(".data-"):], "-of-")
	if !found || len(first) != 5 || len(second) != 5 {
		return "", 0, 0, false
	}
	a, ok1 := digits(first)
	b, ok2 := digits(second)
	return name[:i], int(a), int(b), ok1 && ok2 && a < b
}

// isTempState reports whether a name is that of a part of a bundle that is being written.
func isTempState(name string) bool {
	i := strings.LastIndex(name, ".tempstate")
	if i < 0 {
		return false
	}
	if _, ok := strings.CutSuffix(name[:i], ".index"); ok {
		return true
	}
	_, _, _, ok := bundleData(name[:i])
	return ok
}

// startingWith lists the names in a directory that begin so.
func startingWith(d *dir, prefix string) []string {
	from, _ := slices.BinarySearch(d.names, prefix)
	to := from
	for to < len(d.names) && strings.HasPrefix(d.names[to], prefix) {
		to++
	}
	return d.names[from:to]
}
