package format

import (
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// isHFShard matches "shard-00001-model-00001-of-00001.safetensors" (_hf_utils.py).
func isHFShard(name string) bool {
	_, _, ok := hfShard(name)
	return ok
}

func hfShard(name string) (rank, of int64, ok bool) {
	rest, found := strings.CutPrefix(name, "shard-")
	first, model, cut := strings.Cut(rest, "-model-")
	rank, ok = digits(first)
	_, of, numbers := shardNumber("model-" + model)
	return rank, of, found && cut && ok && numbers && strings.HasSuffix(model, ".safetensors")
}

// checkHFShards looks at what the writer for Hugging Face leaves when it does not put the shards together: it writes no
// marker at all (finish in hf_storage.py), so that a save that is cut between two files looks whole.
func checkHFShards(l *look, c *Checkpoint, d *dir) error {
	c.Basis = BasisHeuristic
	names := d.files(isHFShard)
	paths := make([]string, len(names))
	ranks := make(map[int64]bool)
	last := int64(0)
	for i, name := range names {
		rank, _, _ := hfShard(name)
		paths[i], ranks[rank], last = d.join(name), true, max(last, rank)
	}
	c.ShardsFound = len(paths)
	if int64(len(ranks)) != last {
		return problem.New(problem.MissingShard, "%s has shards of %d ranks, and of rank %d", d.path, len(ranks), last)
	}
	if err := checkSafetensors(l, c, paths); err != nil {
		return err
	}
	c.weightsOnly("the tensors of a model, written for Hugging Face")
	return nil
}
