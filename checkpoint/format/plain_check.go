package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func checkPlain(l *look, c *Checkpoint) error {
	s := c.save
	switch {
	case s == nil && isKerasIndex(c.base()):
		return checkKerasShards(l, c)
	case s == nil:
		return checkIndexed(l, c)
	}
	members, has, ranks := s.members, s.has, s.ranks
	if s.directory {
		d, err := l.dir(c.Path)
		if err != nil {
			return err
		}
		if members, err = l.membersOf(d); err != nil {
			return err
		}
		now := save{members: members}
		now.templates(d.path)
		has, ranks = now.has, now.ranks
		if len(members) == 0 {
			return problem.New(problem.MissingShard, "%s holds nothing yet that is known to be of a checkpoint", c.Path)
		}
		if isAdapter(members) && !d.isFile(adapterConfig) {
			return problem.New(problem.MissingShard, "%s is missing, without which PEFT does not load the adapter", d.join(adapterConfig))
		}
	}
	for _, want := range s.required {
		if !slices.Contains(has, want) {
			return problem.New(problem.MissingShard, "%s has no %s, which the saves before it have", c.Path, readable(want))
		}
	}
	if err := wholeRanks(c, members, max(ranks, s.world)); err != nil {
		return err
	}
	if err := wholeShards(c, members); err != nil {
		return err
	}
	paths := make([]string, len(members))
	for i, m := range members {
		paths[i] = m.path
	}
	if _, err := l.parts(c, paths, false); err != nil {
		return err
	}
	c.Basis, c.Elastic = BasisStructure, true
	if c.ShardsFound = len(paths); len(paths) > 1 {
		c.ShardsExpected = len(paths)
	}
	if ranks > 1 {
		c.WorldSize, c.Elastic, c.Basis = int(ranks), false, BasisGrid
	}
	if l.Level < Ends {
		return nil
	}
	contents := make([]content, len(members))
	err := l.eachOf(len(members), func(i int) (err error) {
		contents[i], err = l.contentIn(members[i].path)
		return err
	})
	if err != nil || l.Level < Manifests {
		return err
	}
	return c.settle(members, contents)
}

// adapterConfig says what an adapter is for (save_pretrained in peft/peft_model.py).
const adapterConfig = "adapter_config.json"

// isAdapter reports whether there is nothing but an adapter of PEFT. Who has more beside it may load it in a way of their own.
func isAdapter(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool {
		return !strings.HasSuffix(m.path, ".json") && !strings.HasPrefix(path.Base(m.path), "adapter_model.")
	}) && slices.ContainsFunc(members, func(m member) bool { return !strings.HasSuffix(m.path, ".json") })
}

// readable is a template as a person would write it.
func readable(template string) string {
	parts := strings.Split(template, "|")
	words := strings.Join(slices.DeleteFunc(parts[:len(parts)-1], func(p string) bool { return p == "" || p == "." }), "_")
	return strings.TrimPrefix(strings.ReplaceAll(words, " ", "_"), "_") + "*" + parts[len(parts)-1]
}

// wholeRanks wants the files of all processes: those that have one, and as many as before.
func wholeRanks(c *Checkpoint, members []member, world int64) error {
	if world < 2 {
		return nil
	}
	sets := map[string]rankSet{}
	for _, m := range members {
		if m.rank >= 0 && m.of == 0 && m.rank < maxRanks {
			sets[m.roles] = append(sets[m.roles], m.rank)
		}
	}
	for role, set := range sets {
		set = set.sorted()
		first := set[0] // numbers may begin at 1
		if first > 1 || int64(len(set)) < world || set[len(set)-1] != first+int64(len(set))-1 {
			return problem.New(problem.MissingRankState, "%s has files of %d of %d ranks (%s)", c.Path, len(set), world,
				strings.ReplaceAll(role, " #", ""))
		}
	}
	return nil
}

