package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// deepSpeedGrid is how many files a tag should consist of.
type deepSpeedGrid struct {
	dp, mp    int64
	said      bool // by the checkpoint itself
	zero      bool // the optimizer's state is in files of its own
	nodeLocal bool // each node keeps the files of its own ranks
	experts   []int64
	prefix    string // of the optimizer's files
}

// files lists the files that have to be there, when they all are.
func (w deepSpeedGrid) files(c *Checkpoint, files *deepSpeedFiles, stage3 bool) (names []string, err error) {
	expected, found := int64(0), 0
	need := func(g grid, rows, columns int64, name func(row, column int64) string) {
		there := g.names(rows, columns)
		expected, found = expected+rows*columns, found+len(there)
		names = append(names, there...)
		if err == nil {
			err = g.full(rows, columns, name)
		}
	}
	switch optim := files.optim[w.prefix]; {
	case w.nodeLocal:
		// This node sees no more than its own ranks, and of the model as a whole what its first rank has saved.
		for _, g := range []grid{files.model, files.zeroModel, optim} {
			there := g.names(maxRanks, maxRanks)
			expected, found = expected+int64(len(there)), found+len(there)
			names = append(names, there...)
		}
		err = w.nodeFull(files.zeroModel, optim, stage3)
	case stage3:
		need(files.zeroModel, w.dp, w.mp, deepSpeedZeroModel)
		if w.zero {
			need(optim, w.dp, w.mp, deepSpeedOptim(w.prefix))
		}
	default:
		need(files.model, 1, w.mp, deepSpeedModel)
		if w.zero {
			need(optim, w.dp, w.mp, deepSpeedOptim(w.prefix))
		}
	}
	w.expertFiles(files, need)
	count := int64(0)
	for _, g := range files.layers {
		_, columns := g.size()
		count = max(count, columns)
	}
	// Layers without weights have no file, so that a gap between two of them says nothing.
	for layer, g := range files.layers {
		need(g, 1, count, func(_, slice int64) string { return fmt.Sprintf("%s-model_%02d-model_states.pt", layer, slice) })
	}
	c.ShardsExpected, c.ShardsFound = int(expected), found
	return names, err
}

func (w deepSpeedGrid) expertFiles(files *deepSpeedFiles, need func(grid, int64, int64, func(int64, int64) string)) {
	_, mp := unite(files.experts).size()
	layers := slices.Sorted(maps.Keys(files.experts))
	if len(layers) > 0 && layers[0] >= 0 && len(files.layers) == 0 && !w.nodeLocal {
		// Layers are numbered without a gap, and each tells the number of its experts.
		for layer := range max(layers[len(layers)-1]+1, int64(len(w.experts))) {
			if files.experts[layer] == nil {
				need(grid{}, 1, 1, deepSpeedExpert(layer))
				return
			}
		}
	}
	for i, layer := range layers {
		g := files.experts[layer]
		rows, _ := g.size()
		if w.nodeLocal {
			rows = 0
		} else if i < len(w.experts) && len(files.layers) == 0 && w.experts[i] <= maxRanks {
			rows = w.experts[i]
		}
		need(g, rows, mp, deepSpeedExpert(layer))
	}
	if rows, columns := files.expertsOptim.size(); !w.nodeLocal {
		need(files.expertsOptim, rows, columns, deepSpeedExpertOptim)
	}
}

// unite puts the places of several families into one.
func unite(families map[int64]grid) grid {
	all := grid{}
	for _, g := range families {
		maps.Copy(all, g)
	}
	return all
}

// nodeFull wants the ranks of one node to have no gap, and as many as let every node have the same number. More cannot
// be told from the files of one node: the last of its ranks may be missing.
func (w deepSpeedGrid) nodeFull(zeroModel, optim grid, stage3 bool) error {
	if w.zero && len(optim) == 0 {
		return problem.New(problem.MissingShard, "no %s*_optim_states.pt on this node", w.prefix)
	}
	for _, g := range []grid{zeroModel, optim} {
		if len(g) == 0 {
			continue
		}
		low, high := [2]int64{maxRanks, maxRanks}, [2]int64{}
		for at := range g {
			for axis := range at {
				low[axis], high[axis] = min(low[axis], at[axis]), max(high[axis], at[axis])
			}
		}
		places := (high[0] - low[0] + 1) * (high[1] - low[1] + 1)
		if places != int64(len(g)) {
			return problem.New(problem.MissingShard, "%d files for the ranks %v to %v of this node, %d expected", len(g), low,
				high, places)
		}
		if w.said && w.dp*w.mp%places != 0 {
			return problem.New(problem.MissingShard, "%d files on this node, of %d ranks in all: some are missing", len(g),
				w.dp*w.mp)
		}
	}
	if stage3 && w.zero && len(zeroModel) != len(optim) {
		return problem.New(problem.MissingShard, "%d *_model_states.pt and %d *_optim_states.pt on this node",
			len(zeroModel), len(optim))
	}
	return nil
}

func (w deepSpeedGrid) fill(c *Checkpoint) {
	c.Basis = cmp.Or(c.Basis, BasisGrid)
	if w.said {
		c.Basis = BasisManifest
	}
	if w.said || w.zero {
		c.WorldSize = int(w.dp * w.mp)
	}
	// ZeRO splits the optimizer's state by rank; without it, every data parallel rank loads the same.
	c.Elastic = !w.zero && w.mp == 1
}
