package format

import (
	"io"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// savedModel is what tf.saved_model.save, and Keras's export and Keras 2's save, write: a directory with a bundle of
// variables, and then the graph, which is renamed to its name when it is written. It is an export: there is nothing to
// resume from but in those of Keras 2, which hold the optimizer and are told by keras_metadata.pb.
var savedModel = kind{name: "saved_model", find: findSavedModel, check: checkSavedModel, claims: claimedBySavedModel, export: true, movable: true}

const (
	savedModelGraph  = "saved_model.pb"
	savedModelBundle = "variables/variables"
)

func findSavedModel(l *look, root *dir) ([]*Checkpoint, error) {
	if isSavedModel(root) {
		return []*Checkpoint{{Path: root.path, Step: -1}}, nil
	}
	names := root.dirs(func(name string) bool { return !strings.HasPrefix(name, ".") })
	if len(names) == 0 {
		return nil, nil
	}
	// Of many directories the ends say what they are: all were written by the same program.
	sample := []string{names[0], names[len(names)-1], names[len(names)/2]}
	is, err := l.anySavedModel(root, sample)
	if err != nil || !is {
		return nil, err
	}
	var cs []*Checkpoint
	for _, name := range names {
		c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
		if n, ok := lastNumber(name); ok {
			c.Step, c.StepFrom = n, StepFromName
		}
		if _, version := digits(name); !version {
			if is, err := l.anySavedModel(root, []string{name}); err != nil {
				return nil, err
			} else if !is {
				continue
			}
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// lastNumber is the last number in a name, which is the version of an export: "model-v3", "1717171717".
func lastNumber(name string) (int64, bool) {
	isDigit := func(r rune) bool { return r >= '0' && r <= '9' }
	end := strings.LastIndexFunc(name, isDigit) + 1
	return digits(name[strings.LastIndexFunc(name[:end], func(r rune) bool { return !isDigit(r) })+1 : end])
}

func claimedBySavedModel(l *look, c *Checkpoint) (claim, error) {
	return l.claimDir(c, func(d *dir) (claim, error) {
		if isSavedModel(d) || strings.HasPrefix(c.Tag, "temp-") {
			return yes, nil
		}
		if !d.isDir("variables") {
			return no, nil
		}
		v, err := l.dir(d.join("variables"))
		if err != nil {
			return maybe, err
		}
		return whether(len(v.names) == 0 || len(startingWith(v, "variables.")) > 0 || v.isDir("variables_temp")), nil
	})
}

// anySavedModel reports whether one of the directories is a saved model, torn or whole.
func (l *look) anySavedModel(root *dir, names []string) (bool, error) {
	for _, name := range names {
		d, err := l.dir(root.join(name))
		if _, version := digits(name); err != nil && !version {
			continue // somebody else's: lost+found
		}
		if err != nil {
			return false, err
		}
		if isSavedModel(d) {
			return true, nil
		}
		if d.isDir("variables") {
			v, err := l.dir(d.join("variables"))
			if err != nil {
				return false, err
			}
			if len(startingWith(v, "variables.")) > 0 || v.isDir("variables_temp") {
				return true, nil
			}
		}
	}
	return false, nil
}

func isSavedModel(d *dir) bool { return len(startingWith(d, "saved_model.pb")) > 0 }

func checkSavedModel(l *look, c *Checkpoint) error {
	d, err := l.dir(c.Path)
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.Tag, "temp-") {
		return problem.New(problem.InProgress, "%s is renamed when it is written", c.Path)
	}
	var variables *Checkpoint
	if d.isDir("variables") {
		v, err := l.dir(d.join("variables"))
		if err != nil {
			return err
		}
		if len(v.names) > 0 {
			variables = &Checkpoint{ShardsExpected: -1}
			if err := checkBundle(l, variables, d.join(savedModelBundle)); err != nil {
				return err
			}
			c.Size, c.Modified, c.ModifiedFrom = variables.Size, variables.Modified, variables.ModifiedFrom
			c.ShardsExpected, c.ShardsFound = variables.ShardsExpected, variables.ShardsFound
		}
	}
	graph := d.join(savedModelGraph)
	if text := graph + "txt"; d.isFile("saved_model.pbtxt") && !d.isFile(savedModelGraph) {
		graph = text
	} else if !d.isFile(savedModelGraph) {
		return problem.New(problem.NoMarker, "%s is missing, which is written after the variables", graph)
	}
	found, err := l.parts(c, []string{graph}, false)
	if err != nil {
		return err
	}
	if l.Level >= Ends && strings.HasSuffix(graph, ".pb") {
		if err := l.inside(graph, func(r io.ReaderAt, size int64) error { return file.SavedModel(r, size) }); err != nil {
			return err
		}
	}
	c.Basis, c.Elastic = BasisMarker, true
	var before []part
	if variables != nil {
		before, c.Doubt = variables.parts, variables.Doubt
	}
	if err := l.marked(c, graph, found[0].mod, before); err != nil {
		return err
	}
	if !d.isFile("keras_metadata.pb") {
		c.weightsOnly("%s is an export", c.Path)
	}
	return nil
}
