package format

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// kerasBackup is the directory of Keras's callback BackupAndRestore (keras/src/callbacks/backup_and_restore.py): the
// weights, with the optimizer's, are written in place and then a file that says how far training was. The pair before it
// is copied aside first. Keras goes back to that pair by itself, but only when the weights cannot be opened: weights with
// the other file of an earlier save it takes, and repeats epochs that are in them.
//
// The step is the number of epochs, since that is all that Keras resumes from: the batch is noted, too, but the epoch
// begins again.
//
// The directory is removed at the end of training: that there is none may mean that it is over.
var kerasBackup = kind{name: "keras_backup", find: findKerasBackup, check: checkKerasBackup, trainer: true}

// kerasPairs are the names of the weights and of the file that is written after them, those in use first: the previous
// pair ends in .bkp, and in some versions began with an underscore.
var kerasPairs = [][2]string{
	{"latest.weights.h5", "training_metadata.json"},
	{"latest.weights.h5.bkp", "training_metadata.json.bkp"},
	{"_latest.weights.h5", "_training_metadata.json"},
}

const maxKerasMetadata = 64 << 10

func findKerasBackup(l *look, root *dir) ([]*Checkpoint, error) {
	var cs []*Checkpoint
	for _, pair := range kerasPairs {
		if !root.has(pair[0]) && !root.has(pair[1]) {
			continue
		}
		c := &Checkpoint{Path: root.join(pair[0]), Tag: strings.TrimSuffix(pair[0], ".h5"), Step: -1}
		if epoch, err := l.kerasEpoch(root.join(pair[1])); err == nil {
			c.Step, c.StepFrom = epoch, StepFromJSON
		} else if !root.has(pair[0]) {
			continue // a file of another program
		} // else the check says what is wrong
		cs = append(cs, c)
	}
	return cs, nil
}

// kerasEpoch reads how many epochs were done.
func (l *look) kerasEpoch(name string) (int64, error) {
	text, err := l.small(name, maxKerasMetadata)
	if err != nil {
		return -1, err
	}
	if len(text) == 0 {
		return -1, problem.New(problem.EmptyFile, "%s is empty", name)
	}
	var done struct {
		Epoch *int64 `json:"epoch"`
	}
	if err := json.Unmarshal(text, &done); err != nil {
		return -1, problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	if done.Epoch == nil || *done.Epoch < 0 {
		return -1, problem.New(problem.BadJSON, "%s has no epoch", name)
	}
	return *done.Epoch, nil
}

func checkKerasBackup(l *look, c *Checkpoint) error {
	root, err := l.dir(path.Dir(c.Path))
	if err != nil {
		return err
	}
	var metadata string
	for _, pair := range kerasPairs {
		if pair[0] == path.Base(c.Path) {
			metadata = root.join(pair[1])
		}
	}
	if metadata == "" {
		return problem.New(problem.UnknownFormat, "%s is not a name that BackupAndRestore gives", c.Path)
	}
	c.Basis, c.Elastic, c.ShardsExpected = BasisMarker, true, 1
	if err := checkHDF5(l, c, c.Path); err != nil {
		return err
	}
	c.ShardsFound = 1
	if !root.has(path.Base(metadata)) {
		return problem.New(problem.NoMarker, "%s is missing: training would begin at epoch 0 with trained weights", metadata)
	}
	weights := c.parts
	found, err := l.parts(c, []string{metadata}, false)
	if err != nil {
		return err
	}
	if l.Level >= Ends {
		if c.Step, err = l.kerasEpoch(metadata); err != nil {
			c.Step, c.StepFrom = -1, ""
			return err
		}
		c.StepFrom = StepFromJSON
	}
	return l.marked(c, metadata, found[0].mod, weights)
}
