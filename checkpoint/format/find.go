package format

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// kind is one format of a directory with checkpoints.
type kind struct {
	name string
	// find lists what may be checkpoints of this kind in the directory, torn ones too, by names alone: each with Path,
	// Tag, Step and StepFrom. None says that the directory is of another kind. It looks into as few directories
	// below as it can, since there may be thousands.
	find func(*look, *dir) ([]*Checkpoint, error)
	// check looks at one of them as closely as the level says, and fills in the rest. No error means that it is
	// complete; Resumable may be taken back with a Reason. A missing file that is an fs.ErrNotExist counts as a missing
	// shard.
	check func(*look, *Checkpoint) error
	// claims, when set, says whether the content of one that find has listed is what this kind writes. The same names
	// are given by several.
	claims func(*look, *Checkpoint) (claim, error)
	// owns, when set, knows more names that belong to the checkpoints than their paths.
	owns func(name string) bool
	// export is set where the checkpoints are models to be used, and no training states.
	export bool
	// trainer is set where they are training states and nothing else: what can be resumed from is one.
	trainer bool
	// pointer, when set, is the file by which the framework finds its newest checkpoint.
	pointer *Pointer
	// movable is set where a checkpoint is one directory or file, or files of one stem, so that it can be told from others
	// and moved aside.
	movable bool
}

// Movable reports whether the checkpoint can be moved as a whole.
func (c *Checkpoint) Movable() bool {
	name, _, _ := strings.Cut(c.Format, "+")
	k := lookup(name)
	return c.Path != "." && (k == nil || k.movable) && (c.save == nil || c.save.directory || len(c.save.members) == 1)
}

// SaysOwnStep reports whether its step is known only when it is looked into: its name is no framework's, or counts epochs
// where the content may count steps.
func (c *Checkpoint) SaysOwnStep() bool {
	return c.save != nil || c.Format == dcp.name && (c.Unit == UnitEpoch || c.StepFrom == StepFromContent)
}

// Pointer is the file by which the framework of the checkpoint finds its newest one, nil when there is none.
func (c *Checkpoint) Pointer() *Pointer {
	name, _, _ := strings.Cut(c.Format, "+")
	if k := lookup(name); k != nil {
		return k.pointer
	}
	return nil
}

// Formats lists the names of the known formats, in the order in which they are looked for.
func Formats() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Known reports whether there is a format of this name.
func Known(name string) bool { return lookup(name) != nil }

func lookup(name string) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// Found is what a directory holds.
type Found struct {
	// Format is that of the directory, of several the first in the order of Formats; empty when it holds none that is known.
	Format string
	// Checkpoints are the newest first, by their steps and then by their names. None was looked into yet.
	Checkpoints []*Checkpoint
	// Below are the directories in which they are, when they are not in the root itself but further down. When those were
	// not written by the same program, Apart is set, and nobody can say which is meant.
	Below []string
	Apart bool
	// Unseen counts the directories further down that were not searched.
	Unseen int
	// Others are entries of the root that are not understood, at most maxOthers.
	Others []string
}

const maxOthers = 100

// Find lists what may be checkpoints in the root of a tree, or when there are none there, on the first level below on which
// there are. The error is one of [Descend].
func Find(ctx context.Context, fsys fs.FS, o Options) (Found, error) {
	d, err := Descend(ctx, fsys, o)
	if err != nil {
		return Found{}, err
	}
	for {
		found, ok, err := d.Next(nil)
		if err != nil {
			return Found{}, err
		}
		if len(found.Checkpoints) > 0 || !ok {
			return found, nil
		}
	}
}

// Directory reports whether it is a directory of a program's own.
func (c *Checkpoint) Directory() bool { return c.save != nil && c.save.directory }

// NamesStep reports whether its name says a step, for what is a program's own.
func (c *Checkpoint) NamesStep() bool { return c.save != nil && c.save.title.step >= 0 }

// BegunFrom reports whether a checkpoint is by its name a directory of what training was begun from: pretrained.
func (c *Checkpoint) BegunFrom() bool {
	return c.save != nil && c.save.directory && c.Step < 0 && pastWords[c.save.slot]
}

// newestFirst orders checkpoints by their steps, and then by their names.
func newestFirst(a, b *Checkpoint) int {
	return cmp.Or(cmp.Compare(b.Step, a.Step), strings.Compare(b.Path, a.Path))
}

