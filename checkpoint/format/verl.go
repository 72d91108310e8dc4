package format

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// verl is the checkpoints of verl and of its relatives: a directory of each step, and in it one of each role, in which
// every rank of the role writes its own files. The names are those of verl/trainer/ppo/ray_trainer.py and
// verl/utils/checkpoint/fsdp_checkpoint_manager.py.
var verl = kind{name: "verl", find: findVerl, check: checkVerl, claims: claimedByVerl, trainer: true, movable: true, pointer: &iterationPointer}

// verlFamilies are what each rank writes, in this order.
var verlFamilies = []string{"model", "optim", "extra_state"}

// verlData is the state of the data loader, by verl and by EasyR1.
var verlData = []string{"data.pt", "dataloader.pt"}

const verlDist = "dist_ckpt" // of a role that is trained by Megatron

func findVerl(l *look, root *dir) (found []*Checkpoint, err error) {
	isVerl, empty := false, true
	for _, name := range slices.Backward(root.dirs(func(name string) bool { return true })) {
		step, ok := numbered(name, "global_step_", "")
		if !ok {
			continue
		}
		if len(found) < 3 && !isVerl {
			d, err := l.dir(root.join(name))
			if err == nil {
				roles, err := l.verlRoles(d)
				isVerl, empty = err == nil && len(roles) > 0, empty && len(d.names) == 0
			} // else it cannot be read, and its name says whose it is
		}
		found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromName})
	}
	if !isVerl && !empty {
		return nil, nil
	}
	tag, p := l.pointer(root, iterationTracker)
	step, isStep := digits(tag)
	switch {
	case len(found) == 0 || p == noPointer:
	case !isStep:
		found = append(found, &Checkpoint{Path: root.join(iterationTracker), Tag: iterationTracker, Step: -1})
	default:
		if name := fmt.Sprintf("global_step_%d", step); !root.has(name) {
			found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromPointer})
		}
	}
	return found, nil
}

func claimedByVerl(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		roles, err := l.verlRoles(d)
		return whether(len(roles) > 0 || slices.ContainsFunc(verlData, d.has)), err
	})
}

// verlRoles lists the directories in which the ranks write: actor, critic, or that of the step itself in fine-tuning.
func (l *look) verlRoles(d *dir) (roles []string, err error) {
	if isVerlRole(d) {
		return []string{"."}, nil
	}
	for _, name := range d.dirs(func(string) bool { return true }) {
		if name == "actor" || name == "critic" {
			roles = append(roles, name)
			continue
		}
		below, err := l.dir(d.join(name))
		if err != nil {
			return nil, err
		}
		if isVerlRole(below) {
			roles = append(roles, name)
		}
	}
	return roles, nil
}

func isVerlRole(d *dir) bool {
	return d.isDir(verlDist) || slices.ContainsFunc(d.names, func(name string) bool {
		_, _, _, ok := verlRank(name)
		return ok && d.isFile(name)
	})
}

// verlRank reads model_world_size_8_rank_3.pt.
func verlRank(name string) (family string, world, rank int64, ok bool) {
	family, numbers, found := strings.Cut(name, "_world_size_")
	stem, isTorch := strings.CutSuffix(numbers, ".pt")
	size, last, both := strings.Cut(stem, "_rank_")
	world, sizeOK := digits(size)
	rank, rankOK := digits(last)
	ok = found && isTorch && both && sizeOK && rankOK && 0 < world && world <= maxRanks
	return family, world, rank, ok && slices.Contains(verlFamilies, family)
}

func checkVerl(l *look, c *Checkpoint) error {
	if done, err := checkPointed(l, c, iterationTracker); done {
		return err
	}
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	roles, err := l.verlRoles(d)
	if err != nil {
		return err
	}
	if len(roles) == 0 {
		return problem.New(problem.MissingShard, "%s holds neither actor nor *_world_size_*_rank_*.pt", d.path)
	}
	c.Basis, c.ShardsExpected = BasisMarker, 0
	for _, role := range roles {
		of, err := l.dir(d.join(role))
		if err != nil {
			return err
		}
		if err := l.checkVerlRole(c, of); err != nil {
			return err
		}
	}
	return l.checkVerlEnd(c, d, roles)
}