// wholeShards wants all of a set of files whose names say how many there are: model-00001-of-00003.safetensors. Of a save
// over one with another number some of that may be left.
func wholeShards(c *Checkpoint, members []member) error {
	type set struct {
		template string
		of       int64
	}
	sets, whole := map[set]rankSet{}, map[string]bool{}
	for _, m := range members {
		if m.of > 0 && m.rank >= 0 && m.of < maxRanks {
			k := set{m.template(""), m.of}
			sets[k] = append(sets[k], m.rank)
		}
	}
	for k, numbers := range sets {
		sets[k] = numbers.sorted()
		whole[k.template] = whole[k.template] || int64(len(sets[k])) == k.of
	}
	for k, numbers := range sets {
		if !whole[k.template] {
			return problem.New(problem.MissingShard, "%s has %d of %d files like %s", c.Path, len(numbers), k.of, readable(k.template))
		}
	}
	return nil
}

// settle decides, from what is in its files, of which step a save is, and whether training can be resumed from it.
func (c *Checkpoint) settle(members []member, contents []content) error {
	step, unit, from := int64(-1), UnitEpoch, ""
	optimizer, more, alone, tensors := false, false, true, false
	for i, in := range contents {
		c.Doubt = cmp.Or(c.Doubt, in.doubt)
		if strings.HasSuffix(members[i].path, ".json") && in.step < 0 {
			continue
		}
		if in.step >= 0 && (step < 0 || unit == UnitEpoch && in.unit == UnitStep) {
			step, unit, from = in.step, in.unit, members[i].path
		} else if in.step >= 0 && in.unit == unit && in.step != step && !c.save.ranked() {
			return problem.New(problem.StepMismatch, "%s says %d, and %s says %d: a save over an earlier one was cut", from, step,
				members[i].path, in.step)
		}
		optimizer = optimizer || in.optimizer || in.tensors && !in.alone && strings.Contains(members[i].roles, "optimizer")
		more, tensors, alone = more || in.more, tensors || in.tensors, alone && in.alone
	}
	name := c.save.title
	if step >= 0 {
		c.says(step, unit, name)
	}
	c.Training, c.Optimizer = optimizer || more, optimizer
	switch {
	case optimizer || more:
	case alone:
		c.Part = !slices.ContainsFunc(members, func(m member) bool { return m.roles == "" && !strings.HasSuffix(m.path, ".json") })
		c.weightsOnly("%s holds tensors and neither the state of an optimizer nor a step: weights", c.Path)
	case !tensors && !c.save.named && name.slot == "" && name.family != "":
		c.weightsOnly("%s holds neither tensors nor a step: data", c.Path)
	}
	return nil
}

// says takes the step that the content says, which goes before that of the name, but for one case: the name counts steps,
// and the content epochs.
func (c *Checkpoint) says(step int64, unit Unit, name title) {
	if unit == UnitEpoch && name.step >= 0 && name.unit == UnitStep && (name.named || apart(name.step, step)) {
		return
	}
	c.Step, c.Unit, c.StepFrom = step, unit, StepFromContent
}

func apart(a, b int64) bool { return a-b > 1 || b-a > 1 }

// ranked reports whether several processes have files of their own, which may differ in what they say.
func (s *save) ranked() bool { return s.ranks > 1 }

// maxJSON bounds a file of JSON that is read as a whole, maxUnpacked what is unpacked of compressed files in one look at
// all checkpoints (a few seconds for each GiB), and maxKept what is held in memory of each of the two ends of one of
// them, of one file at a time.
const (
	maxJSON = 16 << 20
	maxKept = 64 << 20

	maxUnpacked int64 = 4 << 30
)

// contentIn looks at one file, of whatever kind: whether it is whole, and what is in it.
func (l *look) contentIn(name string) (in content, err error) {
	in = content{step: -1}
	if strings.HasSuffix(name, ".json") {
		return l.jsonContent(name)
	}
	err = l.inside(name, func(r io.ReaderAt, size int64) (err error) {
		in, err = l.contentOfFile(name, r, size)
		return err
	})
	return in, err
}

