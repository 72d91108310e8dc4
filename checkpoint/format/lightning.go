package format

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// lightning is a directory of what Lightning's ModelCheckpoint saved: epoch=3-step=400.ckpt, last.ckpt, last-v1.ckpt,
// and hpc_ckpt_2.ckpt of a job on Slurm, whose number counts and is not a step.
//
// A file is written beside its place and moved (_atomic_save in lightning/fabric/utilities/cloud_io.py); that of an
// older release, or one moved between file systems, can be cut short. A model that is split over the ranks is a
// directory of that name: first what torch.distributed.checkpoint writes, then meta.pt (FSDPStrategy.save_checkpoint);
// or what DeepSpeed writes, under the tag "checkpoint".
//
// Of several names that begin with last, Lightning takes the one that was changed last.
var lightning = kind{name: "lightning", find: findLightning, check: checkLightning, claims: claimedByLightning, movable: true}

const lightningMeta = "meta.pt"

func findLightning(l *look, root *dir) (found []*Checkpoint, err error) {
	for _, name := range root.names {
		stem, ok := strings.CutSuffix(name, ".ckpt")
		if !ok || stem == "" {
			continue
		}
		if strings.HasPrefix(stem, "last") && l.isLinkBeside(root, name) {
			continue // what it leads to is listed
		}
		found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: -1})
		nameStep(found[len(found)-1], stem)
	}
	return found, nil
}

// lightningWord is a key that stands near the beginning of every state that Lightning saves (dump_checkpoint in
// lightning/pytorch/trainer/connectors/checkpoint_connector.py).
const lightningWord = "pytorch-lightning_version"

// claimedByLightning tells a state of Lightning from what others save under names that end in .ckpt.
func claimedByLightning(l *look, c *Checkpoint) (claim, error) {
	info, err := l.stat(c.Path)
	if err != nil {
		return maybe, err
	}
	if info.Size() == 0 {
		return beside, nil // what it was to be nobody can tell
	}
	if info.IsDir() {
		return l.claimDir(c, func(d *dir) (claim, error) {
			return whether(d.has(lightningMeta) || d.has(deepSpeedPointer) || d.isDir("checkpoint") || isDCP(d)), nil
		})
	}
	f, err := l.open(c.Path)
	if err != nil {
		return maybe, err
	}
	defer f.close()
	head := make([]byte, min(f.size, 64<<10))
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return maybe, err
	}
	if bytes.Contains(head, []byte(lightningWord)) {
		return yes, nil
	}
	if _, torch := file.IsTorch(head[:min(len(head), 32)]); torch {
		return no, nil
	}
	if len(bytes.Trim(head[:min(len(head), 32)], "\x00")) > 0 {
		return no, nil // what was cut begins as it should, or with zeros
	}
	return maybe, nil
}

// nameStep takes the step out of a name with "step=" in it, as Lightning and NeMo make them. A name that a user has
// made without it says nothing of which of its numbers is the step.
func nameStep(c *Checkpoint, name string) {
	for at := 0; ; {
		i := strings.Index(name[at:], "step=")
		if i < 0 {
			return
		}
		at += i
		if at > 0 && strings.IndexByte("-_.,~ ", name[at-1]) < 0 {
			at += len("step=")
			continue
		}
		number := name[at+len("step="):]
		if step, ok := digits(number[:len(number)-len(strings.TrimLeft(number, "0123456789"))]); ok {
			c.Step, c.StepFrom = step, StepFromName
		}
		return
	}
}

// isLinkBeside reports whether an entry is a symbolic link to another entry of the same directory.
func (l *look) isLinkBeside(d *dir, name string) bool {
	if !slices.Contains(d.links, name) {
		return false
	}
	target, err := fs.ReadLink(l.fsys, d.join(name))
	if err != nil {
		return false // an object store has none
	}
	other := path.Base(target)
	if other == name || !d.has(other) {
		return false
	}
	at, err := l.stat(d.join(name))
	if err != nil {
		return false
	}
	there, err := l.stat(d.join(other))
	return err == nil && os.SameFile(at, there)
}

func checkLightning(l *look, c *Checkpoint) error {
	root, err := l.dir(path.Dir(c.Path))
	if err != nil {
		return err
	}
	if root.has(c.base()) && root.kinds[c.base()]&fs.ModeSymlink != 0 {
		if _, err := l.stat(c.Path); err != nil {
			return problem.Of(err, problem.PointerDangling)
		}
	}
	if !root.isDir(c.base()) {
		return checkLightningFile(l, c, c.Path)
	}
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if d.has(deepSpeedPointer) || d.isDir("checkpoint") {
		return c.deepSpeed(l, d)
	}
	if !d.has(lightningMeta) {
		return problem.New(problem.NoMarker, "%s is missing, which is written last", d.join(lightningMeta))
	}
	if err := c.distributed(l, c.Path); err != nil {
		return err
	}
	before := c.parts
	meta, err := checkTorchAll(l, c, []string{d.join(lightningMeta)})
	if err != nil {
		return err
	}
	if err := l.marked(c, d.join(lightningMeta), meta[0].mod, before); err != nil {
		return err
	}
	if err := pickledStep(l, c, d.join(lightningMeta)); err != nil {
		return err
	}
	return c.withoutOptimizer(l, d.join(".metadata"), "optimizer_0")
}

// checkLightningFile looks at one file with everything in it.
func checkLightningFile(l *look, c *Checkpoint, name string) error {
	if _, err := checkTorchAll(l, c, []string{name}); err != nil {
		return err
	}
	c.Basis, c.Elastic = BasisStructure, true
	if err := pickledStep(l, c, name); err != nil {
		return err
	}
	return withoutOptimizerStates(l, c, name)
}

// withoutOptimizerStates takes back that a file can be resumed from that was saved with save_weights_only. It has the
// same name as any other.
func withoutOptimizerStates(l *look, c *Checkpoint, name string) error {
	if l.Level < Manifests {
		return nil
	}
	state, err := l.saved(name)
	if err != nil {
		return err
	}
	c.Training = true // a step and the state of its loops are in each
	if state.whole() && state.after("state_dict") != nil && state.after("optimizer_states") == nil {
		c.weightsOnly("%s holds no optimizer_states", name)
	}
	return nil
}

// pickledStep takes the step from a pickled state of Lightning, when its name has none.
func pickledStep(l *look, c *Checkpoint, name string) error {
	if c.Step >= 0 {
		return nil
	}
	state, err := l.saved(name)
	if err != nil {
		return err
	}
	if step, ok := state.number("global_step"); ok {
		c.Step, c.StepFrom = step, StepFromManifest
	}
	return nil
}

// whole reports whether the pickle of a state was read to its end, so that what is not in it is not there.
func (s saved) whole() bool {
	return bytes.HasPrefix(s, []byte("PK")) && len(s) > 0 && s[len(s)-1] == '.' && len(s) < maxSaved
}
