package format

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// isDeepSpeed reports whether a directory holds the files of one tag of DeepSpeed.
func isDeepSpeed(d *dir) bool { return deepSpeedNames(d).count > 0 }

// checkDeepSpeed looks at the files of one tag of DeepSpeed in a directory.
//
// What has to be there is in the state that every model parallel rank saves: dp_world_size and mp_world_size, by which
// the loader makes the names of the files, and whether the optimizer's state is in files of its own. Without it, all
// that can be wanted is that the ranks in the names have no gap.
//
// The file latest beside the directory is no part of this. The first rank overwrites it when its own files are written,
// and nobody waits for the others before. Nor are times: no file is written last. Nor are sizes: the shares of the
// ranks are about equal, and yet nothing forbids a small one.
func checkDeepSpeed(l *look, c *Checkpoint, dir string) error {
	d, err := l.dir(dir)
	if err != nil {
		return err
	}
	files := deepSpeedNames(d)
	if isDeepSpeedUniversal(d, files) {
		return checkDeepSpeedUniversal(l, c, d)
	}
	stage3 := len(files.zeroModel) > 0
	models := files.model
	if stage3 {
		models = files.zeroModel
	}
	if len(models) == 0 {
		return problem.New(problem.MissingShard, "%s holds no *_model_states.pt: %d files of DeepSpeed", dir, files.count)
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(models)), func(a, b [2]int64) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
	})
	state, err := l.saved(d.join(models[first]))
	if err != nil {
		return err
	}
	want := deepSpeedWant(files, state)
	names, err := want.files(c, files, stage3)
	if err != nil {
		return err
	}
	if err := wholeOffload(l, d); err != nil {
		return err
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = d.join(name)
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return err
	}
	want.fill(c)
	if n, ok := state.number("global_steps"); ok && c.Step < 0 {
		c.Step, c.StepFrom = n, StepFromManifest
	}
	switch {
	case isNebulaDummy(state):
		// The states are in a store of Nebula's own, and these files only keep DeepSpeed's place.
		c.Basis = BasisHeuristic
	case !want.zero && state.none("optimizer"):
		c.weightsOnly("%s holds no state of an optimizer", paths[0])
	}
	return nil
}

func deepSpeedWant(files *deepSpeedFiles, state saved) deepSpeedGrid {
	var w deepSpeedGrid
	most := 0
	for _, prefix := range slices.Sorted(maps.Keys(files.optim)) {
		// Of two precisions in one directory, one is left over.
		if g := files.optim[prefix]; len(g) > most {
			most, w.prefix = len(g), prefix
		}
	}
	w.zero = most > 0 || state.set("param_shapes")
	w.experts = state.numbers("num_experts")
	w.nodeLocal = state.yes("use_node_local_storage")
	dp, known := state.number("dp_world_size")
	mp, alsoKnown := state.number("mp_world_size")
	if known && alsoKnown && 0 < dp && dp <= maxRanks && 0 < mp && mp <= maxRanks {
		w.dp, w.mp, w.said = dp, mp, true
		// With MiCS, the ranks of the first shard group write alone.
		if shard, ok := state.number("mics_shard_size"); ok && shard > 0 {
			w.dp = min(w.dp, shard)
		}
		return w
	}
	for _, g := range []grid{files.model, files.zeroModel, files.optim[w.prefix]} {
		rows, columns := g.size()
		w.dp, w.mp = max(w.dp, rows), max(w.mp, columns)
	}
	return w
}

// wholeOffload wants a directory of every rank, when the optimizer's state was copied from local disks.
func wholeOffload(l *look, d *dir) error {
	const name = "offloaded_tensors"
	if !d.isDir(name) {
		return nil
	}
	ranks, err := l.dir(d.join(name))
	if err != nil {
		return err
	}
	most, count := int64(-1), int64(0)
	for _, entry := range ranks.names {
		if rank, ok := numbered(entry, "rank", ""); ok {
			most, count = max(most, rank), count+1
		}
	}
	if count != most+1 {
		return problem.New(problem.MissingRankState, "%s holds the tensors of %d ranks, %d expected", ranks.path, count,
			most+1)
	}
	return nil
}

