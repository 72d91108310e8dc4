package format

import (
	"fmt"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// hfEngine is what saves the optimizer's state.
type hfEngine int

const (
	hfPlain hfEngine = iota
	hfFSDP
	hfDeepSpeed
)

// checkHFWeights looks at all the weights that there are, of which one form is enough.
func checkHFWeights(l *look, c *Checkpoint, d *dir) (engine hfEngine, err error) {
	inner := func(check func(*Checkpoint) error) error {
		_, err := c.payload(check)
		return err
	}
	weights := false
	tags := d.dirs(func(name string) bool { return strings.HasPrefix(name, "global_step") })
	if len(tags) > 0 || d.has(deepSpeedPointer) {
		if err := c.deepSpeed(l, d); err != nil {
			return hfDeepSpeed, err
		}
		c.Basis = BasisMarker
		weights, engine = true, hfDeepSpeed
	}
	sharded, err := checkFSDP(l, c, d)
	if err != nil {
		return engine, err
	}
	if sharded {
		c.Basis = BasisMarker
		weights, engine = true, hfFSDP
	}
	// Several adapters have a directory each.
	dirs := append([]string{d.path}, prefixed(d, d.dirs(func(name string) bool {
		return !strings.HasPrefix(name, "global_step") && !strings.HasPrefix(name, fsdpModel) &&
			!strings.HasPrefix(name, "optimizer_")
	}))...)
	for i, dir := range dirs {
		if i > 0 {
			adapter, err := l.dir(dir)
			if err != nil {
				return engine, err
			}
			if !adapter.has("adapter_model.safetensors") && !adapter.has("adapter_model.bin") {
				continue
			}
		}
		err := inner(func(inner *Checkpoint) error {
			found, err := checkWeights(l, inner, dir)
			weights = weights || found
			return err
		})
		if err != nil {
			return engine, err
		}
	}
	if !weights {
		return engine, problem.New(problem.MissingShard, "%s holds no weights", d.path)
	}
	return engine, nil
}

// prefixed are the paths of entries of a directory.
func prefixed(d *dir, names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = d.join(name)
	}
	return paths
}

// checkFSDP looks at what Accelerate saves of a model that FSDP has split (save_fsdp_model and save_fsdp_optimizer in
// accelerate/utils/fsdp_utils.py): directories of torch.distributed.checkpoint, one file with all, or a file per rank.
func checkFSDP(l *look, c *Checkpoint, d *dir) (found bool, err error) {
	for _, name := range d.dirs(func(string) bool { return true }) {
		_, model := numbered(name, fsdpModel+"_", "")
		_, optimizer := numbered(name, "optimizer_", "")
		if !model && !optimizer {
			continue
		}
		if err := c.distributed(l, d.join(name)); err != nil {
			return true, err
		}
		found = found || model
	}
	var paths []string
	ranks := map[string]rankSet{}
	for _, name := range d.files(func(name string) bool { return strings.HasSuffix(name, ".bin") }) {
		stem, rank, split := strings.Cut(strings.TrimSuffix(name, ".bin"), "_rank")
		model := stem == fsdpModel || strings.HasPrefix(stem, fsdpModel+"_")
		if !model && (!split || stem != "optimizer" && !strings.HasPrefix(stem, "optimizer_")) {
			continue
		}
		paths, found = append(paths, d.join(name)), found || model
		if n, ok := digits(rank); split && ok {
			ranks[stem] = append(ranks[stem], n)
		}
	}
	size := 0
	for stem, set := range ranks {
		set = set.sorted()
		if missing, ok := set.gap(); ok {
			return true, problem.New(problem.MissingShard, "%s is missing", d.join(fmt.Sprintf("%s_rank%d.bin", stem, missing)))
		}
		if size != 0 && size != len(set) {
			return true, problem.New(problem.MissingShard, "%s holds files of %d ranks and of %d", d.path, size, len(set))
		}
		size = len(set)
	}
	if _, err := checkTorchAll(l, c, paths); err != nil {
		return true, err
	}
	if size > 0 {
		c.Elastic, c.WorldSize, c.ShardsExpected, c.ShardsFound = false, size, len(paths), len(paths)
	}
	return found, nil
}
