package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/internal/words"
)

// Directory is where a job keeps its checkpoints, as one node sees it. One goroutine at a time may use it.
type Directory struct {
	Scanner Scanner
	Policy  Policy
	// Name is what the user calls it, a path or a URL. Path is set for one on this machine: only there anything is
	// written. Elsewhere Within makes what a worker needs out of a path in the tree.
	Name, Path string
	Within     func(path string) string
	// Quarantine moves aside what must not be read.
	Quarantine bool
	// Own says that the training finds its state by itself: then nothing in the directory is changed.
	Own bool
	Log *slog.Logger

	scan      Scan
	fresh     string         // why the last look has found nothing to resume from
	memory    *History       // nil before the first look
	forgotten *problem.Error // why the memory of an earlier run is corrupt
	unwritten bool           // it was said that the memory cannot be written
	said      map[string]bool
	closes    *closes // what was written in the directory since the first round, nil before
}

// first reports whether a file has never been whole, as far as can be told.
func (d *Directory) first(path string) bool {
	if first, known := d.closes.first(path); known {
		return first
	}
	return FirstSave(d.Path, path)
}

// Report is what a node knows of its checkpoints.
type Report struct {
	Offer
	// Reached is the highest step of which this run has had a complete checkpoint here, nil when none is known of.
	Reached *int64
	// Newest is the one that Steps or Identities begin with, nil when there is none.
	Newest *format.Checkpoint
	// Empty says that there is nothing at all that may be a checkpoint.
	Empty bool
}

// Look reads the directory now. The error says that its state is unknown, and is a [problem.Error].
func (d *Directory) Look(ctx context.Context, run Run) (Report, error) {
	if d.memory == nil {
		if err := d.recall(); err != nil {
			return Report{}, err
		}
	}
	if d.Path != "" {
		d.Scanner.First = d.first
	}
	scan, err := d.Scanner.Scan(ctx)
	if err != nil {
		return Report{}, err
	}
	offer, err := d.Policy.Offer(scan, *d.memory, run, time.Now())
	if err != nil {
		return Report{}, err
	}
	d.scan, d.fresh = scan, cmp.Or(offer.Fresh, nothing(scan, d.Policy.Ways.Pattern))
	if len(scan.Below) > 0 && !scan.Apart {
		d.once("no checkpoint in the directory itself; those below it are used", "dir", d.Name, "in", strings.Join(scan.Below, ", "))
	}
	for _, w := range offer.Warnings {
		d.once(w)
	}
	for _, c := range offer.Refused {
		of := []any{"path", c.Path}
		if c.Step >= 0 {
			of = append(of, "step", c.Step)
		}
		d.once("checkpoint passed over", append(of, "reason", string(c.Reason), "why", c.Detail)...)
	}
	r := Report{Offer: offer, Empty: len(scan.Checkpoints) == 0}
	if d.forgotten != nil && len(r.Steps)+len(r.Identities) == 0 {
		r.Veto = d.forgotten // there may have been progress
	}
	if first := offer.First(); !first.Fresh() {
		r.Newest = d.Policy.At(scan, *d.memory, first)
	}
	if run.UID != "" && d.memory.UID == run.UID { // what another run had reached says nothing about this one
		d.remember(d.memory.Observed(offer.Steps, offer.Identities))
		r.Reached = d.memory.Reached
	}
	return r, nil
}

// nothing says that there are no checkpoints.
func nothing(s Scan, pattern string) string {
	const most = 5
	switch {
	case s.Missing:
		return "there is no such directory"
	case len(s.Checkpoints) > 0:
		return "what is there is no state to resume from"
	case len(s.Others) > most:
		return then(fmt.Sprintf("nothing in it has a known format (%s and %d more)", strings.Join(s.Others[:most], ", "), len(s.Others)-most), pattern)
	case len(s.Others) > 0:
		return then(fmt.Sprintf("nothing in it has a known format (%s)", strings.Join(s.Others, ", ")), pattern)
	}
	return "the directory is empty"
}

// recall reads the memory. There is none in a tree in which nothing can be written. One that is corrupt is left as
// it is, and no new one is begun beside it.
func (d *Directory) recall() error {
	d.memory = &History{}
	if d.Path == "" {
		return nil
	}
	m, err := ReadHistory(d.Scanner.FS)
	if err != nil {
		p := problem.Of(err, problem.IOError)
		if p.Reason.Unknown() {
			d.memory = nil
			return p
		}
		d.forgotten = p
		d.Log.Error("the record of an earlier run beside the checkpoints is corrupt; remove it if it is of no use", "err", p)
		return nil
	}
	d.memory = &m
	return nil
}

