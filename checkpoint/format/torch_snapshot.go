package format

import (
	"io"
	"maps"
	"path"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// torchSnapshot is what TorchSnapshot writes: a directory with the files of each rank, and then one by rank 0 that names
// all of them, in place (torchsnapshot/snapshot.py). When saving in the background fails, that is only logged.
var torchSnapshot = kind{name: "torch_snapshot", find: findTorchSnapshot, check: checkTorchSnapshot, claims: claimedByTorchSnapshot, movable: true}

const snapshotMarker = ".snapshot_metadata"

func findTorchSnapshot(l *look, root *dir) ([]*Checkpoint, error) {
	if root.isFile(snapshotMarker) {
		return []*Checkpoint{{Path: root.path, Step: -1}}, nil
	}
	names := root.dirs(func(name string) bool { return titleOf(name).step >= 0 })
	if len(names) == 0 {
		return nil, nil
	}
	// The same program wrote all of them: three tell what they are, and one of them may be torn.
	sure := false
	for _, name := range []string{names[0], names[len(names)/2], names[len(names)-1]} {
		is, err := l.isSnapshot(root.join(name))
		if err != nil {
			continue // somebody else's, or unknown to the kinds after this one, too
		}
		sure = sure || is
	}
	if !sure {
		return nil, nil
	}
	var cs []*Checkpoint
	for _, name := range names {
		t := titleOf(name)
		cs = append(cs, &Checkpoint{Path: root.join(name), Tag: name, Step: t.step, Unit: t.unit, StepFrom: StepFromName})
	}
	return cs, nil
}

func claimedByTorchSnapshot(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		if is, err := l.isSnapshot(d.path); err != nil || is {
			return yes, err
		}
		for _, name := range d.names {
			if _, rank := digits(name); !rank || !d.isDir(name) {
				return no, nil
			}
		}
		return maybe, nil
	})
}

// isSnapshot reports whether a directory is a snapshot, torn or whole: nothing but ranks and what they have in common.
func (l *look) isSnapshot(name string) (bool, error) {
	d, err := l.dir(name)
	if err != nil || d.isFile(snapshotMarker) {
		return err == nil, err
	}
	common := false
	for _, name := range d.names {
		switch name {
		case "batched", "replicated", "sharded":
			common = true
			continue
		}
		if _, rank := digits(name); !rank || !d.isDir(name) {
			return false, nil
		}
	}
	return common, nil
}

func checkTorchSnapshot(l *look, c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	marker := d.join(snapshotMarker)
	if !d.isFile(snapshotMarker) {
		return problem.New(problem.NoMarker, "%s is missing, which is written last", marker)
	}
	found, err := l.parts(c, []string{marker}, false)
	if err != nil {
		return err
	}
	c.Modified, c.ModifiedFrom = found[0].mod, ModifiedMarker
	c.Basis = BasisMarker
	if l.Level < Ends {
		return nil
	}
	if l.Level < Manifests {
		return l.inside(marker, file.SnapshotEnds)
	}
	var s *file.Snapshot
	err = l.inside(marker, func(r io.ReaderAt, size int64) (err error) {
		s, err = file.ReadSnapshot(r, size)
		return err
	})
	if err != nil {
		return err
	}
	c.Basis, c.WorldSize, c.Elastic, c.ShardsExpected = BasisManifest, s.WorldSize, !s.Alone, len(s.Files)
	var paths, saved []string
	for _, location := range slices.Sorted(maps.Keys(s.Files)) {
		if !under(location) {
			return problem.New(problem.BadJSON, "%s names %q, which is not in %s", marker, location, c.Path)
		}
		p := path.Join(c.Path, location)
		paths = append(paths, p)
		if s.Files[location].Saved {
			saved = append(saved, p)
		}
	}
	parts, err := l.parts(c, paths, true)
	if err != nil {
		c.ShardsFound = l.present(paths)
		return err
	}
	c.ShardsFound = len(paths)
	if err := l.marked(c, marker, found[0].mod, parts); err != nil {
		return err
	}
	for i, p := range paths {
		location := p
		if c.Path != "." {
			location = p[len(c.Path)+1:]
		}
		want, got := s.Files[location], parts[i].size
		switch {
		case got == 0 && (want.Size > 0 || want.Saved):
			return problem.New(problem.EmptyFile, "%s is empty", p)
		case got < want.Size:
			return problem.New(problem.Truncated, "%s has %d bytes, %d expected", p, got, want.Size)
		case want.Whole && got > want.Size:
			return problem.New(problem.SizeMismatch, "%s has %d bytes, %d expected", p, got, want.Size)
		}
	}
	payload := &Checkpoint{} // its files are counted already
	_, err = checkTorchAll(l, payload, saved)
	return err
}
