// Package format knows what the checkpoints of training frameworks look like on disk, and whether one is whole.
//
// Nothing in a checkpoint is executed and no byte of it is trusted: reads and memory are bounded, and a check ends with
// its context. What is searched is an [io/fs.FS], so that a directory and an object store are the same.
package format

import (
	"time"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// Level is how closely a checkpoint is verified.
type Level int

// The levels, each with all that the ones before it do.
const (
	Names      Level = iota // names and sizes
	Ends                    // heads and tails of the files
	Manifests               // what the checkpoint itself says that it consists of
	Everything              // every byte, where there are checksums
)

// Checkpoint is one checkpoint of any format.
type Checkpoint struct {
	// Format is the name of the format, and after a plus sign that of what it contains: "hf_trainer+deepspeed".
	Format string `json:"format"`
	// Path is the directory or file that is handed to the framework, Root the one in which it looks for it; both
	// relative to the directory that was searched, with slashes.
	Path string `json:"path"`
	Root string `json:"root"`
	// Tag is the name under which the framework knows it in its root: "global_step100".
	Tag string `json:"tag,omitempty"`
	// Step is -1 when it is not known.
	Step     int64    `json:"step"`
	StepFrom StepFrom `json:"stepFrom,omitempty"`
	// Unit is what Step counts: optimizer steps, or epochs, which order checkpoints and say nothing of steps.
	Unit Unit `json:"unit,omitempty"`
	// Identity stands for the content of a whole checkpoint that says no step: its path, its size and a digest of its ends.
	Identity string `json:"identity,omitempty"`
	// InPlace is set for what has no step in its name, and so is written over by the next save.
	InPlace bool `json:"inPlace,omitempty"`

	Complete bool `json:"complete"`
	// Resumable is unset for what is complete and yet nothing to resume from: weights alone, an export.
	Resumable bool           `json:"resumable"`
	Basis     Basis          `json:"basis,omitempty"`
	Reason    problem.Reason `json:"reason,omitempty"` // why it is not complete or not resumable
	Detail    string         `json:"detail,omitempty"`
	// Doubt is what speaks against one that is whole, and proves nothing.
	Doubt string `json:"doubt,omitempty"`

	Size           int64 `json:"size"`           // bytes, as far as the files were read
	ShardsExpected int   `json:"shardsExpected"` // -1 when not known
	ShardsFound    int   `json:"shardsFound"`
	// Modified is when it was finished: by its own word, else the time of the marker, else of the youngest part.
	Modified     time.Time    `json:"modified,omitzero"`
	ModifiedFrom ModifiedFrom `json:"modifiedFrom,omitempty"`
	// WorldSize is the number of ranks that wrote it, 0 when not known. Elastic says that any other number can read it.
	WorldSize int    `json:"worldSize,omitempty"`
	Elastic   bool   `json:"elastic"`
	RunID     string `json:"runId,omitempty"` // of the training run, by the framework's own word
	Level     Level  `json:"level"`           // that was reached
	// Training is set for what holds more than weights: the state of an optimizer, a step, what only a trainer writes.
	Training bool `json:"training,omitempty"`
	// Optimizer is set where the state of an optimizer was seen in it. That it is not says nothing.
	Optimizer bool `json:"optimizer,omitempty"`
	// Unsure is set for what is taken for a training state by its name, where nothing in it says so.
	Unsure bool `json:"-"`
	// Bare is set for what is unsure, has no tensors of its own or is a list of samples, and no name of a checkpoint: it may
	// be a part of what stands beside it.
	Bare bool `json:"-"`
	// Beside is set for weights of which no more than a text beside them says how far training was.
	Beside bool `json:"-"`
	// Hollow is set for what is unsure, and in which not even a tensor was found.
	Hollow bool `json:"-"`
	// Data is set for what is known to be no training state and to hold no weights either.
	Data bool `json:"-"`
	// Part is set for weights under a name that says that they are one part of several: model_100.pt. Of a first save that
	// was cut no more may be left.
	Part bool `json:"-"`
	// Unmarked is set for one that lacks only what its framework writes last, and whose optimizer is whole. A program of
	// somebody's own that saves under the same names may have finished it.
	Unmarked bool `json:"-"`
	// First is set for one that was cut and that has never been whole: the file was made by the save that was cut.
	First bool `json:"-"`
	// NoModel is set for what holds the state of an optimizer and no model: it is a part of what stands beside it.
	NoModel bool `json:"-"`
	// OfWeights is set for one of these that belongs to the weights beside it, which are a state with it.
	OfWeights bool `json:"-"`
	// Tells is set for what has told how far a state beside it is, and is a part of that.
	Tells bool `json:"-"`

	noWeights bool           // the state of an optimizer was found in it, and no tensor beside that
	bowed     tally          // a count that may as well say how much there will be, and that the name goes before
	counts    []tally        // all that may be the step of a program's own save
	items     []file.DCPItem // where a distributed checkpoint keeps how far it is, while it is verified
	series    string         // what belongs to one training run, as far as names and formats tell
	parts     []part         // what was counted, while it is verified
	save      *save          // of a format that goes by what a program of somebody's own has written
}

// Series stands for those checkpoints of a directory that one training run has written, as far as formats and names
// tell.
func (c *Checkpoint) Series() string { return c.series }

// StepFrom says where a step was read.
type StepFrom string

// Where a step was read.
const (
	StepFromName     StepFrom = "name"
	StepFromJSON     StepFrom = "json"
	StepFromPointer  StepFrom = "pointer"
	StepFromManifest StepFrom = "manifest"
	StepFromContent  StepFrom = "content"
)

// Basis is what makes a checkpoint count as complete, the strongest first.
type Basis string

// What makes a checkpoint count as complete.
const (
	BasisManifest  Basis = "manifest"  // all that it says itself that it consists of is there
	BasisMarker    Basis = "marker"    // what is written last is there
	BasisGrid      Basis = "grid"      // the ranks in the names of its files have no gap
	BasisStructure Basis = "structure" // its files are whole, each by itself
	BasisHeuristic Basis = "heuristic"
)

// ModifiedFrom says whose time Modified is.
type ModifiedFrom string

// Whose time Modified is.
const (
	ModifiedInternal ModifiedFrom = "internal"
	ModifiedMarker   ModifiedFrom = "marker"
	ModifiedShard    ModifiedFrom = "max_shard"
)
