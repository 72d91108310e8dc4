package format

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// orbax is what Orbax's checkpoint managers write for JAX: a directory for each step with one for each item of the state.
// It is renamed to its name when it is written, and where nothing can be renamed, in object stores, a file
// commit_success.txt follows (orbax/checkpoint/_src/path/atomicity.py). Since 0.11 both are done everywhere. So the name
// alone says that a step is whole only when nothing in it says that there should be that file.
//
// A step is never written twice into the same directory: times of parts say nothing. When a step is removed, which is not
// done at once, what is left of it can be told by what is missing, except for the data files: what they hold is known to
// the index of the store alone, and this is compressed.
//
// The directories of Orbax's emergency checkpoints are the same, one for each node: what they have in common is for all
// nodes to find out.
var orbax = kind{name: "orbax", find: findOrbax, check: checkOrbax, claims: claimedByOrbax, movable: true}

const (
	orbaxTemporary = ".orbax-checkpoint-tmp" // in a name, perhaps with a time after it
	orbaxMetadata  = "_CHECKPOINT_METADATA"
	orbaxCommitted = "commit_success.txt"
	orbaxIdentity  = "orbax.checkpoint" // of version 1, always empty
	orbaxManifest  = "manifest.ocdbt"
	orbaxArrays    = "array_metadatas" // what the arrays are, by a file for each process
	orbaxProcess   = "ocdbt.process_"
	orbaxProcesses = "process_metadata" // an item of emergency checkpoints

	// maxOrbaxPrefixes bounds the prefixes of step names for which directories are looked into.
	maxOrbaxPrefixes = 16
	maxOrbaxItems    = 64 // likewise items of a step that tell what the directory is
	maxOrbaxDepth    = 4  // of the directories below an item whose files are counted
)

// orbaxStep takes the name of a step apart: an optional prefix that ends in an underscore, and the number.
func orbaxStep(name string) (prefix string, step int64, temporary, ok bool) {
	name, _, temporary = strings.Cut(name, orbaxTemporary)
	i := strings.LastIndexByte(name, '_') + 1
	step, ok = digits(name[i:])
	return name[:i], step, temporary, ok
}

