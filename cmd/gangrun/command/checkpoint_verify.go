package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gangrun/gangrun/checkpoint"
	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/exitcodes"
	"github.com/gangrun/gangrun/internal/plain"
	"github.com/gangrun/gangrun/internal/task"
)

func (i *inspection) verifyCommand() *cli.Command {
	settings := i.settings(
		&setting{name: "deep", group: groupCheckpoint, isBool: true, parse: boolean(&i.deep),
			usage: "read every byte, where there are checksums"},
		i.timeoutSetting("1m, none with --deep"))
	return i.command(&cli.Command{Name: "verify", Usage: "say whether checkpoints are whole"},
		"PATH", "--deep /mnt/checkpoints/checkpoint-500",
		fmt.Sprintf("PATH is a directory of checkpoints, one checkpoint in such a directory, or a URL.\n"+checkpointCodes,
			"when all are whole", "when one is not or when there is none"),
		settings, i.verify)
}

func (i *inspection) verify(ctx context.Context, name string) error {
	standard := checkpoint.DefaultTimeout
	if i.deep {
		standard = unlimited
	}
	var l listing
	var read, total atomic.Int64
	stop := func() {}
	if i.deep && i.err == os.Stderr && isTerminal(os.Stderr) {
		stop = showProgress(os.Stderr, &read, &total)
	}
	err := bounded(ctx, i.limit(standard), func(ctx context.Context) error {
		fsys, found, err := i.locate(ctx, name)
		if err != nil {
			return err
		}
		o := i.options()
		for _, c := range found.Checkpoints {
			total.Add(c.Size)
		}
		if i.deep {
			o.Level, o.Read = format.Everything, func(n int) { read.Add(int64(n)) }
			for _, c := range found.Checkpoints {
				if c.Complete {
					format.Check(ctx, fsys, c, o)
				} else {
					total.Add(-c.Size)
				}
			}
		}
		l = listing{Format: found.Format, Checkpoints: found.Checkpoints}
		return nil
	})
	stop()
	if err == errNothing {
		i.worse(exitcodes.CodeCheckpointUnusable)
		i.say("%s", i.nothing(shown(name)))
		return nil
	}
	if err != nil {
		return i.fail(name, err)
	}
	for _, c := range l.Checkpoints {
		switch {
		case c.Reason.Unknown():
			i.worse(codeUnknown)
		case !c.Complete:
			i.worse(exitcodes.CodeCheckpointUnusable)
		}
	}
	if i.output == "json" {
		return i.encode(l)
	}
	i.show(l)
	return nil
}

// errNothing says that a directory was read, and no checkpoint is in it.
var errNothing = errors.New("no checkpoints")

// locate finds what a user wants to have verified, and looks at it: one checkpoint, which is looked for from the directory above it, or
// all of a directory, on the level on which a run finds its state. The directory above comes first: the inside of many a checkpoint
// looks like checkpoints, too.
func (i *inspection) locate(ctx context.Context, name string) (fs.FS, format.Found, error) {
	o := i.options()
	var beside []string
	if dir, base, ok := i.above(name); ok {
		if fsys, err := i.tree(ctx, dir); err == nil {
			found, err := format.Find(ctx, fsys, o)
			if err == nil {
				at := slices.IndexFunc(found.Checkpoints, func(c *format.Checkpoint) bool { return c.Path == base })
				if at >= 0 {
					found.Checkpoints = found.Checkpoints[at : at+1]
					format.Check(ctx, fsys, found.Checkpoints[0], o)
					return fsys, found, nil
				}
				beside = names(found.Checkpoints)
			}
		}
	}
	fsys, err := i.tree(ctx, name)
	_, base, _ := i.above(name)
	near := plain.Text(nearest(base, beside))
	if _, wrong := errors.AsType[*configError](err); wrong {
		return nil, format.Found{}, &configError{fmt.Sprintf(
			"%s is neither a directory of checkpoints nor a checkpoint%s", plain.Text(name), near)}
	}
	if _, absent := errors.AsType[*absentError](err); absent {
		err = &absentError{err.Error() + near}
	}
	if err != nil {
		return nil, format.Found{}, err
	}
	found, err := surveyed(ctx, fsys, o)
	if err == nil && len(found.Checkpoints) == 0 {
		err = errNothing
	}
	return fsys, found, err
}

// surveyed is what a run would look at, verified.
func surveyed(ctx context.Context, fsys fs.FS, o format.Options) (format.Found, error) {
	var levels []format.Found
	n, cs, err := checkpoint.Survey(ctx, fsys, o, func(found format.Found) (looked []format.Checkpoint) {
		for _, c := range found.Checkpoints {
			format.Check(ctx, fsys, c, o)
		}
		format.Together(found.Checkpoints)
		levels = append(levels, found)
		for _, c := range found.Checkpoints {
			looked = append(looked, *c)
		}
		return looked
	})
	if err != nil || len(cs) == 0 {
		return format.Found{}, err
	}
	found := levels[n]
	found.Checkpoints = nil
	for _, c := range cs {
		found.Checkpoints = append(found.Checkpoints, &c)
	}
	return found, nil
}

// above is the directory in which a checkpoint is looked for, and its path there.
func (i *inspection) above(name string) (dir, rel string, ok bool) {
	dir = name
	for range 1 + strings.Count(i.pattern, "/") {
		var base string
		if dir, base, ok = parent(dir); !ok {
			return "", "", false
		}
		rel = path.Join(base, rel)
	}
	return dir, rel, true
}

// showProgress shows on a terminal how much was read, until stop is called, which erases it.
func showProgress(w io.Writer, read, total *atomic.Int64) (stop func()) {
	begin := time.Now()
	show := func(now time.Time) {
		fmt.Fprintf(w, "\r\x1b[K%s", progressText(read.Load(), total.Load(), now.Sub(begin)))
	}
	return task.Repeat(200*time.Millisecond, show, func() { fmt.Fprint(w, "\r\x1b[K") })
}

// progressText is one line: how much was read, and how fast. Files without checksums are not read, so the total is a bound.
func progressText(read, total int64, in time.Duration) string {
	total = max(total, read)
	text := fmt.Sprintf("%s of %s", size(uint64(read)), size(uint64(total)))
	if total > 0 {
		text += fmt.Sprintf(", %d%%", int(100*float64(read)/float64(total)))
	}
	if in >= time.Second {
		text += fmt.Sprintf(", %s/s", size(uint64(float64(read)/in.Seconds())))
	}
	return text
}
