package format

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/problem"
)

// custom is checkpoints of no known format, of which the user says what they look like.
var custom = kind{name: "custom", find: findCustom, check: checkCustom, movable: true}

func findCustom(l *look, root *dir) (found []*Checkpoint, err error) {
	if l.Rule == nil {
		return nil, nil
	}
	if err := l.Rule.Valid(); err != nil {
		return nil, problem.New(problem.UnknownFormat, "the rule for checkpoints: %v", err)
	}
	names := root.names
	first, second, below := strings.Cut(l.Rule.Glob, "/")
	for _, name := range names {
		if ok, _ := path.Match(first, name); !ok || name == quarantined {
			continue
		}
		if !below {
			found = append(found, l.Rule.candidate(root, name))
			continue
		}
		if !root.isDir(name) {
			continue
		}
		d, err := l.dir(root.join(name))
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, of := range d.names {
			if ok, _ := path.Match(second, of); ok {
				found = append(found, l.Rule.candidate(root, path.Join(name, of)))
			}
		}
	}
	// The marker of a file is beside it, and may match as well.
	if l.Rule.Marker != "" {
		all := map[string]bool{}
		for _, c := range found {
			all[c.Path] = true
		}
		found = slices.DeleteFunc(found, func(c *Checkpoint) bool {
			of, isMarker := strings.CutSuffix(c.Path, l.Rule.Marker)
			return isMarker && all[of]
		})
	}
	return found, nil
}

func (r *Rule) candidate(root *dir, name string) *Checkpoint {
	c := &Checkpoint{Path: root.join(name), Tag: name, Step: -1}
	if r.Step == nil {
		return c
	}
	if groups := r.Step.FindStringSubmatch(name); len(groups) > 1 {
		if step, ok := digits(groups[1]); ok {
			c.Step, c.StepFrom = step, StepFromName
		}
	}
	return c
}

// maxDepth bounds how far below a checkpoint of no known format its files are looked for.
const maxDepth = 8

func checkCustom(l *look, c *Checkpoint) error {
	if l.Rule == nil {
		return problem.New(problem.UnknownFormat, "there is no rule for checkpoints of no known format")
	}
	if isTemporary(path.Base(c.Path)) {
		return problem.New(problem.InProgress, "%s has the name of what is being written", c.Path)
	}
	info, err := l.stat(c.Path)
	if err != nil {
		return err
	}
	paths, marker := []string{c.Path}, ""
	if l.Rule.Marker != "" {
		marker = c.Path + l.Rule.Marker
	}
	if info.IsDir() {
		if paths, err = l.below(c.Path, maxDepth); err != nil {
			return err
		}
		if marker != "" {
			marker = path.Join(c.Path, l.Rule.Marker)
		}
		paths = slices.DeleteFunc(paths, func(name string) bool { return name == marker })
	}
	if len(paths) == 0 {
		return problem.New(problem.MissingShard, "%s holds no files", c.Path)
	}
	// What a file of unknown use may be, is empty too.
	found, err := l.parts(c, paths, info.IsDir())
	if err != nil {
		return err
	}
	c.ShardsFound = len(paths)
	if c.Size == 0 {
		return problem.New(problem.EmptyFile, "%s has no bytes in its %d files", c.Path, len(paths))
	}
	if c.Basis = BasisHeuristic; marker != "" {
		c.Basis = BasisMarker
		at, err := l.stat(marker)
		if errors.Is(err, fs.ErrNotExist) {
			return problem.New(problem.NoMarker, "%s is missing, which is written last", marker)
		}
		if err != nil {
			return err
		}
		if err := l.marked(c, marker, at.ModTime(), found); err != nil {
			return err
		}
	}
	known, err := l.knownStructure(paths)
	if known && err == nil && marker == "" {
		c.Basis = BasisStructure
	}
	return err
}

// knownStructure looks at the files whose structure their names tell, and reports whether they all do.
func (l *look) knownStructure(paths []string) (all bool, err error) {
	var torch, safetensors []string
	for _, name := range paths {
		switch path.Ext(name) {
		case ".pt", ".pth":
			torch = append(torch, name)
		case ".safetensors":
			safetensors = append(safetensors, name)
		}
	}
	var counted Checkpoint // they are counted already
	if _, err := checkTorchAll(l, &counted, torch); err != nil {
		return false, err
	}
	if len(safetensors) > 0 {
		if err := checkSafetensors(l, &counted, safetensors); err != nil {
			return false, err
		}
	}
	return len(torch)+len(safetensors) == len(paths), nil
}

// below lists the regular files in a directory and the ones in it.
func (l *look) below(name string, depth int) (paths []string, err error) {
	d, err := l.dir(name)
	if err != nil {
		return nil, err
	}
	for _, name := range d.names {
		switch {
		case d.isFile(name):
			paths = append(paths, d.join(name))
		case d.isDir(name):
			if depth == 0 {
				return nil, problem.New(problem.UnknownFormat, "%s: more than %d directories deep", d.join(name), maxDepth)
			}
			more, err := l.below(d.join(name), depth-1)
			if err != nil {
				return nil, err
			}
			paths = append(paths, more...)
		}
		if len(paths) > maxEntries {
			return nil, problem.New(problem.UnknownFormat, "%s: more than %d files", d.path, maxEntries)
		}
	}
	return paths, nil
}

// isGone reports whether something was there a moment ago, or is no directory any more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
