package objectstore

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// object is a file as it was listed.
type object struct {
	size     int64
	modified time.Time
	from     *url.URL // where a manifest says that it is

	mu      sync.Mutex
	version string // the entity tag, or what else tells one content from another; learned by the first read if not listed
}

// listing is what one directory holds. Where a store has both a file and a directory of one name, the directory counts.
type listing struct {
	files map[string]*object
	dirs  map[string]bool
}

func newListing() *listing { return &listing{make(map[string]*object), make(map[string]bool)} }

// names are sorted.
func (f *listing) names() []string {
	names := slices.AppendSeq(make([]string, 0, len(f.files)+len(f.dirs)), maps.Keys(f.dirs))
	for name := range f.files {
		if !f.dirs[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tree is made of the keys of one listing.
type tree struct {
	base     string              // the directory that was listed
	exists   bool                // there was a key
	deep     bool                // what is below the directories of base is known too
	listings map[string]*listing // by their paths, base among them
	entries  int

	lastPath string // keys come sorted: most are in the directory of the one before
	last     *listing
}

func newTree(base string) *tree {
	root := newListing()
	return &tree{base: base, listings: map[string]*listing{base: root}, lastPath: "", last: root}
}

// count bounds the memory that a hostile store can take.
func (t *tree) count() error {
	if t.entries++; t.entries > maxEntries {
		return fmt.Errorf("more than %d files and directories", maxEntries)
	}
	return nil
}

// add takes a key, without the prefix of the base. One that ends in a slash stands for a directory: programs make such
// objects for directories that are empty. A key that no path can name ("a//b", "../x") is left out, but the directories
// before that point are there.
func (t *tree) add(rel string, o *object) error {
	t.exists = true
	dir, name := "", rel
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir, name = rel[:i], rel[i+1:]
		if dir == "" {
			return nil
		}
	}
	into := t.last
	if dir != t.lastPath {
		var ok bool
		var err error
		if into, ok, err = t.mkdir(dir); err != nil || !ok {
			return err
		}
		t.lastPath, t.last = dir, into
	}
	if !isName(name) || o == nil {
		return nil
	}
	if into.files[name] == nil {
		if err := t.count(); err != nil {
			return err
		}
	}
	into.files[name] = o
	return nil
}

// mkdir makes a directory below the base, as far as its path can be one.
func (t *tree) mkdir(dir string) (*listing, bool, error) {
	at, parent := t.base, t.listings[t.base]
	if dir == "" {
		return parent, true, nil
	}
	for name := range strings.SplitSeq(dir, "/") {
		if !isName(name) {
			return nil, false, nil
		}
		at = path.Join(at, name)
		parent.dirs[name] = true
		next := t.listings[at]
		if next == nil {
			if err := t.count(); err != nil {
				return nil, false, err
			}
			next = newListing()
			t.listings[at] = next
		}
		parent = next
	}
	return parent, true, nil
}

// shallow forgets what is below the directories of the base.
func (t *tree) shallow() {
	root := t.listings[t.base]
	t.listings = map[string]*listing{t.base: root}
	t.entries = len(root.files) + len(root.dirs)
	t.lastPath, t.last = "", root
	t.deep = false
}

func isName(s string) bool { return fs.ValidPath(s) && s != "." && !strings.Contains(s, "/") }