// findIn lists what may be checkpoints in one directory: what each format claims of what those before it have left.
func (l *look) findIn(root *dir) (Found, error) {
	found := Found{Format: l.Format}
	if isArray(root) {
		return found, nil // its pieces are nothing by themselves
	}
	l.taken = make(map[string]bool)
	if l.Rule == nil {
		root = root.without(func(name string) bool { return setAside(name) || l.isLinkBeside(root, name) }) // what it leads to is listed
	}
	for _, k := range kinds {
		if l.Format != "" && l.Format != k.name {
			continue
		}
		candidates, err := k.find(l, root)
		if err == nil && k.claims != nil && l.Format == "" {
			candidates, err = l.claimed(k, candidates)
		}
		if err != nil {
			return found, err
		}
		candidates = slices.DeleteFunc(candidates, func(c *Checkpoint) bool { return l.taken[c.Path] })
		if len(candidates) == 0 {
			continue
		}
		for _, c := range candidates {
			c.Format = cmp.Or(c.Format, k.name)
			c.Root = cmp.Or(c.Root, root.path)
			c.ShardsExpected = -1
			c.InPlace = c.Step < 0 && !k.export && (c.save == nil || !isHFWeights(path.Base(c.Path))) && !strings.HasSuffix(c.Path, indexSuffix)
			c.series = k.name + "|" + c.Root
			if c.save != nil {
				c.series += "|" + c.save.title.family
			}
			l.taken[c.Path] = true
		}
		root = root.without(func(name string) bool { return l.taken[root.join(name)] || k.owns != nil && k.owns(name) })
		found.Format = cmp.Or(found.Format, k.name)
		found.Checkpoints = append(found.Checkpoints, candidates...)
		if slices.ContainsFunc(candidates, func(c *Checkpoint) bool { return c.Path == root.path }) {
			break // the directory is one checkpoint: all in it belongs to that
		}
	}
	found.Others = l.others(root, found.Checkpoints)
	return found, nil
}

// others lists the entries that nothing was made of.
func (l *look) others(root *dir, cs []*Checkpoint) (names []string) {
	used := map[string]bool{}
	for _, c := range cs {
		if c.Path == root.path {
			return nil
		}
		used[c.Path] = true
		if c.save != nil {
			for _, m := range c.save.members {
				used[m.path], used[path.Dir(m.path)] = true, true
			}
		}
	}
	for _, name := range root.names {
		stem := root.join(name)
		for ; !used[stem] && path.Ext(stem) != "" && path.Dir(stem) == root.path; stem = strings.TrimSuffix(stem, path.Ext(stem)) {
		}
		if !used[stem] && !strings.HasPrefix(name, ".") && !ofTheVolume[name] && len(names) < maxOthers {
			names = append(names, name)
		}
	}
	return names
}

// setAside knows the names that people give to what must not be read any more.
func setAside(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"bad", "broken", "corrupt", "corrupted", "invalid", "failed", "trash", "deleted", "disabled"} {
		if strings.HasSuffix(name, "."+word) || strings.HasSuffix(name, "_"+word) || strings.HasSuffix(name, "-"+word) ||
			strings.HasPrefix(name, word+"-") || strings.HasPrefix(name, word+"_") || strings.HasPrefix(name, word+".") {
			return true
		}
	}
	return false
}

// quarantined is the directory of what was moved aside.
const quarantined = "quarantine"

// ofTheVolume are the names of what is no user's: what a file system or a file server makes for itself.
var ofTheVolume = map[string]bool{quarantined: true, "lost+found": true, "System Volume Information": true, "@eaDir": true, "#recycle": true,
	"$RECYCLE.BIN": true, "aquota.user": true, "aquota.group": true}

// Check looks at a checkpoint that Find found in the same tree and fills in what it sees. Whatever is wrong with it is in
// its Reason and Detail.
func Check(ctx context.Context, fsys fs.FS, c *Checkpoint, o Options) {
	name, _, _ := strings.Cut(c.Format, "+")
	k := lookup(name)
	fresh := Checkpoint{
		Format: name, Path: c.Path, Root: c.Root, Tag: c.Tag, Step: c.Step, StepFrom: c.StepFrom, Unit: c.Unit, InPlace: c.InPlace,
		ShardsExpected: -1, Level: o.Level, Complete: true, Resumable: true, save: c.save, series: c.series,
	}
	*c = fresh
	if k == nil {
		c.fail(problem.New(problem.UnknownFormat, "there is no format %q", name))
		return
	}
	l := newLook(ctx, fsys, o)
	defer func() { c.parts, c.items = nil, nil }()
	if err := k.safely(l, c); err != nil {
		c.fail(problem.Of(err, problem.MissingShard))
		if c.Size == 0 && !c.Reason.Unknown() {
			c.Size = l.sizeOf(c)
		}
		return
	}
	c.Training = c.Training || k.trainer && c.Resumable && o.Level >= Manifests
	if c.Step >= 0 || !c.Resumable || o.Level < Manifests {
		return
	}
	identity, err := l.identity(c)
	if err != nil {
		c.fail(problem.Of(err, problem.MissingShard))
		return
	}
	c.InPlace, c.Identity = true, identity
}

// safely keeps a bug in one format from ending the job: whether it is whole is unknown, then.
func (k *kind) safely(l *look, c *Checkpoint) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = problem.New(problem.Internal, "gangrun failed to look at it: %v", p)
		}
	}()
	return k.check(l, c)
}

func (c *Checkpoint) fail(err *problem.Error) {
	c.Complete, c.Resumable, c.Reason, c.Detail = false, false, err.Reason, err.Detail
}

// weightsOnly says that a complete checkpoint is nothing to resume from.
func (c *Checkpoint) weightsOnly(format string, args ...any) {
	c.Resumable, c.Reason, c.Detail = false, problem.WeightsOnly, fmt.Sprintf(format, args...)
}

// contains says what a container holds.
func (c *Checkpoint) contains(payload string) {
	if !strings.Contains(c.Format, "+") {
		c.Format += "+" + payload
	}
}
