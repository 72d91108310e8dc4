package format

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// tfBundle is what tf.train.Checkpoint, CheckpointManager and Saver write: bundles with a number in their names, and a
// file "checkpoint" that names the latest. That is only a hint: TensorFlow takes what it names when there is an index, and
// starts over, without a word, when there is not.
//
// The number is how often was saved, and the global step only with tf.estimator and where the program says so.
//
// Whether a bundle holds the state of an optimizer cannot be told from the names in it, which are the program's own.
var tfBundle = kind{name: "tf_bundle", find: findTFBundle, check: checkTFBundle, movable: true, pointer: &bundlePointer}

// tfPointer is the file that names the latest checkpoint.
const tfPointer = "checkpoint"

// maxTFPointer bounds it. Old Orbax gives the same name to a file of any size that is no text.
const maxTFPointer = 1 << 20

func findTFBundle(l *look, root *dir) ([]*Checkpoint, error) {
	sure, perhaps := map[string]bool{}, map[string]bool{}
	for _, name := range root.names {
		if root.isDir(name) {
			stem, ok := strings.CutSuffix(name, "_temp")
			if !ok || stem == "" || root.isFile(stem+".index") {
				continue
			}
			// One that cannot be read is no more than a name: nothing in it is complete.
			if parts, err := l.dir(root.join(name)); err == nil && len(startingWith(parts, "part-")) > 0 {
				sure[stem] = true
			}
			continue
		}
		if stem, _, _, ok := bundleData(name); ok {
			sure[stem] = true
		} else if stem, ok := strings.CutSuffix(name, ".index"); ok {
			perhaps[stem] = true
		} else if isTempState(name) {
			name = name[:strings.LastIndex(name, ".tempstate")]
			if stem, _, _, ok = bundleData(name); !ok {
				stem = strings.TrimSuffix(name, ".index")
			}
			sure[stem] = true
		}
	}
	pointer, err := l.tfPointer(root)
	if err != nil && len(sure) == 0 {
		return nil, err // else it is told of the checkpoints
	}
	latest := tfName(pointer.Path)
	if latest != "" {
		sure[latest] = true
	}
	var cs []*Checkpoint
	if len(sure) > 0 {
		for stem := range perhaps {
			sure[stem] = true
		}
	}
	if len(sure) > 1 || !perhaps[""] {
		delete(sure, "") // others have hidden files, too
	}
	for stem := range sure {
		c := &Checkpoint{Path: root.join(stem), Tag: stem, Step: tfStep(stem)}
		if t := titleOf(stem); c.Step < 0 && (t.named || checkpointName(stem)) { // of Checkpoint.write, which puts no number behind the name
			c.Step, c.Unit = t.step, t.unit
		}
		if c.Step >= 0 {
			c.StepFrom = StepFromName
		}
		cs = append(cs, c)
	}
	numberSeries(cs)
	return cs, nil
}

// numberSeries takes bare numbers in names for steps where they tell the bundles of a series apart, as a Saver leaves them that is
// given a whole name for each: ctpn_2000.ckpt, ctpn_4000.ckpt.
func numberSeries(cs []*Checkpoint) {
	series := map[string][]*Checkpoint{}
	for _, c := range cs {
		if t := titleOf(c.Tag); c.Step < 0 && t.step >= 0 {
			series[t.family] = append(series[t.family], c)
		}
	}
	for _, of := range series {
		for _, c := range of[:len(of)*min(len(of)-1, 1)] {
			t := titleOf(c.Tag)
			c.Step, c.Unit, c.StepFrom = t.step, t.unit, StepFromName
		}
	}
}

func checkTFBundle(l *look, c *Checkpoint) error {
	prefix, err := l.bundlePrefix(c.Path)
	if err != nil {
		return err
	}
	dir, name := path.Split(prefix)
	d, err := l.dir(path.Clean(dir))
	if err != nil {
		return err
	}
	pointer, err := l.tfPointer(d)
	if err != nil {
		return err
	}
	if pointer.Path != "" && tfName(pointer.Path) == name && len(startingWith(d, name+".")) == 0 && !d.has(name+"_temp") {
		return problem.New(problem.PointerDangling, "%s names %s, of which there is no file", d.join(tfPointer), pointer.Path)
	}
	err = checkBundle(l, c, prefix)
	if i := slices.IndexFunc(pointer.All, func(p string) bool { return tfName(p) == name }); i >= 0 &&
		len(pointer.Times) == len(pointer.All) && err == nil {
		if seconds := pointer.Times[i]; seconds > 0 && seconds < 1<<36 {
			whole, part := math.Modf(seconds)
			c.Modified, c.ModifiedFrom = time.Unix(int64(whole), int64(part*1e9)).UTC(), ModifiedInternal
		}
	}
	return err
}

// bundlePrefix is what the names of a bundle's files begin with: its path, or, where that is a directory, nothing but this. A Saver
// that is told to save to "policy/" writes policy/.index.
func (l *look) bundlePrefix(p string) (string, error) {
	if p == "." {
		return "", nil
	}
	d, err := l.dir(path.Dir(p))
	if err != nil {
		return "", err
	}
	if base := path.Base(p); d.isDir(base) && len(startingWith(d, base+".")) == 0 {
		return p + "/", nil
	}
	return p, nil
}

// tfPointer reads the file "checkpoint" when there is one and it is TensorFlow's.
func (l *look) tfPointer(d *dir) (file.CheckpointState, error) {
	if !d.isFile(tfPointer) {
		return file.CheckpointState{}, nil
	}
	text, err := l.small(d.join(tfPointer), maxTFPointer)
	if err == nil {
		var pointer file.CheckpointState
		if pointer, err = file.ReadCheckpointState(text); err == nil {
			return pointer, nil
		}
	}
	if _, ok := errors.AsType[*problem.Error](err); ok || errors.Is(err, fs.ErrNotExist) {
		return file.CheckpointState{}, nil
	}
	return file.CheckpointState{}, err
}

// tfName is the name of a checkpoint whose path was noted. The directory may have moved since: what counts is the name in
// the directory in which the note is.
func tfName(noted string) string {
	if noted == "" || strings.HasSuffix(noted, "/") { // or files of no name of their own
		return ""
	}
	name := path.Base(noted)
	if name == "." || name == ".." || !fs.ValidPath(name) {
		return ""
	}
	return name
}

// tfStep is the number at the end of a name, "ckpt-7" or "cp-0007.ckpt", -1 when there is none.
func tfStep(stem string) int64 {
	stem = strings.TrimSuffix(stem, ".ckpt")
	if n, ok := digits(stem[strings.LastIndexByte(stem, '-')+1:]); ok {
		return n
	}
	return -1
}
