package format

import (
	"errors"
	"io/fs"
	"path"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// The files that Megatron-Bridge adds: two in the checkpoint, and in the root a copy of one as its pointer. The order
// is train_state.pt, the pointers, run_config.yaml; newer versions have the pointers last. The names are those of
// megatron/bridge/training/utils/checkpoint_utils.py.
const (
	bridgeState   = "train_state.pt"
	bridgeConfig  = "run_config.yaml"
	bridgePointer = "latest_train_state.pt"
)

// checkBridge looks at what Megatron-Bridge adds. A save by it is known by either file, and by the pointer of an
// earlier save: the very first one that ends before both is like one of Megatron-LM.
func checkBridge(l *look, c *Checkpoint, d *dir) error {
	if !d.has(bridgeState) && !d.has(bridgeConfig) {
		_, err := l.stat(path.Join(c.Root, bridgePointer))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if !d.has(bridgeState) {
		return problem.New(problem.NoMarker, "%s is missing, which Megatron-Bridge writes behind the shards",
			d.join(bridgeState))
	}
	if _, err := checkTorchAll(l, c, []string{d.join(bridgeState)}); err != nil {
		return err
	}
	if !d.has(bridgeConfig) {
		return problem.New(problem.NoMarker, "%s is missing, without which Megatron-Bridge cannot load", d.join(bridgeConfig))
	}
	_, err := l.parts(c, []string{d.join(bridgeConfig)}, false)
	return err
}
