package format

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// dlrover is the checkpoints that DLRover lays out itself: a directory of each step with a file of each rank, or with
// what torch.distributed.checkpoint writes. For Megatron, DeepSpeed and the Trainer of Hugging Face it keeps to their
// layouts. The names are those of dlrover/python/elastic_agent/torch/ckpt_saver.py and
// dlrover/trainer/torch/flash_checkpoint/ddp.py.
var dlrover = kind{name: "dlrover", find: findDLRover, check: checkDLRover, movable: true}

const (
	dlroverTracker = "dlrover_latest.txt"   // written when every rank has reported that it is done
	dlroverStage   = "._dlrover_ckpt_stage" // with a directory of those reports for every step that is being saved
)

func findDLRover(l *look, root *dir) (found []*Checkpoint, err error) {
	if !root.isFile(dlroverTracker) && !root.isDir(dlroverStage) {
		return nil, nil
	}
	for _, name := range root.dirs(func(name string) bool { _, ok := digits(name); return ok }) {
		step, _ := digits(name)
		found = append(found, &Checkpoint{Path: root.join(name), Tag: name, Step: step, StepFrom: StepFromName})
	}
	if stage, err := l.dir(root.join(dlroverStage)); err == nil {
		for _, name := range stage.dirs(func(name string) bool { _, ok := digits(name); return ok }) {
			step, _ := digits(name)
			found = append(found, &Checkpoint{Path: stage.join(name), Tag: name, Step: step, StepFrom: StepFromName})
		}
	}
	tag, p := l.pointer(root, dlroverTracker)
	step, isStep := digits(tag)
	switch {
	case len(found) == 0 || p == noPointer:
	case !isStep:
		found = append(found, &Checkpoint{Path: root.join(dlroverTracker), Tag: dlroverTracker, Step: -1})
	case !root.has(tag):
		found = append(found, &Checkpoint{Path: root.join(tag), Tag: tag, Step: step, StepFrom: StepFromPointer})
	}
	return found, nil
}

func checkDLRover(l *look, c *Checkpoint) error {
	if done, err := checkPointed(l, c, dlroverTracker); done {
		return err
	}
	if path.Base(path.Dir(c.Path)) == dlroverStage {
		return problem.New(problem.InProgress, "%s is moved to its place when every rank is done", c.Path)
	}
	if err := l.dlroverUnfinished(c); err != nil {
		return err
	}
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if isDCP(d) {
		c.contains("dcp")
		err = checkDCP(l, c, c.Path)
	} else {
		err = l.checkDLRoverRanks(c, d)
	}
	if err != nil {
		return err
	}
	// When the time to commit was over, the reports are removed and the files stay.
	data, err := l.small(path.Join(c.Root, dlroverTracker), maxPointer)
	step, ok := digits(strings.TrimSpace(string(data)))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return problem.Of(err, problem.NoMarker)
	case err != nil || ok && step < c.Step:
		return problem.New(problem.NoMarker, "%s is at %d: step %d was never committed", dlroverTracker, step, c.Step)
	}
	return nil
}

// checkDLRoverRanks wants the files of all ranks, as far as their names say how many those are.
func (l *look) checkDLRoverRanks(c *Checkpoint, d *dir) error {
	var paths []string
	most := int64(-1)
	for _, name := range d.names {
		if rank, ok := numbered(name, "rank_", ".pt"); ok && d.isFile(name) {
			paths, most = append(paths, d.join(name)), max(most, rank)
		}
	}
	c.Basis, c.ShardsFound, c.ShardsExpected = BasisMarker, len(paths), int(min(most, maxRanks))+1
	if len(paths) == 0 || int64(len(paths)) != most+1 {
		return problem.New(problem.MissingShard, "%s holds rank_*.pt of %d ranks, %d expected", d.path, len(paths),
			max(most+1, 1))
	}
	if c.WorldSize = len(paths); len(paths) == 1 {
		c.WorldSize, c.Elastic = 0, true // a whole model, of which the first rank alone writes
	}
	_, err := checkTorchAll(l, c, paths)
	return err
}

// dlroverUnfinished looks for the reports of a save that has not come to its end. They are removed when it has.
func (l *look) dlroverUnfinished(c *Checkpoint) error {
	if c.Step < 0 {
		return nil
	}
	name := path.Join(c.Root, dlroverStage, strconv.FormatInt(c.Step, 10)+".done")
	switch _, err := l.stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking for %s: %w", name, err)
	}
	return problem.New(problem.UnfinishedMarker, "%s is there: not every rank has reported that it is done", name)
}
