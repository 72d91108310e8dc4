package format

import (
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

const (
	// slack is how much younger than the marker a part may be: clocks of several clients of a file server differ.
	slack = 2 * time.Second
	// A file is written in oneWrite at most, and its bytes at writeSpeed, in bytes a second.
	oneWrite   = 10 * time.Second
	writeSpeed = 50 << 20
	// betweenSaves passes at least between two saves, and not between two files of a copy.
	betweenSaves = time.Minute
)

// marked takes the time of the marker, the file that is written last, and compares those of what is written before it.
func (l *look) marked(c *Checkpoint, marker string, at time.Time, before []part) error {
	c.Modified, c.ModifiedFrom = at, ModifiedMarker
	return l.inOrder(c, marker, at, before)
}

// inOrder looks whether a save over an earlier one was cut: then a part is younger than the marker, which is the
// earlier save's. So it is in a copy too, and where a script has added something. It is proof where the part was there
// when the marker was written, and what was made then was not still being written; or, of libraries that replace each
// file by a new one, where nothing was made for longer after the marker than copying all would take. Else it is a doubt,
// and no more.
func (l *look) inOrder(c *Checkpoint, marker string, at time.Time, before []part) error {
	var younger []part
	var size int64
	for _, p := range before {
		size += p.size
		if p.mod.After(at.Add(slack)) {
			younger = append(younger, p)
		}
	}
	if len(younger) == 0 {
		return nil
	}
	anew := l.writtenNow(marker, at)
	var first time.Time // that a part was made again
	for _, p := range younger {
		made, known := l.made(p.path)
		if known && !made.After(at) && p.mod.Sub(made) > writing(p.size) {
			return problem.New(problem.OverwriteInProgress,
				"%s had been there before %s, which is written after it, and is %v younger: a save over an earlier one was cut "+
					"(if it was not, touch %[2]s)", p.path, marker, p.mod.Sub(at).Round(time.Second))
		}
		anew = anew && known && !made.After(p.mod)
		if first.IsZero() || made.Before(first) {
			first = made
		}
	}
	if pause := first.Sub(at); anew && pause > betweenSaves+writing(size) {
		return problem.New(problem.OverwriteInProgress,
			"%s was made anew %v after %s, which is written after it: a save over an earlier one was cut "+
				"(if it was not, touch %[3]s)", younger[0].path, pause.Round(time.Second), marker)
	}
	if c.Doubt == "" {
		c.Doubt = fmt.Sprintf("%s is %v younger than %s, which is written after it: a copy, or a save over an earlier "+
			"one that was cut", younger[0].path, younger[0].mod.Sub(at).Round(time.Second), marker)
	}
	return nil
}

// writing is how long it takes at most to write a file of that many bytes.
func writing(size int64) time.Duration {
	return oneWrite + time.Duration(float64(size)/writeSpeed*float64(time.Second))
}

// writtenNow reports whether a file has the time at which it was written, and not that of what it is a copy of.
func (l *look) writtenNow(name string, mod time.Time) bool {
	made, known := l.made(name)
	return known && !made.After(mod)
}

// madeFS is a tree that knows when a file was made.
type madeFS interface {
	Made(name string) (time.Time, bool)
}

// made is when a file was made, as far as its file system tells. Writing over a file keeps that time. Object stores and
// many file servers do not have it.
func (l *look) made(name string) (time.Time, bool) {
	if m, ok := l.fsys.(madeFS); ok {
		return m.Made(name)
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return time.Time{}, false
	}
	defer func() { _ = f.Close() }()
	return madeOf(f)
}

func madeOf(f fs.File) (time.Time, bool) {
	local, ok := f.(interface{ Fd() uintptr })
	if !ok {
		return time.Time{}, false
	}
	var s unix.Statx_t
	err := unix.Statx(int(local.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &s)
	return time.Unix(s.Btime.Sec, int64(s.Btime.Nsec)), err == nil && s.Mask&unix.STATX_BTIME != 0
}
