package format

import "path"

// Some programs put each part of a save into a directory of its own within that of the step, some of them in the form of a
// library: model/ of safetensors, optim/ of torch.distributed.checkpoint, saved_model/ of TensorFlow. Others put the files of a
// bundle of tensors beside their own. Such a part is checked as that form is.

// forms are those of which a directory may be a part.
func forms() []*kind { return []*kind{&orbax, &torchSnapshot, &dcp} }

// formOf is the form of which a directory within that of a step is a checkpoint by itself, nil when it is of none, or one of several
// saves: checkpoint-100 may have a global_step100 of DeepSpeed's, and latest, which names it.
func (l *look) formOf(d *dir, of int64) (*kind, error) {
	if t := titleOf(path.Base(d.path)); t.step >= 0 && t.step != of || t.slot != "" {
		return nil, nil
	}
	if of >= 0 && isDeepSpeed(d) {
		return &deepSpeed, nil
	}
	if isSavedModel(d) || d.isDir("variables") && l.hasVariables(d) {
		return &savedModel, nil
	}
	for _, k := range forms() {
		found, err := k.find(l, d)
		if err != nil {
			return nil, err
		}
		if len(found) == 1 && found[0].Path == d.path {
			return k, nil
		}
	}
	return nil, nil
}

// hasVariables reports whether a directory holds those of a saved model, whose graph is written after them.
func (l *look) hasVariables(d *dir) bool {
	v, err := l.dir(d.join("variables"))
	return err == nil && len(startingWith(v, path.Base(savedModelBundle)+".")) > 0
}

// bundleIn lists the one bundle of tensors that lies in a directory, or those that are parts of a state by their names, each another;
// of others none is a part of one save.
func (l *look) bundleIn(d *dir) (parts []member, err error) {
	found, err := findTFBundle(l, d)
	roles := map[string]bool{}
	for _, c := range found {
		t := titleOf(c.Tag)
		if roles[t.roles] = true; len(found) > 1 && (t.roles == "" || t.family != "" || t.step >= 0 || t.slot != "") {
			return nil, err
		}
		parts = append(parts, member{c.Path, t, &tfBundle})
	}
	if len(roles) < len(found) {
		return nil, err
	}
	return parts, err
}

// formed is a part of a form of its own, and what is in it.
type formed struct {
	member
	content
}

// checkForms looks at the parts of a save that are of a form of their own, and counts them into it.
func (l *look) checkForms(c *Checkpoint, members []member) (all []formed, err error) {
	for _, m := range members {
		if m.form == nil {
			continue
		}
		part := &Checkpoint{Format: m.form.name, Path: m.path, Root: m.path, Step: -1, ShardsExpected: -1, Resumable: true}
		if err := m.form.check(l, part); err != nil {
			return nil, err
		}
		c.Size += part.Size
		if part.Modified.After(c.Modified) {
			c.Modified, c.ModifiedFrom = part.Modified, ModifiedShard
		}
		in := content{step: part.Step, unit: part.Unit, sure: part.Step >= 0, tensors: true, read: true, doubt: part.Doubt}
		in.alone = !part.Resumable && !part.Training
		in.optimizer, in.more = part.Optimizer, part.Training
		all = append(all, formed{m, in})
	}
	return all, nil
}
