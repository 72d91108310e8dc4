// Package checkpoint finds the checkpoints of a training run and says which of them it may resume from.
//
// What a checkpoint looks like, and whether one is whole, is package format's part. Here is what belongs to a directory
// as a whole: which checkpoints are worth a look, whose they are, what had been reached before, and what to do about
// those that must not be read. It knows nothing of processes and of other nodes.
package checkpoint

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gangrun/gangrun/checkpoint/format"
	"github.com/gangrun/gangrun/checkpoint/problem"
	"github.com/gangrun/gangrun/exitcodes/crash"
)

// How far a scan goes.
const (
	// depth is how many complete checkpoints of a series are verified, and all newer ones. The others are taken by the
	// names and sizes of their files; one that is chosen is verified before anything starts from it.
	depth = 3
	// maxLooks is how many of a series are verified whose files may say another step than their names; of those
	// without a step in their names, how many in all. Of these the youngest count, and a time that several share divides
	// none of them.
	maxLooks = 64
	// most is how many complete checkpoints of a series a node tells of. Nodes whose newest ones differ by more have been
	// apart.
	most = 16
	// DefaultTimeout is how long a look may take.
	DefaultTimeout = time.Minute
)

// Scanner looks at one tree again and again. It remembers what it has seen of checkpoints that have not changed. One
// goroutine at a time may use it.
type Scanner struct {
	FS fs.FS
	// Open, when set, opens the tree again for each look: what is far away is listed once for each.
	Open    func(context.Context) (fs.FS, error)
	Options format.Options // its Level is not used
	Timeout time.Duration  // of one look; 0 is DefaultTimeout
	// First, when set, reports whether a file was made by the save that wrote it last, as far as its file system tells.
	First func(path string) bool

	seen    map[string]seen
	pending chan scanned // of a look that did not come back in time: a file server hangs
}

// seen is a checkpoint as it was, and what a close look has shown.
type seen struct {
	quick  fingerprint
	result format.Checkpoint
}

// fingerprint changes when a checkpoint is written again.
type fingerprint struct {
	size, shards int64
	modified     time.Time
}

func fingerprintOf(c *format.Checkpoint) fingerprint {
	return fingerprint{c.Size, int64(c.ShardsFound), c.Modified}
}

// Scan is what a look has shown: checkpoints newest first, as far down as it took to find enough complete ones.
type Scan struct {
	Format      string
	Checkpoints []format.Checkpoint
	// More is set when there are older candidates that were not verified, and Older counts those of them whose names say
	// no step: only their times say that they are older.
	More  bool
	Older int
	// Below are the directories in which they were found, when those are further down, and Apart says that these are of
	// different writers.
	Below []string
	Apart bool
	// Unseen counts the directories further down that were not searched.
	Unseen int
	// Others are the names of what is not understood.
	Others []string
	// Missing is set when there is no such directory.
	Missing bool
}

// tally counts checkpoints of one series: those that are whole and may be resumed from, and those verified.
type tally struct{ complete, looked int }

type scanned struct {
	scan Scan
	err  error
	seen map[string]seen
}

// Scan looks, and closely at the checkpoints of these paths, however old. The error is a [problem.Error]. It says that
// it is unknown what exists, and never that nothing does: a tree that does not exist, or that holds nothing of a known
// format, has no checkpoints. A system call that hangs cannot be ended; then the look is over after its time all the
// same, and the next one waits for the first.
func (s *Scanner) Scan(ctx context.Context, closely ...string) (Scan, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, DefaultTimeout))
	defer cancel()
	for {
		own := s.pending == nil
		if own {
			pending, known := make(chan scanned, 1), s.seen
			crash.Go(func() { pending <- s.look(ctx, known, closely) })
			s.pending = pending
		}
		r, ok := s.await(ctx)
		switch {
		case !ok:
			return Scan{}, problem.New(problem.CheckTimeout, "the file system does not answer")
		case r.err == nil:
			s.seen = r.seen
		}
		if own {
			return r.scan, r.err
		}
	}
}

