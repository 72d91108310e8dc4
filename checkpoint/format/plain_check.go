package format

import (
	"path"
	"slices"
	"strings"

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
		if !slices.ContainsFunc(members, func(m member) bool { return !isSide(m.path) }) {
			return problem.New(problem.MissingShard, "%s holds nothing yet that is known to be of a checkpoint", c.Path)
		}
		if isAdapter(members) && !d.isFile(adapterConfig) {
			return problem.New(problem.MissingShard, "%s is missing, without which PEFT does not load the adapter", d.join(adapterConfig))
		}
	}
	for _, want := range s.required {
		if !slices.Contains(has, want) {
			var there []string // which says when it was written
			for _, m := range members {
				if m.form == nil {
					there = append(there, m.path)
				}
			}
			_, _ = l.parts(c, there, true)
			return problem.New(problem.MissingShard, "%s has no %s, which the saves before it have", c.Path, readable(want))
		}
	}
	if err := wholeRanks(c, members, max(ranks, s.world)); err != nil {
		return err
	}
	if err := wholeShards(c, members); err != nil {
		return err
	}
	for _, side := range s.sides {
		members = append(slices.Clip(members), member{path: side, title: titleOf(sideStem(path.Base(side)))})
	}
	formed, err := l.checkForms(c, members)
	if err != nil {
		return err
	}
	members = slices.DeleteFunc(slices.Clone(members), func(m member) bool { return m.form != nil })
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
	err = l.eachOf(len(members), func(i int) (err error) {
		contents[i], err = l.contentIn(members[i].path)
		return err
	})
	if err != nil || l.Level < Manifests {
		return err
	}
	for i, in := range contents {
		if in.opaque {
			if err := l.notShorter(s, members[i]); err != nil {
				return err
			}
		}
	}
	for _, f := range formed {
		members, contents = append(members, f.member), append(contents, f.content)
	}
	if err := c.settle(members, contents); err != nil {
		return err
	}
	if err := c.share(l); err != nil {
		return err
	}
	return c.told(l)
}

// share makes a training state of weights beside which the state of an optimizer is written over in place.
func (c *Checkpoint) share(l *look) error {
	if c.Resumable || c.save.shared == nil || c.Data {
		return nil
	}
	for _, m := range c.save.shared.members {
		in, err := l.contentIn(m.path)
		if err != nil && l.ctx.Err() != nil {
			return err
		}
		if err == nil && (in.optimizer || in.opaque) {
			c.Resumable, c.Reason, c.Detail, c.Training, c.Optimizer = true, "", "", true, true
		}
	}
	return nil
}

// adapterConfig says what an adapter is for (save_pretrained in peft/peft_model.py).
const adapterConfig = "adapter_config.json"

// isAdapter reports whether there is nothing but an adapter of PEFT. Who has more beside it may load it in a way of their own.
func isAdapter(members []member) bool {
	return !slices.ContainsFunc(members, func(m member) bool {
		return !isSide(m.path) && !strings.HasPrefix(path.Base(m.path), "adapter_model.")
	}) && slices.ContainsFunc(members, func(m member) bool { return !isSide(m.path) })
}
