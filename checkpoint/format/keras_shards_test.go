package format

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gangrun/gangrun/checkpoint/file/filetest"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// kerasShardsSave is the order in which save_weights writes with max_shard_size.
func kerasShardsSave(step int) []op {
	stem := fmt.Sprintf("model_%d", step)
	return []op{
		write(stem+"_00000.weights.h5", filetest.HDF5("layers")),
		write(stem+"_00001.weights.h5", filetest.HDF5("layers", "optimizer")),
		writeText(stem+".weights.json", fmt.Sprintf(`{"metadata": {"total_size": 1.0}, "weight_map": {"/layers/dense/vars": "%s_00000.weights.h5",
			"/optimizer/vars": ["%[1]s_00000.weights.h5", "%[1]s_00001.weights.h5"]}}`, stem)),
	}
}

func TestKerasShards(t *testing.T) {
	index, last := "model_3.weights.json", "model_3_00001.weights.h5"
	mutate(t, Options{}, index, slices.Concat(kerasShardsSave(2), kerasShardsSave(3)), []mutation{
		{"whole", nil, ""},
		{"the index is missing", []op{remove(index)}, problem.NoMarker},
		{"the index is cut", []op{truncated(index, -20)}, problem.BadIndex},
		{"the index is empty", []op{truncated(index, 0)}, problem.EmptyFile},
		{"the index names nothing", []op{writeText(index, `{"weight_map": {}}`)}, problem.BadIndex},
		{"the index leads elsewhere", []op{writeText(index, `{"weight_map": {"a": "../b"}}`)}, problem.BadIndex},
		{"no optimizer", []op{writeText(index, `{"weight_map": {"/layers": "`+last+`"}}`)}, problem.WeightsOnly},
		{"a shard is missing", []op{remove(last)}, problem.MissingShard},
		{"a shard is cut", []op{truncated(last, 100)}, problem.Truncated},
		{"saved over", []op{touched(last)}, problem.OverwriteInProgress},
	})
	d := newDisk(t)
	d.play(slices.Concat(kerasShardsSave(2), kerasShardsSave(3))...)
	cs := see(t, d.fs(), Options{Level: Manifests})
	if c := one(t, cs, index); len(cs) != 2 || c.Step != 3 || c.ShardsExpected != 2 || c.ShardsFound != 2 || !c.Optimizer {
		t.Errorf("%+v\n%s", c, list(cs))
	}
	// Numbers of five digits are those of saves where there is no index.
	d = newDisk(t)
	d.play(write("model_00001.weights.h5", filetest.HDF5("layers", "optimizer")), write("model_00002.weights.h5", filetest.HDF5("layers", "optimizer")))
	if cs := see(t, d.fs(), Options{Level: Manifests}); len(cs) != 2 || cs[0].Step != 2 || !cs[0].Complete {
		t.Errorf("%s", list(cs))
	}
}
