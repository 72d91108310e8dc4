package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	// megatronConfig is written after everything else by the format "torch_dist". It is that of
	// megatron/core/dist_checkpointing/core.py.
	megatronConfig = "metadata.json"
	// megatronCommon held what is not split by rank. Newer versions keep that in the shards.
	megatronCommon = "common.pt"
)

// checkMegatronDist looks at the formats that are built on torch.distributed.checkpoint. "torch_dist" has its config
// behind all else, "torch_dcp" and "fsdp_dtensor" end with the metadata of DCP and cannot be told from each other.
func checkMegatronDist(l *look, c *Checkpoint, d *dir) error {
	config, err := l.megatronConfig(d)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isDCP(d):
		return problem.New(problem.MissingShard, "%s holds neither mp_rank_* nor %s", d.path, dcpMarker)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if config == "zarr" {
		// A deprecated store with a directory of every tensor. Its config is written last, and that is all.
		c.contains("zarr")
		c.Basis, c.Elastic = BasisMarker, true
		_, err := l.parts(c, []string{d.join(megatronConfig)}, false)
		return err
	}
	dist := config != "" || d.has(megatronCommon)
	if !dist && l.Level >= Ends && d.isFile(dcpMarker) {
		// Newer versions of "torch_dist" keep in the shards what is not split by rank, under this name.
		limit := int64(maxMentions)
		if l.Level == Ends {
			limit = 64 << 10
		}
		if dist, _, err = l.mentions(d.join(dcpMarker), limit, "common_state"); err != nil {
			return err
		}
	}
	payload := "torch_dcp"
	if dist {
		payload = "torch_dist"
	}
	c.contains(payload)
	if err := checkDCP(l, c, d.path); err != nil {
		return err
	}
	c.Elastic = true
	if dist {
		if err := l.megatronCommitted(c, d, config); err != nil {
			return err
		}
	}
	return c.withoutOptimizer(l, d.join(dcpMarker), "optimizer")
}

// megatronConfig is the backend that the config of "torch_dist" names. No config is an fs.ErrNotExist.
func (l *look) megatronConfig(d *dir) (backend string, err error) {
	if !d.has(megatronConfig) {
		return "", fs.ErrNotExist
	}
	if l.Level == Names {
		return "torch_dist", nil
	}
	name := d.join(megatronConfig)
	data, err := l.small(name, 1<<20)
	if err != nil {
		return "", err
	}
	if len(data) == 0 {
		return "", problem.New(problem.EmptyFile, "%s is empty", name)
	}
	var config struct {
		Backend string `json:"sharded_backend"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return "", problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	if config.Backend == "" {
		return "", problem.New(problem.BadJSON, "%s names no sharded_backend", name)
	}
	return config.Backend, nil
}

// megatronCommitted looks at what is written behind the metadata of DCP: the config, and then the hashes.
func (l *look) megatronCommitted(c *Checkpoint, d *dir, config string) error {
	if config == "" {
		return problem.New(problem.NoMarker, "%s is missing, which is written last", d.join(megatronConfig))
	}
	if d.has(megatronCommon) {
		if _, err := checkTorchAll(l, c, []string{d.join(megatronCommon)}); err != nil {
			return err
		}
	}
	for _, marker := range []string{megatronConfig, megatronIntegrity} {
		if d.has(marker) {
			if err := l.markedAfter(c, d.join(marker), d.join(dcpMarker)); err != nil {
				return err
			}
		}
	}
	if d.has(megatronIntegrity) {
		return l.checkMegatronIntegrity(c, d)
	}
	return nil
}

// markedAfter takes a file as the marker of what was written before another one.
func (l *look) markedAfter(c *Checkpoint, marker, before string) error {
	paths := []string{before, marker}
	var found [2]part
	for i, name := range paths {
		info, err := l.stat(name)
		if err != nil {
			return err
		}
		found[i] = part{name, info.Size(), info.ModTime()}
	}
	c.Size += found[1].size
	c.Basis = cmp.Or(c.Basis, BasisMarker)
	return l.marked(c, marker, found[1].mod, found[:1])
}