// Begin prepares a round that resumes from a checkpoint, or from nothing: it looks closely at the checkpoint once more,
// sets aside what is newer, makes the framework's pointer name it, and remembers. It returns the checkpoint, nil when
// there is none, and says which it is. The error is a [problem.Error].
func (d *Directory) Begin(ctx context.Context, run Run, from From) (*format.Checkpoint, error) {
	if d.memory == nil {
		if _, err := d.Look(ctx, run); err != nil {
			return nil, err
		}
	}
	if d.Path != "" && d.closes == nil {
		d.closes = watchCloses(d.Path)
	}
	if from.Fresh() {
		d.sayFresh(from.Why)
		if from.Why != "" && !d.Own {
			d.aside(nil)
		}
		d.remember(d.memory.Begin(run, from, d.scan))
		return nil, nil
	}
	c := d.Policy.At(d.scan, *d.memory, from)
	if c == nil {
		return nil, problem.New(problem.NoMarker, "%v is not in %s any more", from, d.Name)
	}
	scan, err := d.Scanner.Scan(ctx, c.Path)
	if err != nil {
		return nil, err
	}
	d.scan = scan
	chosen := d.Policy.At(scan, *d.memory, from)
	if chosen == nil {
		return nil, d.lost(from, c.Path)
	}
	if !d.Own {
		d.aside(chosen)
	}
	if d.Path != "" && !d.Own {
		was, err := repoint(d.Path, *chosen)
		if err != nil {
			return nil, problem.Of(fmt.Errorf("making %s the one that is read: %w", chosen.Path, err), problem.IOError)
		}
		switch was {
		case "":
		case noPointer:
			d.Log.Warn("the file by which the framework finds its newest checkpoint is missing, and was made", "names", chosen.Tag)
		default:
			d.Log.Warn("the framework's pointer named another checkpoint", "was", was, "now", chosen.Tag)
		}
	}
	d.remember(d.memory.Begin(run, from, d.scan))
	return chosen, nil
}

// sayFresh says why a round starts from nothing. An empty directory before the first round is as it should be.
func (d *Directory) sayFresh(decided string) {
	why := cmp.Or(decided, d.fresh, "the directory is empty")
	if len(d.scan.Checkpoints) == 0 && len(d.scan.Others) == 0 && !d.scan.Missing && d.memory.UID == "" {
		d.Log.Info("no checkpoint found; starting fresh", "dir", d.Name, "why", why)
		return
	}
	d.Log.Warn("found no checkpoint to resume from; starting fresh", "dir", d.Name, "why", why)
}

// lost says what has become of a checkpoint that was offered.
func (d *Directory) lost(from From, path string) error {
	for _, c := range d.scan.Checkpoints {
		if c.Path == path && c.Reason != "" {
			return problem.New(c.Reason, "%s: %s", c.Path, c.Detail)
		}
	}
	return problem.New(problem.NoMarker, "%v, %s, has gone", from, path)
}

// aside moves away what the framework could take instead of the one that was chosen, or write over: what is newer, nil
// standing for the start. What is unknown stays, and so does a pointer that leads nowhere.
func (d *Directory) aside(chosen *format.Checkpoint) {
	for _, c := range d.scan.Checkpoints {
		pointer := c.Reason == problem.PointerDangling || c.Reason == problem.PointerMalformed
		newer := c.Step >= 0
		if chosen != nil {
			newer = chosen.Step >= 0 && c.Step > chosen.Step && c.Unit == chosen.Unit
		}
		if !newer || c.Reason.Unknown() || pointer {
			continue
		}
		reason := cmp.Or(string(c.Reason), "it is whole here, and an earlier one was chosen")
		if !d.Quarantine || d.Path == "" {
			d.once("a newer checkpoint stays where it is; the framework may take it",
				"path", c.Path, "reason", reason, "setting", words.SettingQuarantine)
			continue
		}
		moved, err := quarantine(d.Path, c, time.Now())
		if err != nil {
			d.Log.Error("cannot move a checkpoint aside", "path", c.Path, "err", err)
		}
		if moved {
			d.Log.Warn("moved a checkpoint aside", "path", c.Path, "to", path.Join(QuarantineDir, c.Path), "reason", reason)
		}
	}
}

// remember keeps the memory, beside the checkpoints too where that can be.
func (d *Directory) remember(m History) {
	if sameHistory(*d.memory, m) {
		return
	}
	d.memory = &m
	if d.Path == "" || d.forgotten != nil {
		return
	}
	if _, err := os.Stat(d.Path); errors.Is(err, fs.ErrNotExist) {
		return // the training makes it when it saves first
	}
	if err := m.write(d.Path); err != nil && !d.unwritten {
		d.unwritten = true
		d.Log.Warn("cannot keep beside the checkpoints how far training has come", "err", err)
	}
}

// once logs something that stays true for a long time.
func (d *Directory) once(msg string, args ...any) {
	key := msg + fmt.Sprint(args...)
	if d.said[key] || len(d.said) > 1000 {
		return
	}
	if d.said == nil {
		d.said = make(map[string]bool)
	}
	d.said[key] = true
	d.Log.Warn(msg, args...)
}

// Handed is the path and the root of a checkpoint as a worker needs them.
func (d *Directory) Handed(c *format.Checkpoint) (full, root string) {
	if d.Path == "" {
		return d.Within(c.Path), d.Within(c.Root)
	}
	return filepath.Join(d.Path, filepath.FromSlash(c.Path)), filepath.Join(d.Path, filepath.FromSlash(c.Root))
}

// Unknown reports whether an error of this package says that the state is unknown, so that asking again may help.
func Unknown(err error) bool {
	p, ok := errors.AsType[*problem.Error](err)
	return !ok || p.Reason.Unknown()
}