func findOrbax(l *look, root *dir) ([]*Checkpoint, error) {
	if is, err := l.isOrbax(root, false); err != nil || is {
		return []*Checkpoint{{Path: root.path, Step: -1}}, err
	}
	steps := map[string][]*Checkpoint{} // by prefix
	var cs []*Checkpoint
	for _, name := range root.dirs(func(string) bool { return true }) {
		prefix, step, temporary, ok := orbaxStep(name)
		if !ok && !temporary {
			continue
		}
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
		if ok {
			c.Step, c.StepFrom = step, StepFromName
		}
		if temporary {
			cs = append(cs, c)
		} else {
			steps[prefix] = append(steps[prefix], c)
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(steps))[:min(len(steps), maxOrbaxPrefixes)] {
		// The same program wrote all of them: three tell what they are, and one of them may be torn.
		all := steps[prefix]
		for _, c := range []*Checkpoint{all[0], all[len(all)/2], all[len(all)-1]} {
			d, err := l.dir(c.Path)
			if err == nil {
				var is bool
				if is, err = l.isOrbax(d, true); is {
					cs = append(cs, all...)
					break
				}
			}
			if err != nil && prefix == "" {
				return nil, err
			} // else it is somebody else's: a prefix is no rare thing in a name
		}
	}
	return cs, nil
}

func claimedByOrbax(l *look, c *Checkpoint) (claim, error) {
	if c.Path == c.Root || c.Root == "" && c.Path == "." || strings.Contains(path.Base(c.Path), orbaxTemporary) {
		return yes, nil
	}
	return l.claimDir(c, func(d *dir) (claim, error) {
		is, err := l.isOrbax(d, true)
		return whether(is), err
	})
}

// isOrbax reports whether a directory is a step, torn or whole. A step of a manager has items.
func (l *look) isOrbax(d *dir, items bool) (bool, error) {
	if d.isFile(orbaxMetadata) || d.isFile(orbaxIdentity) || isOrbaxItem(d) {
		return true, nil
	}
	if !items {
		return false, nil
	}
	if d.isFile(orbaxCommitted) {
		return true, nil
	}
	names := d.dirs(func(string) bool { return true })
	for _, name := range names[:min(len(names), maxOrbaxItems)] {
		if strings.Contains(name, orbaxTemporary) {
			return true, nil
		}
		item, err := l.dir(d.join(name))
		if err != nil {
			return false, err
		}
		if isOrbaxItem(item) {
			return true, nil
		}
	}
	return false, nil
}

// isOrbaxItem reports whether a directory holds what Orbax makes of a tree of arrays.
func isOrbaxItem(d *dir) bool {
	return d.isFile(orbaxManifest) || len(startingWith(d, orbaxProcess)) > 0 || d.isFile("_METADATA") && d.isFile("_sharding")
}

func checkOrbax(l *look, c *Checkpoint) error {
	if strings.Contains(path.Base(c.Path), orbaxTemporary) {
		return problem.New(problem.InProgress, "%s is renamed when it is written", c.Path)
	}
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	meta, err := l.orbaxMetadata(d)
	if err != nil {
		return err
	}
	items, single, err := l.orbaxItems(d)
	if err != nil {
		return err
	}
	committed := false // whether the one that wrote it leaves the file behind
	for _, item := range items {
		committed = committed || item.path != d.path && item.isFile(orbaxCommitted)
	}
	c.Basis = BasisMarker
	switch {
	case d.isFile(orbaxCommitted):
		found, err := l.parts(c, []string{d.join(orbaxCommitted)}, true)
		if err != nil {
			return err
		}
		c.Modified, c.ModifiedFrom = found[0].mod, ModifiedMarker
	case l.Level < Ends, meta.Committed > 0:
	case committed:
		return problem.New(problem.NoMarker, "%s is missing, which the items of %s have", d.join(orbaxCommitted), c.Path)
	case meta.Begun > 0:
		return problem.New(problem.NoMarker, "%s has no commit_timestamp_nsecs, and there is no %s", d.join(orbaxMetadata),
			d.join(orbaxCommitted))
	default: // an older version, which renamed and left nothing behind
		c.Basis = BasisStructure
	}
	if meta.Committed > 0 {
		c.Modified, c.ModifiedFrom = time.Unix(0, meta.Committed).UTC(), ModifiedInternal
	}
	if len(items) == 0 {
		return problem.New(problem.MissingShard, "%s has no item", c.Path)
	}
	for _, name := range meta.items() {
		if !single && !d.isDir(name) {
			return problem.New(problem.MissingShard, "the item %s of %s is missing", name, c.Path)
		}
	}
	if err := l.orbaxJSONItems(d, meta); err != nil {
		return err
	}
	c.Elastic = !d.isDir(orbaxProcesses)
	for _, item := range items {
		if err := l.orbaxItem(c, item); err != nil {
			return err
		}
	}
	if !c.Elastic {
		if err := l.orbaxProcesses(c, d.join(orbaxProcesses)); err != nil {
			return err
		}
	}
	if l.Level < Manifests {
		return nil
	}
	if err := l.orbaxFiles(c, items); err != nil || !single || c.Step >= 0 {
		return err
	}
	weights, err := l.orbaxWeights(d)
	if weights {
		c.weightsOnly("%s holds parameters alone, by the names in it", c.Path)
	}
	return err
}

// orbaxFiles counts the files of all items. Which there have to be is not known, nor that none may be empty.
func (l *look) orbaxFiles(c *Checkpoint, items []*dir) error {
	var paths []string
	var walk func(d *dir, depth int) error
	walk = func(d *dir, depth int) error {
		for _, name := range d.names {
			switch {
			case d.isFile(name) && d.join(name) != path.Join(c.Path, orbaxCommitted):
				paths = append(paths, d.join(name))
			case d.isDir(name) && depth < maxOrbaxDepth && len(paths) < maxEntries:
				below, err := l.dir(d.join(name))
				if err != nil {
					return err
				}
				if err := walk(below, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, item := range items {
		if err := walk(item, 0); err != nil {
			return err
		}
	}
	_, err := l.parts(c, paths, true)
	return err
}

// orbaxProcesses reads how many processes there were when an emergency checkpoint was written
// (orbax/checkpoint/experimental/emergency/mesh_consistency.py). Each continues with its own part alone.
func (l *look) orbaxProcesses(c *Checkpoint, item string) error {
	if l.Level < Manifests {
		return nil
	}
	d, err := l.dir(item)
	if err != nil {
		return err
	}
	const name = "global_process_metadata.json"
	if !d.isFile(name) {
		return nil // of a version that named it otherwise
	}
	var devices []json.RawMessage // of each process
	if err := l.orbaxJSON(d.join(name), &devices); err != nil {
		return err
	}
	c.WorldSize = len(devices)
	return nil
}
