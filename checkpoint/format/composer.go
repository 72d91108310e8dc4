package format

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// composer is the save directory of Composer (composer/callbacks/checkpoint_saver.py): ep1-ba42-rank0.pt, which the
// first rank writes alone, or one of these per rank with DeepSpeed, as tar files; or a directory ep1-ba42 of
// torch.distributed.checkpoint. A file is written in place, so it is whole when its structure is.
//
// The link latest-rank0.pt is replaced after the save, and taken away for a moment. In an object store it is a text
// file latest-rank0.pt.symlink, which may be there before what it names. Neither is read.
var composer = kind{name: "composer", find: findComposer, check: checkComposer, trainer: true, owns: ownedByComposer}

func findComposer(_ *look, root *dir) (found []*Checkpoint, err error) {
	sets := map[string]*Checkpoint{}
	for _, name := range root.names {
		tag, batch, rank, suffix, ok := composerName(name)
		if !ok || rank < 0 != root.isDir(name) {
			continue
		}
		path := root.join(name)
		if rank >= 0 {
			path = root.join(tag + "-rank0" + suffix)
		}
		if sets[path] == nil {
			sets[path] = &Checkpoint{Path: path, Tag: tag, Step: batch, StepFrom: StepFromName}
			found = append(found, sets[path])
		}
	}
	return found, nil
}

func ownedByComposer(name string) bool {
	_, _, _, _, ok := composerName(name)
	return ok || strings.HasPrefix(name, "latest-rank")
}

// composerName reads ep1-ba42-rank3.pt, and ep1-ba42, whose rank is -1.
func composerName(name string) (tag string, batch, rank int64, suffix string, ok bool) {
	tag, rest, file := strings.Cut(name, "-rank")
	epoch, ba, found := strings.Cut(tag, "-ba")
	_, isEpoch := numbered(epoch, "ep", "")
	batch, isBatch := digits(ba)
	if !found || !isEpoch || !isBatch {
		return "", 0, 0, "", false
	}
	if !file {
		return tag, batch, -1, "", true
	}
	suffix = strings.TrimLeft(rest, "0123456789")
	rank, ok = digits(rest[:len(rest)-len(suffix)])
	if !ok || rank >= maxRanks || suffix != "" && suffix[0] != '.' || strings.HasSuffix(suffix, ".symlink") {
		return "", 0, 0, "", false
	}
	return tag, batch, rank, suffix, true
}

func checkComposer(l *look, c *Checkpoint) error {
	tag, _, rank, suffix, ok := composerName(c.base())
	if !ok {
		return problem.New(problem.UnknownFormat, "%s is no name of Composer's", c.base())
	}
	if rank < 0 {
		return checkComposerSharded(l, c)
	}
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	ranks := ranksOf(root, tag+"-rank", suffix)
	want := max(len(ranks), composerRanks(root, c.Step, suffix))
	for rank := range int64(want) {
		if !ranks.has(rank) {
			return problem.New(problem.MissingRankState, "%s is missing: %d of %d are there",
				root.join(fmt.Sprintf("%s-rank%d%s", tag, rank, suffix)), len(ranks), want)
		}
	}
	paths := make([]string, len(ranks))
	for i, rank := range ranks {
		paths[i] = root.join(fmt.Sprintf("%s-rank%d%s", tag, rank, suffix))
	}
	c.ShardsExpected, c.ShardsFound, c.Basis = want, len(ranks), BasisStructure
	if len(ranks) > 1 {
		c.WorldSize, c.Basis = len(ranks), BasisGrid
	} else {
		c.Elastic = true
	}
	switch {
	case strings.Contains(suffix, ".tar") || suffix == ".tgz":
		return checkTars(l, c, paths)
	case suffix != "" && suffix != ".pt":
		_, err := l.parts(c, paths, false) // compressed
		return err
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return err
	}
	return composerState(l, c, paths[0])
}

// composerRanks is how many ranks have a file of the checkpoint before, which as many have to have again: with
// DeepSpeed, no other number can load it.
func composerRanks(root *dir, step int64, suffix string) int {
	before, tag := int64(-1), ""
	for _, name := range root.names {
		other, batch, rank, s, ok := composerName(name)
		if ok && rank == 0 && s == suffix && before < batch && batch < step {
			before, tag = batch, other
		}
	}
	if tag == "" {
		return 0
	}
	return len(ranksOf(root, tag+"-rank", suffix))
}

// composerState takes the name of the run from the pickled state, and sees whether there is more in it than weights.
func composerState(l *look, c *Checkpoint, name string) error {
	state, err := l.saved(name)
	if err != nil {
		return err
	}
	c.RunID = state.text("run_name")
	if l.Level >= Manifests && state.whole() && state.after("state") != nil && state.after("optimizers") == nil {
		c.weightsOnly("%s holds no optimizers", name)
	}
	return nil
}

// text is the string of this key, of at most 256 bytes.
func (s saved) text(key string) string {
	v := s.after(key)
	n := 0
	switch {
	case len(v) > 5 && v[0] == 'X': // BINUNICODE
		n, v = int(binary.LittleEndian.Uint32(v[1:])), v[5:]
	case len(v) > 2 && v[0] == 0x8c: // SHORT_BINUNICODE
		n, v = int(v[1]), v[2:]
	}
	if n > len(v) || n > 256 {
		return ""
	}
	return string(v[:n])
}

// checkTars looks at tar files.
func checkTars(l *look, c *Checkpoint, paths []string) error {
	if _, err := l.parts(c, paths, false); err != nil || l.Level < Ends {
		return err
	}
	return l.each(paths, func(name string) error {
		if !strings.HasSuffix(name, ".tar") {
			return nil // compressed
		}
		return l.inside(name, file.TarEnd)
	})
}

func checkComposerSharded(l *look, c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if err := checkDCP(l, c, c.Path); err != nil {
		return err
	}
	c.contains("dcp")
	c.Elastic = true
	return c.withoutOptimizer(l, d.join(".metadata"), "state.optimizers.")
}
