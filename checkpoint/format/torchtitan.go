package format

import (
	"path"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// torchtitan is the checkpoint directory of torchtitan: step-500 and so on, each what torch.distributed.checkpoint
// writes (torchtitan/components/checkpointer/dcp.py).
//
// The last step of a training run is saved without the optimizer, unless last_save_model_only is off: whole, and
// nothing to resume from, with the same marker. It may also be safetensors with an index. torchtitan itself takes any
// name with "step-" and a number in it, "bad-step-500" too; here it is the whole name.
var torchtitan = kind{name: "torchtitan", find: findTorchtitan, check: checkTorchtitan, claims: claimedByTorchtitan, trainer: true, movable: true}

const weightIndex = "model.safetensors.index.json"

func findTorchtitan(l *look, root *dir) (found []*Checkpoint, err error) {
	for _, name := range root.dirs(func(string) bool { return true }) {
		if step, ok := numbered(name, "step-", ""); ok {
			found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromName})
		}
	}
	return found, nil
}

func claimedByTorchtitan(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		// Weights with anything else of a training state beside them are what a program saves for itself.
		export := (d.has(weightIndex) || d.isDir("sharded")) && len(d.files(isTorchFile)) == 0
		return whether(isDCP(d) || export), nil
	})
}

// isTorchFile tells the names of files that torch or pickle writes.
func isTorchFile(name string) bool {
	return slices.Contains([]string{".pt", ".pth", ".bin", ".pkl", ".ckpt"}, path.Ext(name))
}

func checkTorchtitan(l *look, c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if !d.has(".metadata") && !isDCP(d) && (d.has(weightIndex) || d.isDir("sharded")) {
		if !d.has(weightIndex) {
			return problem.New(problem.NoMarker, "%s is missing", d.join(weightIndex))
		}
		inner, err := c.payload(func(inner *Checkpoint) error {
			_, err := checkWeights(l, inner, c.Path)
			return err
		})
		if err != nil {
			return err
		}
		c.contains("safetensors")
		c.Basis, c.Elastic = inner.Basis, true
		c.weightsOnly("%s is an export in safetensors", c.Path)
		return nil
	}
	if err := checkDCP(l, c, c.Path); err != nil {
		return err
	}
	c.Elastic = true
	return c.withoutState(l, d.join(".metadata"))
}
