package format

import (
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// megatronRank is a directory of one model parallel rank, mp_rank_01_002_003: tensor, pipeline and expert. Axes of size
// one are left out, but for the first.
type megatronRank struct {
	name string
	axes []int64
}

// megatronRanks lists the rank directories of the format "torch".
func megatronRanks(d *dir) (ranks []megatronRank) {
	for _, name := range d.names {
		rest, found := strings.CutPrefix(name, "mp_rank_")
		if !found || !d.isDir(name) {
			continue
		}
		rank := megatronRank{name: name}
		for axis := range strings.SplitSeq(rest, "_") {
			if n, ok := digits(axis); ok && n < maxRanks && len(rank.axes) < 3 {
				rank.axes = append(rank.axes, n)
			} else {
				rank.axes = nil
				break
			}
		}
		if rank.axes != nil {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

const (
	megatronState = "model_optim_rng.pt"
	// megatronOptim is written before it, with the distributed optimizer.
	megatronOptim = "distrib_optim.pt"
)

// checkMegatronLegacy wants a directory of every model parallel rank, with its state in it. How many there are is in
// the arguments of the training, which every state holds; without them, the ranks in the names must have no gap.
func checkMegatronLegacy(l *look, c *Checkpoint, d *dir, ranks []megatronRank) error {
	paths := make([]string, len(ranks))
	for i, rank := range ranks {
		paths[i] = d.join(rank.name) + "/" + megatronState
	}
	state, err := l.saved(paths[0])
	if err != nil {
		return err
	}
	c.ShardsFound = len(ranks)
	known, err := fullMegatronGrid(c, ranks, state)
	if err != nil {
		return err
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return err
	}
	optim, err := megatronOptimFiles(l, d, ranks, state)
	if err != nil {
		return err
	}
	if _, err := checkTorchAll(l, c, optim); err != nil {
		return err
	}
	c.Basis = BasisGrid
	if known {
		c.Basis = BasisManifest
	}
	if n, ok := state.number("world_size"); ok {
		c.WorldSize = int(n)
	}
	// Data parallel ranks load the same files: their number is free.
	c.Elastic = true
	if state.yes("no_save_optim") {
		c.weightsOnly("%s was saved with --no-save-optim", c.Path)
	}
	return nil
}

// fullMegatronGrid wants no gap in the ranks, and reports whether the checkpoint itself said how many there are.
func fullMegatronGrid(c *Checkpoint, ranks []megatronRank, state saved) (known bool, err error) {
	sizes := make([]int64, len(ranks[0].axes))
	for _, rank := range ranks {
		if len(rank.axes) != len(sizes) {
			return false, problem.New(problem.MissingShard, "%s/%s and %s are of saves with other parallelism", c.Path,
				ranks[0].name, rank.name)
		}
		for axis, n := range rank.axes {
			sizes[axis] = max(sizes[axis], n+1)
		}
	}
	tensor, known := state.number("tensor_model_parallel_size")
	pipeline, alsoKnown := state.number("pipeline_model_parallel_size")
	known = known && alsoKnown && 0 < tensor && tensor <= maxRanks && 0 < pipeline && pipeline <= maxRanks
	expert, ok := state.number("expert_model_parallel_size")
	if !ok || expert < 1 || expert > maxRanks {
		expert = 1
	}
	if known {
		said := []int64{tensor}
		if pipeline > 1 {
			said = append(said, pipeline)
		}
		if expert > 1 {
			said = append(said, expert)
		}
		if len(said) != len(sizes) {
			return false, problem.New(problem.MissingShard, "%s/%s: of a save with other parallelism than it says, "+
				"%d × %d × %d", c.Path, ranks[0].name, tensor, pipeline, expert)
		}
		expertTensor, ok := state.number("expert_tensor_parallel_size")
		if ok && expert > 1 && 0 < expertTensor && expertTensor <= maxRanks && expertTensor != tensor {
			// Which tensor rank meets which expert rank follows from the order of all ranks: their number is enough.
			c.ShardsExpected = int(expertTensor * pipeline * expert)
			if len(ranks) < c.ShardsExpected {
				return true, problem.New(problem.MissingShard, "%s holds %d mp_rank_* directories, %d expected", c.Path,
					len(ranks), c.ShardsExpected)
			}
			return true, nil
		}
		sizes = said
	}
	expected := int64(1)
	for _, n := range sizes {
		expected *= n // of at most three sizes of at most maxRanks
	}
	c.ShardsExpected = int(expected)
	there := make(map[string]bool, len(ranks))
	for _, rank := range ranks {
		there[fmt.Sprint(rank.axes)] = true
	}
	for i := range expected { // until the first that is not there
		// The ranks are counted as the digits of a number are, the last axis fastest.
		at, rest := make([]int64, len(sizes)), i
		for axis := len(sizes) - 1; axis >= 0; axis-- {
			at[axis], rest = rest%sizes[axis], rest/sizes[axis]
		}
		if !there[fmt.Sprint(at)] {
			return known, problem.New(problem.MissingShard, "%s: the directory of the model parallel rank %v is missing: "+
				"%d of %d", c.Path, at, len(ranks), expected)
		}
	}
	return known, nil
}

// megatronOptimFiles lists the files of the distributed optimizer, which every rank has or none, and those of the
// layer-wise one, of every data parallel rank.
func megatronOptimFiles(l *look, d *dir, ranks []megatronRank, state saved) (paths []string, err error) {
	var without string
	count := 0
	for _, rank := range ranks {
		of, err := l.dir(d.join(rank.name))
		if err != nil {
			return nil, err
		}
		if of.has(megatronOptim) {
			paths = append(paths, of.join(megatronOptim))
			count++
		} else if without == "" {
			without = of.path
		}
		most, layerWise := int64(-1), 0
		for _, name := range of.names {
			if n, ok := numbered(name, "layer_wise_optimizer_", ".pt"); ok {
				most, layerWise = max(most, n), layerWise+1
				paths = append(paths, of.join(name))
			}
		}
		if most+1 != int64(layerWise) {
			return nil, problem.New(problem.MissingRankState, "%s holds layer_wise_optimizer_*.pt of %d ranks, %d expected",
				of.path, layerWise, most+1)
		}
	}
	want := state.yes("use_distributed_optimizer") && !state.yes("no_save_optim")
	if without != "" && (count > 0 || want) {
		return nil, problem.New(problem.MissingShard, "%s/%s is missing: %d of %d are there", without, megatronOptim, count,
			len(ranks))
	}
	return paths, nil
}