// isNebulaDummy reports whether an empty string was saved in place of a state.
func isNebulaDummy(state saved) bool {
	return bytes.Contains(state[:min(len(state), 512)], []byte("\x80\x02X\x00\x00\x00\x00"))
}

// deepSpeed is a directory of tags.
var deepSpeed = kind{name: "deepspeed", find: findDeepSpeed, check: checkDeepSpeedTag, trainer: true, movable: true, pointer: &tagPointer}

// deepSpeedPointer names the newest tag.
const deepSpeedPointer = "latest"

// findDeepSpeed lists the directories of tags. Names that differ in the number at their end alone are of one kind, and
// so it is enough to look into one of them.
func findDeepSpeed(l *look, root *dir) (found []*Checkpoint, err error) {
	families := map[string][]string{}
	for _, name := range root.dirs(func(name string) bool { return name[0] != '.' && name != quarantined }) {
		stem, _ := tagStep(name)
		families[stem] = append(families[stem], name)
	}
	tag, pointer := l.pointer(root, deepSpeedPointer)
	looks := 64
	for _, stem := range slices.Sorted(maps.Keys(families)) {
		tags := families[stem]
		if !l.isDeepSpeedFamily(root, stem, tags, &looks) {
			continue
		}
		for _, name := range tags {
			found = append(found, deepSpeedTag(root, name))
		}
	}
	stem, step := tagStep(tag)
	switch {
	case len(found) == 0 && (stem != "global_step" || step < 0):
		return nil, nil // many write a file of this name
	case pointer == points && !root.has(tag):
		c := deepSpeedTag(root, tag)
		c.StepFrom = StepFromPointer
		found = append(found, c)
	case pointer == isMalformed:
		found = append(found, &Checkpoint{Path: root.join(deepSpeedPointer), Tag: deepSpeedPointer, Step: -1})
	}
	return found, nil
}

// isDeepSpeedFamily looks into at most three directories of one family.
func (l *look) isDeepSpeedFamily(root *dir, stem string, tags []string, looks *int) bool {
	empty := true
	for _, name := range slices.Backward(tags[max(0, len(tags)-3):]) {
		if *looks--; *looks < 0 {
			return false
		}
		d, err := l.dir(root.join(name))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			// It cannot be read, and its name says whose it is.
		case err == nil && isDeepSpeed(d):
			return true
		case err == nil && len(d.names) > 0:
			empty = false
		}
	}
	// The first save of all may have died before its first file.
	return empty && stem == "global_step"
}

func deepSpeedTag(root *dir, name string) *Checkpoint {
	c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
	if _, step := tagStep(name); step >= 0 {
		c.Step, c.StepFrom = step, StepFromName
	}
	return c
}

// tagStep cuts the number from the end of a tag: global_step100, or 100 as DLRover writes it. It is -1 when there is
// none.
func tagStep(tag string) (stem string, step int64) {
	stem = strings.TrimRight(strings.TrimSuffix(tag, "_universal"), "0123456789")
	step, ok := digits(strings.TrimSuffix(tag, "_universal")[len(stem):])
	if !ok {
		step = -1
	}
	if strings.HasSuffix(tag, "_universal") {
		stem += "_universal"
	}
	return stem, step
}

func checkDeepSpeedTag(l *look, c *Checkpoint) error {
	if done, err := checkPointed(l, c, deepSpeedPointer); done {
		return err
	}
	if isTemporary(c.Tag) {
		return problem.New(problem.InProgress, "%s has the name of what is being written", c.Path)
	}
	if err := l.dlroverUnfinished(c); err != nil {
		return err
	}
	if err := checkDeepSpeed(l, c, c.Path); err != nil {
		return err
	}
	return l.layersBefore(c)
}