func (l *look) contentOfFile(name string, r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	head := make([]byte, min(size, 512))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return in, err
	}
	form, torch := file.IsTorch(head[:min(len(head), 32)])
	ext := strings.ToLower(path.Ext(name))
	switch {
	case ext == ".joblib" && torch && form == file.PlainPickle:
		return in, file.PickleEnds(r, size) // with the arrays between its opcodes, as they lie in memory (joblib/numpy_pickle.py)
	case ext == ".safetensors":
		return l.safetensorsContent(r, size)
	case ext == ".keras":
		c := Checkpoint{Resumable: true}
		names, err := file.Keras(r, size)
		if err == nil {
			c.kerasResumable(name, names)
		}
		return content{step: -1, tensors: true, alone: !c.Resumable, optimizer: c.Resumable && len(names) > 0}, err
	case bytes.HasPrefix(head, []byte("\x89HDF\r\n\x1a\n")) || ext == ".h5" || ext == ".hdf5":
		c := Checkpoint{Resumable: true}
		h, err := file.ReadHDF5(r, size, l.Level >= Manifests)
		if err == nil && l.Level >= Manifests {
			var names []string
			if names, err = h.Names(r); err == nil {
				c.kerasResumable(name, names)
				err = file.ZeroHalf(r, size)
			}
		}
		return content{step: -1, tensors: true, alone: !c.Resumable}, err
	case torch && form == file.TorchZip:
		z, err := file.OpenZip(r, size)
		if err != nil {
			return in, err
		}
		if names, numbers, ok, err := file.Npz(z); err == nil && ok {
			return named(names, numbers), nil
		}
		if ext == ".zip" {
			var names []string
			err := z.Each(func(e file.Entry) error {
				if names = append(names, e.Name); len(names) > maxMembers {
					return problem.New(problem.UnknownFormat, "it has more than %d entries", maxMembers)
				}
				return nil
			})
			if err != nil || !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "data.pkl") }) {
				return named(names, nil), err
			}
		}
		return l.torchContent(r, size)
	case torch:
		return l.torchContent(r, size)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return l.unpacked(name, r, size)
	case ext == ".msgpack", file.IsMsgpack(head):
		return l.msgpackContent(r, size)
	case file.IsNpy(head):
		return content{step: -1, tensors: true, alone: true}, nil
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return in, file.TarEnd(r, size)
	case len(bytes.Trim(head, "\x00")) == 0:
		return in, problem.New(problem.BadZip, "it begins with zeros")
	case slices.Contains(strongEndings, ext) && ext != ".ckpt" && ext != ".checkpoint":
		return in, problem.New(problem.BadZip, "it begins with % x: neither a zip nor a pickle", head[:min(8, len(head))])
	}
	return in, nil // of a form that is not known
}

// torchContent looks at what torch.save or pickle wrote.
func (l *look) torchContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	form, err := l.torch(r, size)
	if err != nil || l.Level < Manifests {
		return in, err
	}
	if form == file.TorchScript {
		return content{step: -1, tensors: true, alone: true}, nil
	}
	shape, err := file.TorchShape(r, size)
	if errors.Is(err, file.ErrNoShape) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	return contentOf(shape), nil
}

// msgpackContent looks at what flax has written into one file.
func (l *look) msgpackContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	if l.Level < Manifests {
		return in, nil
	}
	shape, err := file.MsgpackShape(r, size)
	if errors.Is(err, file.ErrNoShape) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	return contentOf(shape), nil
}

func (l *look) safetensorsContent(r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	header, err := file.SafetensorsHeader(r, size)
	if err != nil || l.Level < Manifests && header > maxEndsDirectory {
		return in, err
	}
	if err := file.Safetensors(r, size); err != nil || l.Level < Manifests {
		return in, err
	}
	var names []string
	metadata, err := file.SafetensorsNames(r, size, func(name string) { names = append(names, strings.Clone(name)) })
	if errors.Is(err, file.ErrNoShape) {
		return in, nil
	}
	numbers := map[string]int64{}
	for key, text := range metadata {
		if n, ok := digits(text); ok {
			numbers[key] = n
		}
	}
	return named(names, numbers), err
}

