package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// grid is the ranks in the names of one family of files: row and column of each. DeepSpeed has the data parallel ranks
// in its rows and the model parallel ones in its columns.
type grid map[[2]int64]string

// maxRanks bounds the ranks that a checkpoint can say it was written by.
const maxRanks = 1 << 20

// size is the number of rows and columns that the names in it ask for.
func (g grid) size() (rows, columns int64) {
	for at := range g {
		rows, columns = max(rows, at[0]+1), max(columns, at[1]+1)
	}
	return rows, columns
}

// full wants a file at every place of the first rows and columns. More than those are left over from a save with more
// ranks. name makes the name of the missing one.
func (g grid) full(rows, columns int64, name func(row, column int64) string) error {
	// The row of the first gap comes at the latest after as many places as there are files.
	for column := range columns {
		for row := range rows {
			if _, found := g[[2]int64{row, column}]; !found {
				return problem.New(problem.MissingShard, "%s is missing: %d of the %d × %d files are there",
					name(row, column), len(g), rows, columns)
			}
		}
	}
	return nil
}

// names lists the files of the first rows and columns.
func (g grid) names(rows, columns int64) (names []string) {
	for at, name := range g {
		if at[0] < rows && at[1] < columns {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// deepSpeedFiles are the files of one tag of DeepSpeed, by what their names say. The names are those of
// deepspeed/runtime/engine.py and deepspeed/runtime/pipe/module.py.
type deepSpeedFiles struct {
	model        grid            // mp_rank_00_model_states.pt, in row 0
	zeroModel    grid            // zero_pp_rank_0_mp_rank_00_model_states.pt, of ZeRO stage 3
	optim        map[string]grid // zero_pp_rank_0_mp_rank_00_optim_states.pt, by what stands before it: "", "bf16_"
	experts      map[int64]grid  // layer_0_expert_0_mp_rank_00_model_states.pt, by layer; -1 for names without one
	expertsOptim grid            // expp_rank_0_mp_rank_00_optim_states.pt
	layers       map[string]grid // layer_00-model_00-model_states.pt of a pipeline, by layer; the slice in the column
	count        int
}

// deepSpeedNames sorts the files of a directory into families.
func deepSpeedNames(d *dir) *deepSpeedFiles {
	f := &deepSpeedFiles{
		model: grid{}, zeroModel: grid{}, optim: map[string]grid{}, experts: map[int64]grid{}, expertsOptim: grid{},
		layers: map[string]grid{},
	}
	for _, name := range d.names {
		if strings.HasSuffix(name, "_states.pt") || strings.HasSuffix(name, "optim_states.pt") {
			if d.isFile(name) && f.add(name) {
				f.count++
			}
		}
	}
	return f
}

func (f *deepSpeedFiles) add(name string) bool {
	if layer, slice, ok := pipelineLayer(name); ok {
		put(f.layers, layer, [2]int64{0, slice}, name)
		return true
	}
	stem, model := strings.CutSuffix(name, "_model_states.pt")
	if !model {
		// Versions before 2021 wrote no underscore here, and today's still read that.
		stem = strings.TrimSuffix(strings.TrimSuffix(name, "optim_states.pt"), "_")
	}
	front, rank, found := cutLast(stem, "mp_rank_")
	mp, ok := digits(rank)
	if !found || !ok || mp >= maxRanks {
		return false
	}
	if front == "" && model {
		f.model[[2]int64{0, mp}] = name
		return true
	}
	front, found = strings.CutSuffix(front, "_")
	if !found {
		return false
	}
	if before, rank, found := cutLast(front, "zero_pp_rank_"); found {
		dp, ok := digits(rank)
		if !ok || dp >= maxRanks || model && before != "" {
			return false
		}
		if model {
			f.zeroModel[[2]int64{dp, mp}] = name
		} else {
			put(f.optim, before, [2]int64{dp, mp}, name)
		}
		return true
	}
	if rank, ok := numbered(front, "expp_rank_", ""); ok && !model && rank < maxRanks {
		f.expertsOptim[[2]int64{rank, mp}] = name
		return true
	}
	if layer, expert, ok := expertOf(front); ok && model {
		put(f.experts, layer, [2]int64{expert, mp}, name)
		return true
	}
	return false
}

func put[K comparable](family map[K]grid, key K, at [2]int64, name string) {
	if family[key] == nil {
		family[key] = grid{}
	}
	family[key][at] = name
}

// cutLast cuts a string around the last place of a separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// expertOf reads layer_0_expert_1, and expert_1 as it was written before there were layers in it.
func expertOf(s string) (layer, expert int64, ok bool) {
	before, rank, found := cutLast(s, "expert_")
	expert, ok = digits(rank)
	if !found || !ok || expert >= maxRanks {
		return 0, 0, false
	}
	if before == "" {
		return -1, expert, true
	}
	layer, ok = numbered(before, "layer_", "_")
	return layer, expert, ok
}

// pipelineLayer reads layer_03-model_01-model_states.pt. There need be no other axis than that of the pipeline.
func pipelineLayer(name string) (layer string, slice int64, ok bool) {
	stem, found := strings.CutSuffix(name, "-model_states.pt")
	if !found {
		return "", 0, false
	}
	layer, axis, more := strings.Cut(stem, "-")
	if _, ok := numbered(layer, "layer_", ""); !ok {
		return "", 0, false
	}
	if !more {
		return layer, 0, true
	}
	slice, ok = numbered(axis, "model_", "")
	return layer, slice, ok && slice < maxRanks
}

func deepSpeedModel(_, mp int64) string { return fmt.Sprintf("mp_rank_%02d_model_states.pt", mp) }

func deepSpeedZeroModel(dp, mp int64) string {
	return fmt.Sprintf("zero_pp_rank_%d_mp_rank_%02d_model_states.pt", dp, mp)
}

func deepSpeedOptim(before string) func(dp, mp int64) string {
	return func(dp, mp int64) string {
		return fmt.Sprintf("%szero_pp_rank_%d_mp_rank_%02d_optim_states.pt", before, dp, mp)
	}
}

func deepSpeedExpert(layer int64) func(expert, mp int64) string {
	return func(expert, mp int64) string {
		if layer < 0 {
			return fmt.Sprintf("expert_%d_mp_rank_%02d_model_states.pt", expert, mp)
		}
		return fmt.Sprintf("layer_%d_expert_%d_mp_rank_%02d_model_states.pt", layer, expert, mp)
	}
}

func deepSpeedExpertOptim(rank, mp int64) string {
	return fmt.Sprintf("expp_rank_%d_mp_rank_%02d_optim_states.pt", rank, mp)
}
