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
)

// marked takes the time of the marker, the file that is written last, and compares those of what is written before it.
func (l *look) marked(c *Checkpoint, marker string, at time.Time, before []part) error {
	c.Modified, c.ModifiedFrom = at, ModifiedMarker
	return l.inOrder(c, marker, at, before)
}

// inOrder looks whether a save over an earlier one was cut: then a part is younger than the marker, which is the
// earlier save's. So it is in a copy too, and where a script has added something. It is proof where the part was there
// when the marker was written, and what was made then was not still being written: else it is a doubt, and no more.
func (l *look) inOrder(c *Checkpoint, marker string, at time.Time, before []part) error {
	for _, p := range before {
		if !p.mod.After(at.Add(slack)) {
			continue
		}
		age := p.mod.Sub(at).Round(time.Second)
		made, known := l.made(p.path)
		writing := oneWrite + time.Duration(float64(p.size)/writeSpeed*float64(time.Second))
		if known && !made.After(at) && p.mod.Sub(made) > writing {
			return problem.New(problem.OverwriteInProgress,
				"%s had been there before %s, which is written after it, and is %v younger: a save over an earlier one was cut "+
					"(if it was not, touch %[2]s)", p.path, marker, age)
		}
		if c.Doubt == "" {
			c.Doubt = fmt.Sprintf("%s is %v younger than %s, which is written after it: a copy, or a save over an earlier "+
				"one that was cut", p.path, age, marker)
		}
	}
	return nil
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