// unpacked looks at a file that gzip has compressed, which has checksums of its own. Of one from which more comes than is
// unpacked it stays open whether it is whole, and that is said.
func (l *look) unpacked(name string, r io.ReaderAt, size int64) (in content, err error) {
	in = content{step: -1}
	if l.Level < Manifests {
		return in, nil
	}
	l.unpacking.Lock()
	defer l.unpacking.Unlock()
	u, err := file.Gunzip(r, size, maxKept, func(n int) error {
		if l.Unpacked.Add(int64(n)) > maxUnpacked {
			return file.ErrTooLarge
		}
		return l.ctx.Err()
	})
	if errors.Is(err, file.ErrTooLarge) {
		in.doubt = fmt.Sprintf("%s is compressed, and was not unpacked to its end: of the newest checkpoints no more than %d MiB are. "+
			"Whether it is whole is unknown", name, maxUnpacked>>20)
		return in, nil
	}
	if err != nil {
		return in, err
	}
	if ext := path.Ext(name); ext != ".joblib" {
		name = strings.TrimSuffix(name, ext)
	}
	in, err = l.contentOfFile(name, u, u.Size)
	if file.NotKept(err) {
		return content{step: -1}, nil // whole, by its checksums
	}
	return in, err
}

// jsonContent reads a file of JSON that stands beside tensors: a configuration, or how far the training is.
func (l *look) jsonContent(name string) (in content, err error) {
	in = content{step: -1, alone: true}
	data, err := l.small(name, maxJSON)
	if err != nil {
		if p, ok := errors.AsType[*problem.Error](err); ok && p.Reason == problem.SizeMismatch {
			return in, nil // too large to be about a step
		}
		return in, err
	}
	finite(data)
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return in, problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	return jsonStep(v, in, 0), nil
}

func jsonStep(v any, in content, depth int) content {
	m, ok := v.(map[string]any)
	if !ok {
		return in
	}
	numbers := map[string]int64{}
	for key, value := range m {
		if n, ok := value.(float64); ok && n >= 0 && n == float64(int64(n)) && n < 1<<53 {
			numbers[key] = int64(n)
		}
	}
	// A configuration says "epochs" of what is to be done.
	delete(numbers, "epochs")
	delete(numbers, "steps")
	in.count(numbers)
	for key, value := range m {
		if in.step < 0 && depth < 2 && within[strings.ToLower(key)] {
			in = jsonStep(value, in, depth+1)
		}
	}
	return in
}

// holdsTensors reports whether a file whose name does not say so is one that a training script may have written.
func (l *look) holdsTensors(name string) (bool, error) {
	f, err := l.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	t := titleOf(path.Base(name))
	if err != nil {
		return t.step >= 0, l.ctx.Err() // the check says what is wrong
	}
	defer f.close()
	likely := t.step >= 0 && t.family == "" || t.slot != "" && t.family == "" || t.named || checkpointName(path.Base(name))
	head := make([]byte, min(f.size, 512))
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return false, err
	}
	if len(head) == 0 {
		return likely && path.Ext(name) != "", nil
	}
	_, torch := file.IsTorch(head[:min(len(head), 32)])
	switch {
	case torch:
		return true, nil
	case path.Ext(name) == ".joblib":
		return true, nil // compressed in one of many ways
	case file.IsMsgpack(head):
		return likely || path.Ext(name) == ".msgpack", nil
	case bytes.HasPrefix(head, []byte("\x89HDF")), bytes.HasPrefix(head, []byte{0x1f, 0x8b}), file.IsNpy(head):
		return true, nil
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return likely, nil
	case len(bytes.Trim(head, "\x00")) == 0:
		return likely, nil
	}
	return false, nil
}

// checkpointName reports whether a name has a word for a checkpoint in it.
func checkpointName(name string) bool {
	for _, p := range pieces(stemOf(name)) {
		if !p.number && neutralWords[p.text] {
			return true
		}
	}
	return false
}
