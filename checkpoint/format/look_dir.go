package format

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// dir is what one directory holds, by name.
type dir struct {
	path  string
	names []string // sorted
	kinds map[string]fs.FileMode
	links []string // those that are symbolic links, whatever they lead to
}

// without is the directory but for some of its entries.
func (d *dir) without(leave func(name string) bool) *dir {
	if !slices.ContainsFunc(d.names, leave) {
		return d
	}
	rest := &dir{path: d.path, kinds: make(map[string]fs.FileMode, len(d.names)), links: d.links}
	for _, name := range d.names {
		if !leave(name) {
			rest.names, rest.kinds[name] = append(rest.names, name), d.kinds[name]
		}
	}
	return rest
}

// dir reads a directory. Symbolic links count as what they lead to.
func (l *look) dir(name string) (*dir, error) {
	l.mu.Lock()
	d, found := l.dirs[name]
	l.mu.Unlock()
	if found {
		return d, nil
	}
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	d = &dir{path: name}
	for {
		entries, err := r.ReadDir(2048)
		if d.names = slices.Grow(d.names, len(entries)); d.kinds == nil {
			d.kinds = make(map[string]fs.FileMode, len(entries)) // most are read at once
		}
		for _, e := range entries {
			if l.ignored(name, e.Name()) {
				continue
			}
			kind := e.Type()
			if kind&fs.ModeSymlink != 0 {
				d.links = append(d.links, e.Name())
				info, err := fs.Stat(l.fsys, path.Join(name, e.Name()))
				if err == nil {
					kind = info.Mode().Type()
				} // else it leads nowhere, and stays a link
			}
			d.names = append(d.names, e.Name())
			d.kinds[e.Name()] = kind
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(d.names) > maxEntries {
			return nil, problem.New(problem.UnknownFormat, "%s: more than %d entries", name, maxEntries)
		}
		if err := l.ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.Sort(d.names)
	l.mu.Lock()
	l.dirs[name] = d
	l.mu.Unlock()
	return d, nil
}

// ignored reports whether the user has said that an entry does not count.
func (l *look) ignored(dir, name string) bool {
	return slices.ContainsFunc(l.Ignore, func(pattern string) bool {
		byName, _ := path.Match(pattern, name)
		byPath, _ := path.Match(pattern, path.Join(dir, name))
		return byName || byPath
	})
}

// has reports whether there is an entry of this name, of whatever kind.
func (d *dir) has(name string) bool {
	_, found := d.kinds[name]
	return found
}

func (d *dir) isDir(name string) bool { return d.kinds[name].IsDir() }

// isFile reports whether there is a regular file of this name, or a link to one.
func (d *dir) isFile(name string) bool { return d.has(name) && d.kinds[name].IsRegular() }

// join is the path of an entry.
func (d *dir) join(name string) string { return path.Join(d.path, name) }

// files lists the regular files whose names match, sorted.
func (d *dir) files(match func(name string) bool) (names []string) {
	for _, name := range d.names {
		if d.isFile(name) && match(name) {
			names = append(names, name)
		}
	}
	return names
}

// dirs lists the directories whose names match, sorted.
func (d *dir) dirs(match func(name string) bool) (names []string) {
	for _, name := range d.names {
		if d.isDir(name) && match(name) {
			names = append(names, name)
		}
	}
	return names
}
