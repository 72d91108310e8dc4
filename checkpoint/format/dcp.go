package format

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// dcp is torch.distributed.checkpoint: a directory that is a checkpoint, or one with such directories.
var dcp = kind{name: "dcp", find: findDCP, movable: true, check: func(l *look, c *Checkpoint) error {
	if isTemporary(path.Base(c.Path)) {
		return problem.New(problem.InProgress, "%s has the name of a directory that is being written", c.Path)
	}
	if err := checkDCP(l, c, c.Path); err != nil || !c.Resumable {
		return err
	}
	d, err := l.dir(c.Path)
	if err != nil || !d.isFile(dcpMarker) {
		return err
	}
	in, err := l.dcpContent(c, d)
	if err != nil {
		return err
	}
	if in.step >= 0 {
		c.says(in.step, in.unit, titleOf(c.base()))
		c.Training = true // weights count no steps
		return nil
	}
	return c.withoutState(l, d.join(dcpMarker))
}}

const (
	dcpMarker    = ".metadata" // written to dcpTemporary, and renamed after all shards
	dcpTemporary = ".metadata.tmp"
	dcpSharded   = "sharded" // of the writer for Hugging Face, with what is put together beside it
)

// isTemporary reports whether a name is one that a framework gives to what it is writing.
func isTemporary(name string) bool {
	return strings.HasSuffix(name, "_temp") || strings.HasSuffix(name, ".dirty.pt") || strings.HasPrefix(name, "._dlrover_ckpt_stage") ||
		strings.Contains(name, ".tempstate") || saysUnfinished(name)
}

func findDCP(l *look, root *dir) ([]*Checkpoint, error) {
	if isDCP(root) {
		return []*Checkpoint{{Path: root.path, Step: -1}}, nil
	}
	names := root.dirs(func(name string) bool { return name != quarantined })
	looked := newestOfEach(names, maxDCPLooks)
	yes := make([]bool, len(looked))
	err := l.eachOf(len(looked), func(i int) error {
		d, err := l.dir(root.join(looked[i]))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away
		}
		if err != nil {
			return err
		}
		if yes[i] = isDCP(d); yes[i] || !d.isDir(dcpSharded) {
			return nil
		}
		below, err := l.dir(d.join(dcpSharded))
		yes[i] = err == nil && len(below.files(isHFShard)) > 0
		return err
	})
	if err != nil {
		return nil, err
	}
	if i, found := slices.BinarySearch(looked, dcpSharded); found && yes[i] {
		return []*Checkpoint{{Path: root.path, Step: -1}}, nil
	}
	like := make(map[string]bool) // the families in which there is one
	for i, name := range looked {
		if stem, _ := tagStep(name); yes[i] {
			like[stem] = true
		}
	}
	var candidates []*Checkpoint
	for _, name := range names {
		stem, _ := tagStep(name)
		if i, found := slices.BinarySearch(looked, name); found && !yes[i] || !found && !like[stem] {
			continue
		}
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
		if t := titleOf(name); t.step >= 0 {
			c.Step, c.Unit, c.StepFrom = t.step, t.unit, StepFromName
		}
		candidates = append(candidates, c)
	}
	return candidates, nil
}

// maxDCPLooks is how many directories are looked into of those whose names differ in the number at their end alone. The
// older ones are taken to be like them: each may hold thousands of files.
const maxDCPLooks = 32

// newestOfEach lists so many of the names of each family, those with the highest numbers at their end, sorted.
func newestOfEach(names []string, most int) (newest []string) {
	families := make(map[string][]string)
	for _, name := range names {
		stem, _ := tagStep(name)
		families[stem] = append(families[stem], name)
	}
	for _, family := range families {
		slices.SortFunc(family, func(a, b string) int {
			_, first := tagStep(a)
			_, second := tagStep(b)
			return cmp.Compare(second, first)
		})
		newest = append(newest, family[:min(len(family), most)]...)
	}
	slices.Sort(newest)
	return newest
}

// isDCP reports whether a directory holds what torch.distributed.checkpoint writes, torn or whole.
func isDCP(d *dir) bool {
	if d.isFile(dcpMarker) || d.isFile(dcpTemporary) {
		return true
	}
	return slices.ContainsFunc(d.names, func(name string) bool {
		_, isShard := distcpRank(name)
		_, isMarker := numbered(name, "__", dcpMarker)
		_, isTemporary := numbered(name, "__", dcpTemporary)
		return (isShard || isMarker || isTemporary || isHFShard(name)) && d.isFile(name)
	})
}

// distcpRank reads the rank in the name of a shard, "__3_0.distcp", which may have something before it.
func distcpRank(name string) (rank int64, ok bool) {
	stem, found := strings.CutSuffix(name, ".distcp")
	if !found {
		return 0, false
	}
	_, numbers, found := cutLast(stem, "__")
	if !found {
		return 0, false
	}
	first, second, _ := strings.Cut(numbers, "_")
	rank, ok = digits(first)
	_, number := digits(second)
	return rank, ok && number
}

// checkDCP looks at what torch.distributed.checkpoint wrote into a directory, and counts it into the checkpoint.
func checkDCP(l *look, c *Checkpoint, dir string) error {
	d, err := l.dir(dir)
	if err != nil {
		return err
	}
	c.Elastic = true
	ranks := d.files(func(name string) bool { _, ok := numbered(name, "__", dcpMarker); return ok })
	switch {
	case d.isFile(dcpMarker):
		return checkDCPTogether(l, c, d)
	case len(ranks) > 0:
		return checkDCPRanks(l, c, d)
	case d.isDir(dcpSharded):
		whole, err := checkWeights(l, c, dir)
		if err == nil && !whole {
			err = problem.New(problem.NoMarker, "%s has no %s yet", dir, "model.safetensors.index.json")
		}
		if err == nil {
			c.weightsOnly("the tensors of a model, written for Hugging Face")
		}
		return err
	case len(d.files(isHFShard)) > 0:
		return checkHFShards(l, c, d)
	case d.isFile(dcpTemporary):
		return problem.New(problem.NoMarker, "%s was not renamed to %s", d.join(dcpTemporary), dcpMarker)
	}
	return problem.New(problem.NoMarker, "%s is missing, which is written last", d.join(dcpMarker))
}

