package format

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// payload looks at a part of a checkpoint that has a format of its own, and takes over its size, its time, its shards
// and that it is not to be resumed from. It returns what else was found, so that the container can decide.
func (c *Checkpoint) payload(check func(inner *Checkpoint) error) (inner Checkpoint, err error) {
	inner = Checkpoint{
		Format: c.Format, Path: c.Path, Root: c.Root, Tag: c.Tag, Step: c.Step, StepFrom: c.StepFrom, ShardsExpected: -1,
		Level: c.Level, Complete: true, Resumable: true,
	}
	if err := check(&inner); err != nil {
		return inner, err
	}
	c.Size += inner.Size
	c.parts = append(c.parts, inner.parts...)
	c.Doubt = cmp.Or(c.Doubt, inner.Doubt)
	c.ShardsFound += inner.ShardsFound
	if inner.ShardsExpected >= 0 {
		c.ShardsExpected = max(c.ShardsExpected, 0) + inner.ShardsExpected
	}
	if c.ModifiedFrom != ModifiedMarker && inner.Modified.After(c.Modified) {
		c.Modified, c.ModifiedFrom = inner.Modified, ModifiedShard
	}
	if c.WorldSize == 0 {
		c.WorldSize = inner.WorldSize
	}
	if !inner.Resumable && c.Resumable {
		c.Resumable, c.Reason, c.Detail = false, inner.Reason, inner.Detail
	}
	return inner, nil
}

// distributed looks at what torch.distributed.checkpoint wrote into a directory of the checkpoint.
func (c *Checkpoint) distributed(l *look, dir string) error {
	inner, err := c.payload(func(inner *Checkpoint) error { return checkDCP(l, inner, dir) })
	if err != nil {
		return err
	}
	c.contains("dcp")
	c.Basis, c.Elastic = inner.Basis, inner.Elastic
	return nil
}

// deepSpeed looks at what an engine of DeepSpeed saved into a directory of the checkpoint: the tag that the file latest
// names there, since that is what it loads. Without the file it loads nothing, and says so only to who asks.
func (c *Checkpoint) deepSpeed(l *look, d *dir) error {
	tag, err := c.deepSpeedTag(l, d)
	if err != nil {
		return err
	}
	inner, err := c.payload(func(inner *Checkpoint) error { return checkDeepSpeed(l, inner, d.join(tag)) })
	if err != nil {
		return err
	}
	c.contains("deepspeed")
	c.Basis, c.Elastic = inner.Basis, inner.Elastic
	if c.Step < 0 && inner.Step >= 0 {
		c.Step, c.StepFrom = inner.Step, inner.StepFrom
	}
	return nil
}

// deepSpeedTag is the directory that the file latest names. At the level of names it is not read, and the first
// directory that DeepSpeed has written will do.
func (c *Checkpoint) deepSpeedTag(l *look, d *dir) (string, error) {
	pointer := d.join(deepSpeedPointer)
	if !d.isFile(deepSpeedPointer) {
		return "", problem.New(problem.NoMarker, "%s is missing, which names what DeepSpeed loads", pointer)
	}
	if l.Level == Names {
		for _, name := range d.dirs(func(string) bool { return true }) {
			tag, err := l.dir(d.join(name))
			if err != nil {
				return "", err
			}
			if isDeepSpeed(tag) {
				return name, nil
			}
		}
		return "", problem.New(problem.MissingShard, "%s holds no directory of DeepSpeed", d.path)
	}
	tag, p, err := l.readPointer(d, deepSpeedPointer)
	switch {
	case err != nil:
		return "", err
	case p != points:
		return "", problem.New(problem.PointerMalformed, "%s names no directory", pointer)
	case !d.isDir(tag):
		return "", problem.New(problem.PointerDangling, "%s names %s, which is not there", pointer, tag)
	}
	return tag, nil
}

// vanished reports whether a directory cannot be looked into because it was removed since it was listed. Any other
// failure to read it is no reason to think that there is nothing.
func vanished(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// mentions reports whether any of the words stands in a file, and whether all of the file was read to know: it reads no
// more than limit bytes.
func (l *look) mentions(name string, limit int64, words ...string) (found, all bool, err error) {
	f, err := l.open(name)
	if err != nil {
		return false, false, err
	}
	defer f.close()
	const chunk, overlap = 256 << 10, 64 // no word is longer than the overlap
	r := io.NewSectionReader(f, 0, min(f.size, limit))
	b := make([]byte, min(chunk, f.size, limit)+overlap)
	for kept := 0; ; {
		if err := l.ctx.Err(); err != nil {
			return false, false, err
		}
		n, err := io.ReadFull(r, b[kept:])
		n += kept
		for _, word := range words {
			if bytes.Contains(b[:n], []byte(word)) {
				return true, true, nil
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return false, f.size <= limit, nil
		default:
			return false, false, err
		}
		kept = copy(b, b[n-overlap:n])
	}
}

// maxMentions bounds how much of the metadata of a distributed checkpoint is read to learn what is in it.
const maxMentions = 64 << 20

// withoutOptimizer takes back that a distributed checkpoint can be resumed from, when its metadata names no state of an
// optimizer. It reads at the level Manifests, and what it cannot know it leaves as it is.
func (c *Checkpoint) withoutOptimizer(l *look, metadata string, words ...string) error {
	if l.Level < Manifests {
		return nil
	}
	found, all, err := l.mentions(metadata, maxMentions, words...)
	if err != nil {
		return err
	}
	if !found && all {
		c.weightsOnly("%s names no state of an optimizer", metadata)
	}
	return nil
}

// stateWords stand in the metadata of a distributed checkpoint that holds more than tensors of a model: an item that is no
// tensor, such as a step or the groups of an optimizer; the state of an optimizer under whatever key.
var stateWords = []string{"BytesStorageMetadata", "optim", "exp_avg", "momentum_buffer"}

// withoutState takes back that a distributed checkpoint can be resumed from when there is proof that it holds nothing but
// tensors, and none of an optimizer.
func (c *Checkpoint) withoutState(l *look, metadata string) error {
	if l.Level < Manifests {
		return nil
	}
	found, all, err := l.mentions(metadata, maxMentions, stateWords...)
	if err != nil {
		return err
	}
	if c.Training = found; !found && all {
		tensors, _, err := l.mentions(metadata, maxMentions, "TensorStorageMetadata")
		if err != nil || !tensors {
			return err
		}
		c.weightsOnly("%s names tensors alone, and none of an optimizer: weights", metadata)
	}
	return nil
}

// base is the last part of the checkpoint's path.
func (c *Checkpoint) base() string { return path.Base(c.Path) }

// rankSet are the ranks that have a file, in order.
type rankSet []int64

// ranksOf are the ranks in the names of entries that are nothing but prefix, rank and suffix.
func ranksOf(d *dir, prefix, suffix string) (set rankSet) {
	for _, name := range d.names {
		if rank, ok := numbered(name, prefix, suffix); ok && rank < maxRanks {
			set = append(set, rank)
		}
	}
	return set.sorted()
}

func (s rankSet) sorted() rankSet {
	slices.Sort(s)
	return slices.Compact(s)
}

func (s rankSet) has(rank int64) bool {
	_, found := slices.BinarySearch(s, rank)
	return found
}

// gap is the first rank that is missing below the highest.
func (s rankSet) gap() (rank int64, missing bool) {
	for i, rank := range s {
		if rank != int64(i) {
			return int64(i), true
		}
	}
	return 0, false
}
