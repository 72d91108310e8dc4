package format

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/file"
	"github.com/gangrun/gangrun/checkpoint/problem"
)

// orbaxMeta is what is known of a step.
type orbaxMeta struct {
	Handlers  json.RawMessage `json:"item_handlers"`
	Begun     int64           `json:"init_timestamp_nsecs"` // nanoseconds since 1970
	Committed int64           `json:"commit_timestamp_nsecs"`
}

// items lists the items that were saved, none when they are not known.
func (m orbaxMeta) items() []string {
	var handlers map[string]any
	if json.Unmarshal(m.Handlers, &handlers) != nil {
		return nil // a string, when the step is its only item
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(handlers)), func(name string) bool {
		return !under(name) || strings.Contains(name, "/")
	})
}

// orbaxJSONItems wants the items that are JSON to hold some: it stands in a file that a program may name, by itself
// "metadata" (JsonCheckpointHandler in orbax/checkpoint/_src/handlers).
func (l *look) orbaxJSONItems(d *dir, meta orbaxMeta) error {
	var handlers map[string]string
	if l.Level < Manifests || json.Unmarshal(meta.Handlers, &handlers) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		if !strings.HasSuffix(handlers[name], ".JsonCheckpointHandler") || !d.isDir(name) {
			continue
		}
		item, err := l.dir(d.join(name))
		if err != nil {
			return err
		}
		files := item.files(func(name string) bool {
			return name != orbaxCommitted && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".")
		})
		if len(files) == 0 {
			return problem.New(problem.MissingShard, "the item %s holds no JSON", item.path)
		}
		for _, name := range files {
			text, err := l.small(item.join(name), 0)
			if err != nil {
				return err
			}
			finite(text)
			if !json.Valid(text) {
				return problem.New(problem.BadJSON, "%s is no JSON", item.join(name))
			}
		}
	}
	return nil
}

// orbaxMetadata reads the file of the step. That it is empty, or not there, is nothing unusual.
func (l *look) orbaxMetadata(d *dir) (m orbaxMeta, err error) {
	if l.Level < Ends || !d.isFile(orbaxMetadata) {
		return m, nil
	}
	err = l.orbaxJSON(d.join(orbaxMetadata), &m)
	if p, wrong := errors.AsType[*problem.Error](err); wrong && p.Reason == problem.BadJSON {
		return orbaxMeta{}, nil // Orbax restores without it
	}
	return m, err
}

// orbaxJSON reads a file that may be empty: Orbax itself puts up with that.
func (l *look) orbaxJSON(name string, into any) error {
	text, err := l.small(name, 0)
	if err != nil || len(text) == 0 {
		return err
	}
	finite(text)
	if err := json.Unmarshal(text, into); err != nil {
		return problem.New(problem.BadJSON, "%s: %v", name, err)
	}
	return nil
}

// orbaxItems lists the directories of the items. single says that the step itself is the only one.
func (l *look) orbaxItems(d *dir) (items []*dir, single bool, err error) {
	if isOrbaxItem(d) {
		return []*dir{d}, true, nil
	}
	for _, name := range d.dirs(func(string) bool { return true }) {
		if strings.Contains(name, orbaxTemporary) {
			return nil, false, problem.New(problem.InProgress, "%s is renamed when it is written", d.join(name))
		}
		item, err := l.dir(d.join(name))
		if err != nil {
			return nil, false, err
		}
		items = append(items, item)
	}
	return items, false, nil
}

// orbaxItem looks at one item: a tree of arrays, or whatever a handler of the program's own writes.
func (l *look) orbaxItem(c *Checkpoint, item *dir) error {
	processes := item.dirs(func(name string) bool { _, ok := numbered(name, orbaxProcess, ""); return ok })
	c.ShardsFound += len(processes)
	var manifests []string
	if item.isFile(orbaxManifest) {
		manifests = append(manifests, item.join(orbaxManifest))
	} else if len(processes) > 0 {
		return problem.New(problem.NoMarker, "%s is missing: what %d processes wrote was not merged", item.join(orbaxManifest),
			len(processes))
	}
	if l.Level < Ends {
		return nil
	}
	// Those of the processes were merged into it, and are not read again.
	err := l.each(manifests, func(name string) error {
		return l.inside(name, func(r io.ReaderAt, size int64) error {
			return file.OCDBTManifest(r, size, l.Level >= Manifests)
		})
	})
	if err != nil {
		return err
	}
	if l.Level >= Manifests && item.isFile("_METADATA") {
		if _, err := l.parts(&Checkpoint{}, []string{item.join("_METADATA")}, false); err != nil {
			return err
		}
		var tree map[string]json.RawMessage
		if err := l.orbaxJSON(item.join("_METADATA"), &tree); err != nil {
			return err
		}
	}
	if l.Level >= Manifests {
		if err := l.orbaxData(item); err != nil {
			return err
		}
	}
	if l.Level < Manifests || !item.isDir(orbaxArrays) {
		return nil
	}
	arrays, err := l.dir(item.join(orbaxArrays))
	if err != nil {
		return err
	}
	for _, name := range arrays.files(func(name string) bool { return strings.HasPrefix(name, "process_") }) {
		text, err := l.small(arrays.join(name), 0)
		if err != nil {
			return err
		}
		if !json.Valid(text) {
			return problem.New(problem.BadJSON, "%s is no JSON", arrays.join(name))
		}
	}
	return nil
}
