package format

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// maxEndsDirectory bounds what is read of a zip's directory, or of a header, at the level Ends.
const maxEndsDirectory = 64 << 10

// checkTorchAll looks at files that torch.save or torch.jit.save wrote, a zip or the legacy form, or at plain pickles, and
// counts them into the checkpoint: all have to be there. A TorchScript archive is weights alone.
func checkTorchAll(l *look, c *Checkpoint, paths []string) ([]part, error) {
	found, err := l.parts(c, paths, false)
	if err != nil || l.Level < Ends {
		return found, err
	}
	forms := make([]file.Torch, len(paths))
	err = l.eachOf(len(paths), func(i int) error {
		return l.inside(paths[i], func(r io.ReaderAt, size int64) (err error) {
			forms[i], err = l.torch(r, size)
			return err
		})
	})
	if i := slices.Index(forms, file.TorchScript); err == nil && i >= 0 {
		c.weightsOnly("%s is a TorchScript archive: a program and its weights", paths[i])
	}
	return found, err
}

// torch looks at one file as closely as the level says.
func (l *look) torch(r io.ReaderAt, size int64) (file.Torch, error) {
	head := make([]byte, min(size, 32))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return 0, err
	}
	form, known := file.IsTorch(head)
	switch {
	case size > 0 && size < 4:
		return form, problem.New(problem.Truncated, "it has %d bytes", size)
	case !known:
		return form, problem.New(problem.BadZip, "it begins with % x: neither a zip nor a pickle", head[:min(8, len(head))])
	case form == file.TorchLegacy && l.Level >= Manifests:
		return form, file.TorchLegacyEnd(r, size)
	case form == file.PlainPickle:
		if l.Level < Manifests && file.PickleEnds(r, size) == nil {
			return form, nil
		}
		return form, file.Pickles(r, size)
	case form != file.TorchZip:
		return form, nil
	}
	z, err := file.OpenZip(r, size)
	if err != nil {
		return form, err
	}
	if l.Level >= Manifests || z.DirectorySize() <= maxEndsDirectory {
		form, err = file.TorchNames(z)
	}
	if err == nil && l.Level >= Manifests {
		err = file.TorchRecords(z)
	}
	if err == nil && l.Level >= Everything {
		err = file.VerifyZip(z, l.progress)
	}
	return form, err
}

// progress tells how much was read, and ends what reads when the time is over.
func (l *look) progress(n int) error {
	if l.Read != nil {
		l.Read(n)
	}
	return l.ctx.Err()
}

// endsWith reports whether there is such a file of torch's, and it is whole: what a save that was cut had come to the end of.
func (l *look) endsWith(name string) bool {
	return l.inside(name, func(r io.ReaderAt, size int64) error { _, err := l.torch(r, size); return err }) == nil
}

// inside opens a file for a check of what is in it, and names it in what that says.
func (l *look) inside(name string, check func(r io.ReaderAt, size int64) error) error {
	f, err := l.open(name)
	if err != nil {
		return err
	}
	defer f.close()
	err = check(watched{f, l.ctx}, f.size)
	if wrong, ok := errors.AsType[*problem.Error](err); ok {
		return problem.New(wrong.Reason, "%s: %s", name, wrong.Detail)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// watched reads until the time for the check is over.
type watched struct {
	io.ReaderAt
	ctx context.Context
}

func (w watched) ReadAt(b []byte, at int64) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.ReaderAt.ReadAt(b, at)
}
