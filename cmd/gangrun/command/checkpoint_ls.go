package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

func (i *inspection) lsCommand() *cli.Command {
	return i.command(&cli.Command{Name: "ls", Usage: "list all checkpoints, newest first, and which one would be chosen"},
		"DIR", "/mnt/checkpoints",
		"An asterisk marks the one that a run would resume from. Exits 0 when DIR could be read, whatever is in it, 1 when it\ncould not, 64 when the command line is wrong, 66 when there is no DIR.",
		i.settings(append(i.policySettings(), i.timeoutSetting("1m"))...), i.ls)
}

func (i *inspection) ls(ctx context.Context, dir string) error {
	var l listing
	var m checkpoint.History
	var unread error
	skipped := 0
	err := bounded(ctx, i.limit(checkpoint.DefaultTimeout), func(ctx context.Context) error {
		fsys, err := i.tree(ctx, dir)
		if err != nil {
			return err
		}
		m, unread = remembered(dir, fsys)
		l, skipped, err = i.list(ctx, fsys)
		for _, c := range l.Checkpoints {
			c.First = c.InPlace && !isURL(dir) && checkpoint.FirstSave(dir, c.Path)
		}
		return err
	})
	if err != nil {
		return i.fail(dir, err)
	}
	i.weigh(&l, m, unread)
	if skipped > 0 {
		i.say("the time was over: the %d oldest were taken by the names and sizes of their files (see --timeout)", skipped)
	}
	if i.output == "json" {
		return i.encode(l)
	}
	i.sayOthers(l)
	if len(l.Checkpoints) == 0 {
		i.say("%s", i.nothing(shown(dir)))
		return nil
	}
	i.show(l)
	return nil
}

// sayOthers names the entries that are not understood, and the flags that would describe them.
func (i *inspection) sayOthers(l listing) {
	if len(l.Below) > 0 && !l.apart { // else it is asked which is meant
		i.say("nothing in the directory itself is a checkpoint; those below it are in %s", strings.Join(l.Below, ", "))
	}
	if len(l.Others) > 0 && i.pattern == "" {
		i.say("not understood: %s (--pattern GLOB says that such are checkpoints)", strings.Join(l.Others, ", "))
	}
}

// remembered is what a run has left beside its checkpoints: nothing where a run cannot write.
func remembered(name string, fsys fs.FS) (checkpoint.History, error) {
	if isURL(name) {
		return checkpoint.History{}, nil
	}
	return checkpoint.ReadHistory(fsys)
}

// nothing says that there are no checkpoints, and how to say more about them.
func (i *inspection) nothing(dir string) string {
	switch {
	case i.pattern != "":
		return fmt.Sprintf("%s: nothing there is named like %s", dir, i.pattern)
	case i.format != "":
		return fmt.Sprintf("%s: no checkpoints of format %s", dir, i.format)
	}
	return fmt.Sprintf("%s: no checkpoints of a known format (others: --pattern, which is --checkpoint-pattern of gangrun run)", dir)
}

// list looks at all checkpoints: at the names and sizes of their files first, and then closely, from the newest on. It
// returns for how many there was no time left for that.
func (i *inspection) list(ctx context.Context, fsys fs.FS) (l listing, skipped int, err error) {
	var levels []listing
	n, cs, err := checkpoint.Survey(ctx, fsys, i.options(), func(found format.Found) (looked []format.Checkpoint) {
		skipped += i.closely(ctx, fsys, found.Checkpoints)
		format.Together(found.Checkpoints)
		levels = append(levels, listing{Format: found.Format, Below: found.Below, Others: found.Others, apart: found.Apart, unseen: found.Unseen})
		for _, c := range found.Checkpoints {
			looked = append(looked, *c)
		}
		return looked
	})
	if err != nil {
		return listing{}, 0, err
	}
	l = levels[n]
	l.Checkpoints = []*format.Checkpoint{} // an array in JSON
	for _, c := range cs {
		l.Checkpoints = append(l.Checkpoints, &c)
	}
	slices.SortStableFunc(l.Checkpoints, func(a, b *format.Checkpoint) int { return cmp.Compare(b.Step, a.Step) })
	return l, skipped, nil
}

// closely looks at checkpoints for as long as there is time, and returns how many are left.
func (i *inspection) closely(ctx context.Context, fsys fs.FS, cs []*format.Checkpoint) (skipped int) {
	o := i.options()
	o.Level = format.Names
	for _, c := range cs {
		format.Check(ctx, fsys, c, o)
	}
	o.Level = format.Manifests
	for n, c := range cs {
		if !c.Complete {
			continue
		}
		quick := *c
		format.Check(ctx, fsys, c, o)
		if c.Reason == problem.CheckTimeout && n > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			*c = quick
			for _, c := range cs[n:] {
				if c.Complete {
					skipped++
				}
			}
			return skipped
		}
	}
	return 0
}

// show prints a table.
func (i *inspection) show(l listing) {
	rows := make([]row, 0, len(l.Checkpoints))
	for _, c := range l.Checkpoints {
		rows = append(rows, rowOf(c, l.passed[c.Path], c.Path == l.Chosen, i.now()))
	}
	writeTable(i.out, rows, i.out == stdout && colourful(os.Stdout))
}