// await waits for the look that is under way. What can end with the context ends at once; the rest is stuck in the kernel.
func (s *Scanner) await(ctx context.Context) (scanned, bool) {
	select {
	case r := <-s.pending:
		s.pending = nil
		return r, true
	case <-ctx.Done():
	}
	hung := time.NewTimer(time.Second)
	defer hung.Stop()
	select {
	case r := <-s.pending:
		s.pending = nil
		return r, true
	case <-hung.C:
		return scanned{}, false
	}
}

func (s *Scanner) look(ctx context.Context, known map[string]seen, closely []string) scanned {
	fsys, o := s.FS, s.Options
	o.Unpacked = new(atomic.Int64)
	if s.Open != nil {
		var err error
		if fsys, err = s.Open(ctx); err != nil {
			return scanned{err: problem.Of(err, problem.IOError)}
		}
	}
	var layers []scanned
	n, cs, err := Survey(ctx, fsys, o, func(found format.Found) []format.Checkpoint {
		layers = append(layers, s.verify(ctx, fsys, o, found, known, closely))
		return layers[len(layers)-1].scan.Checkpoints
	})
	if err != nil {
		if p := problem.Of(err, problem.NoMarker); p.Reason != problem.NoMarker {
			return scanned{err: p}
		}
		return scanned{scan: Scan{Missing: true}}
	}
	r := layers[n]
	r.scan.Checkpoints = cs
	for _, other := range layers {
		maps.Copy(r.seen, other.seen)
	}
	slices.SortStableFunc(r.scan.Checkpoints, newestFirst)
	return r
}

// verify looks closely at what was found, as far down as it takes to have enough that is whole.
func (s *Scanner) verify(ctx context.Context, fsys fs.FS, o format.Options, found format.Found, known map[string]seen, closely []string) scanned {
	r := scanned{
		scan: Scan{Format: found.Format, Below: found.Below, Apart: found.Apart, Unseen: found.Unseen, Others: found.Others},
		seen: make(map[string]seen),
	}
	o.Level = format.Names
	for _, c := range found.Checkpoints {
		if c.Step < 0 {
			format.Check(ctx, fsys, c, o) // for its time
		}
	}
	slices.SortStableFunc(found.Checkpoints, func(a, b *format.Checkpoint) int { return newestFirst(*a, *b) })
	of := map[string]*tally{}
	complete, stepless := 0, tally{}
	var youngest time.Time // of those without a step that were verified, the last
	for _, c := range found.Checkpoints {
		x := of[c.Series()]
		if x == nil {
			x = &tally{}
			of[c.Series()] = x
		}
		if c.Step >= 0 {
			if x.complete >= most {
				r.scan.More = true
				continue
			}
			o.Level = format.Names
			format.Check(ctx, fsys, c, o)
		} else {
			x = &stepless
			if x.looked >= maxLooks && complete > 0 && c.Modified.Before(youngest) {
				r.scan.More = true
				r.scan.Older++
				continue
			}
		}
		named := c.Step >= 0
		if c.Complete {
			quick := fingerprintOf(c)
			k, cached := known[c.Path]
			switch {
			case cached && k.quick == quick:
				*c = k.result
				r.seen[c.Path] = k
			case !named || x.complete < depth || c.SaysOwnStep() && x.looked < maxLooks || slices.Contains(closely, c.Path):
				o.Level = format.Manifests
				format.Check(ctx, fsys, c, o)
				if !c.Reason.Unknown() {
					r.seen[c.Path] = seen{quick, *c}
				}
				if named {
					x.looked++ // what is remembered costs nothing
				}
			}
			if !named {
				x.looked++
				youngest = quick.modified
			}
		}
		if c.Complete && c.Resumable {
			complete++
			x.complete++
		}
		c.First = c.InPlace && s.First != nil && s.First(c.Path)
		r.scan.Checkpoints = append(r.scan.Checkpoints, *c)
	}
	all := make([]*format.Checkpoint, len(r.scan.Checkpoints))
	for i := range all {
		all[i] = &r.scan.Checkpoints[i]
	}
	format.Together(all)
	return r
}