// checkDCPTogether looks at the usual form: one marker for all ranks (_FileSystemWriter in filesystem.py).
func checkDCPTogether(l *look, c *Checkpoint, d *dir) error {
	c.Basis = BasisMarker
	shards := d.files(func(name string) bool { return strings.HasSuffix(name, ".distcp") })
	return l.dcpPart(c, d, dcpMarker, dcpTemporary, shards)
}

// checkDCPRanks looks at the form without collectives: a marker for each rank, who loads what it wrote itself. That the
// last ranks have not begun cannot be seen.
func checkDCPRanks(l *look, c *Checkpoint, d *dir) error {
	c.Basis, c.Elastic = BasisGrid, false
	shards := make(map[int64][]string)
	last := int64(0)
	for _, name := range d.names {
		rank, ok := distcpRank(name)
		if ok {
			shards[rank] = append(shards[rank], name)
		} else if rank, ok = numbered(name, "__", dcpMarker); !ok {
			continue
		}
		last = max(last, rank)
	}
	if last > maxEntries {
		return problem.New(problem.UnknownFormat, "%s: a rank of %d", d.path, last)
	}
	for rank := range last + 1 {
		marker := "__" + strconv.FormatInt(rank, 10) + dcpMarker
		if !d.isFile(marker) {
			return problem.New(problem.NoMarker, "%s is missing, which rank %d writes last (there are ranks up to %d)",
				d.join(marker), rank, last)
		}
	}
	for rank := range last + 1 {
		name := "__" + strconv.FormatInt(rank, 10)
		if err := l.dcpPart(c, d, name+dcpMarker, name+dcpTemporary, shards[rank]); err != nil {
			return err
		}
	}
	c.WorldSize = int(last) + 1
	return nil
}

// dcpPart looks at one marker and the shards that it is written after. Shards that it does not name are of an earlier
// save with more ranks, and mean nothing; but if they are young, a save is under way.
func (l *look) dcpPart(c *Checkpoint, d *dir, marker, temporary string, shards []string) error {
	info, err := l.stat(d.join(marker))
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return problem.New(problem.EmptyFile, "%s is empty", d.join(marker))
	}
	paths := make([]string, len(shards))
	for i, name := range shards {
		paths[i] = d.join(name)
	}
	found, err := l.parts(c, paths, true) // an empty one is legal: every bucket gets a file
	if err != nil {
		return err
	}
	c.Size += info.Size()
	if err := l.marked(c, d.join(marker), info.ModTime(), found); err != nil {
		return err
	}
	if d.isFile(temporary) {
		if left, err := l.stat(d.join(temporary)); err == nil && left.ModTime().After(info.ModTime().Add(slack)) {
			return problem.New(problem.OverwriteInProgress, "%s is there, and younger than %s, which it becomes: a save over an "+
				"earlier one was cut", d.join(temporary), d.join(marker))
		}
	}
	if l.Level < Manifests {
		c.ShardsFound += len(shards)
	}
	if l.Level < Ends {
		return nil
	}
	var need map[string]int64
	err = l.inside(d.join(marker), func(r io.ReaderAt, size int64) (err error) {
		if l.Level < Manifests {
			return file.PickleEnds(r, size)
		}
		need, c.items, err = file.DCPMetadata(r, size, isStepKey)
		return err
	})
	if err != nil || l.Level < Manifests {
		return err
	}
	if err := l.eachOf(len(paths), func(i int) error {
		if end := need[shards[i]]; end > 0 && found[i].size >= end {
			return l.inside(paths[i], func(r io.ReaderAt, _ int64) error { return file.DCPShard(r, end) })
		}
		return nil
	}); err != nil {
		return err
	}
	sizes := make(map[string]int64, len(shards))
	for i, name := range shards {
		sizes[name] = found[i].size
	}
	return l.dcpNamed(c, d, marker, need, sizes)
}

// dcpNamed compares what a marker names with the sizes of what is there.
func (l *look) dcpNamed(c *Checkpoint, d *dir, marker string, need, sizes map[string]int64) error {
	names := make([]string, 0, len(need))
	for name := range need {
		names = append(names, name)
	}
	slices.Sort(names)
	if c.ShardsExpected < 0 {
		c.ShardsExpected, c.ShardsFound = 0, 0
		if c.Basis == BasisMarker {
			c.Basis = BasisManifest
		}
	}
	c.ShardsExpected += len(names)
	var first error
	for _, name := range names {
		size, ok := sizes[name]
		if !ok && under(name) {
			info, err := l.stat(path.Join(d.path, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if ok = err == nil && info.Mode().IsRegular(); ok {
				size = info.Size()
				c.Size += size
			}
		}
		var wrong *problem.Error
		switch {
		case !ok:
			wrong = problem.New(problem.MissingShard, "%s is missing, which %s names", d.join(name), marker)
		case size == 0 && need[name] > 0:
			wrong = problem.New(problem.EmptyFile, "%s is empty, at least %d bytes expected", d.join(name), need[name])
		case size < need[name]:
			wrong = problem.New(problem.Truncated, "%s has %d bytes, at least %d expected", d.join(name), size, need[name])
		default:
			c.ShardsFound++
		}
		if wrong != nil && first == nil {
			first = wrong
		}
	}
	return first
}
