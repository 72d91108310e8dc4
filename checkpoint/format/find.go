package format

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
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
	// Format is that of the directory, empty when it holds none that is known.
	Format string
	// Checkpoints are the newest first, by their steps and then by their names. None was looked into yet.
	Checkpoints []*Checkpoint
}

// Find lists what may be checkpoints in the root of a tree. The error is a [problem.Error], and says that nobody knows
// when its reason does: a directory that does not exist holds nothing, and one that cannot be read may hold anything.
func Find(ctx context.Context, fsys fs.FS, o Options) (Found, error) {
	if o.Format == "" && o.Rule != nil {
		o.Format = "custom" // what the user says goes before what can be found out
	}
	l := newLook(ctx, fsys, o)
	root, err := l.dir(".")
	if err != nil {
		return Found{}, problem.Of(err, problem.NoMarker)
	}
	for _, k := range kinds {
		if o.Format != "" && o.Format != k.name {
			continue
		}
		candidates, err := k.find(l, root)
		if err != nil {
			return Found{}, problem.Of(err, problem.NoMarker)
		}
		if len(candidates) == 0 {
			continue
		}
		for _, c := range candidates {
			c.Format = cmp.Or(c.Format, k.name)
			c.Root = cmp.Or(c.Root, ".")
			c.ShardsExpected = -1
		}
		slices.SortStableFunc(candidates, func(a, b *Checkpoint) int {
			return cmp.Or(cmp.Compare(b.Step, a.Step), strings.Compare(b.Path, a.Path))
		})
		return Found{k.name, candidates}, nil
	}
	if o.Format != "" && !Known(o.Format) {
		return Found{}, problem.New(problem.UnknownFormat, "there is no format %q", o.Format)
	}
	return Found{Format: o.Format}, nil
}

// Check looks at a checkpoint that Find found in the same tree and fills in what it sees. Whatever is wrong with it is in
// its Reason and Detail.
func Check(ctx context.Context, fsys fs.FS, c *Checkpoint, o Options) {
	name, _, _ := strings.Cut(c.Format, "+")
	k := lookup(name)
	fresh := Checkpoint{
		Format: name, Path: c.Path, Root: c.Root, Tag: c.Tag, Step: c.Step, StepFrom: c.StepFrom, ShardsExpected: -1,
		Level: o.Level, Complete: true, Resumable: true,
	}
	*c = fresh
	if k == nil {
		c.fail(problem.New(problem.UnknownFormat, "there is no format %q", name))
		return
	}
	if err := k.safely(newLook(ctx, fsys, o), c); err != nil {
		c.fail(problem.Of(err, problem.MissingShard))
	}
}

// safely keeps a bug in one format from ending the job: nobody knows, then.
func (k *kind) safely(l *look, c *Checkpoint) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = problem.New(problem.Permission, "gangrun failed to look at it: %v", p)
		}
	}()
	return k.check(l, c)
}

func (c *Checkpoint) fail(err *problem.Error) {
	c.Complete, c.Resumable, c.Reason, c.Detail = false, false, err.Reason, err.Detail
}

// weightsOnly says that a complete checkpoint is nothing to go on from.
func (c *Checkpoint) weightsOnly(format string, args ...any) {
	c.Resumable, c.Reason, c.Detail = false, problem.WeightsOnly, fmt.Sprintf(format, args...)
}

// contains says what a container holds.
func (c *Checkpoint) contains(payload string) {
	if !strings.Contains(c.Format, "+") {
		c.Format += "+" + payload
	}
}