// checkVerlRole wants the files of all ranks of one role. Their number is in each name.
func (l *look) checkVerlRole(c *Checkpoint, d *dir) error {
	if d.isDir(verlDist) {
		of, err := l.dir(d.join(verlDist))
		if err != nil {
			return err
		}
		expected, found := c.ShardsExpected, c.ShardsFound
		c.ShardsExpected, c.ShardsFound = -1, 0
		err = checkMegatronDist(l, c, of)
		c.ShardsExpected, c.ShardsFound = expected+max(c.ShardsExpected, 0), found+c.ShardsFound
		return err
	}
	families := map[string]map[int64][]string{} // the files of each family by world size
	for _, name := range d.names {
		if family, world, rank, ok := verlRank(name); ok && rank < world && d.isFile(name) {
			if families[family] == nil {
				families[family] = map[int64][]string{}
			}
			families[family][world] = append(families[family][world], name)
		}
	}
	world, err := l.verlWorld(d, families["model"])
	if err != nil {
		return err
	}
	c.WorldSize = max(c.WorldSize, int(world))
	var missing error
	for _, family := range verlFamilies {
		names := families[family][world]
		if len(names) == 0 && family != "model" {
			continue // what is saved is a setting
		}
		c.ShardsExpected, c.ShardsFound = c.ShardsExpected+int(world), c.ShardsFound+len(names)
		if missing == nil && int64(len(names)) < world {
			missing = problem.New(problem.MissingShard, "%s holds %s_world_size_%d_rank_*.pt of %d ranks", d.path, family, world,
				len(names))
		}
		for i := range names {
			names[i] = d.join(names[i])
		}
		if missing == nil {
			_, missing = checkTorchAll(l, c, names)
		}
	}
	if missing == nil && len(families["optim"][world]) == 0 {
		c.weightsOnly("%s holds no optim_world_size_%d_rank_*.pt", d.path, world)
	}
	return missing
}

// verlWorld is the number of ranks of a role. Files for another number are left over from an earlier save: which are,
// is in the config that the first rank writes beside its own.
func (l *look) verlWorld(d *dir, models map[int64][]string) (int64, error) {
	worlds := slices.Sorted(maps.Keys(models))
	switch {
	case len(worlds) == 0:
		return 0, problem.New(problem.MissingShard, "%s holds no model_world_size_*_rank_*.pt", d.path)
	case len(worlds) == 1:
		return worlds[0], nil
	}
	const name = "fsdp_config.json"
	if d.isFile(name) && l.Level >= Ends {
		data, err := l.small(d.join(name), 1<<20)
		if err != nil {
			return 0, err
		}
		var config struct {
			World int64 `json:"world_size"`
		}
		if json.Unmarshal(data, &config) == nil && models[config.World] != nil {
			return config.World, nil
		}
	}
	for _, world := range slices.Backward(worlds) {
		if int64(len(models[world])) == world {
			return world, nil
		}
	}
	return worlds[len(worlds)-1], nil
}

// checkVerlEnd looks for what is written when all roles are: the state of the data loader, and then the tracker.
// Neither is in every version. And pruning removes the files of a role, and leaves the rest.
func (l *look) checkVerlEnd(c *Checkpoint, d *dir, roles []string) error {
	data := d.files(func(name string) bool {
		_, ok := numbered(name, "data_", ".pt") // of each data parallel rank, in fine-tuning
		return ok || slices.Contains(verlData, name)
	})
	for i := range data {
		data[i] = d.join(data[i])
	}
	if _, err := checkTorchAll(l, c, data); err != nil {
		return err
	}
	root, err := l.dir(c.Root)
	if err != nil {
		return err
	}
	siblings, looked := false, 0
	for _, name := range slices.Backward(root.names) {
		if _, ok := numbered(name, "global_step_", ""); !ok || name == c.Tag || looked == 3 {
			continue
		}
		looked++
		if sibling, err := l.dir(root.join(name)); err == nil {
			siblings = siblings || sibling.isFile("data_0.pt") || slices.ContainsFunc(verlData, sibling.isFile)
			if sibling.isDir("critic") && !slices.Contains(roles, "critic") && slices.Contains(roles, "actor") {
				return problem.New(problem.MissingShard, "%s holds no critic, and %s does", d.path, sibling.path)
			}
		}
	}
	if len(data) > 0 {
		return nil
	}
	tag, _, err := l.readPointer(root, iterationTracker)
	if err != nil {
		return err
	}
	if step, ok := digits(tag); siblings || !ok || step < c.Step {
		return problem.New(problem.NoMarker, "%s is missing, which is written last", d.join("data.pt"))
	}
	c.Basis = BasisGrid
	return nil
}
