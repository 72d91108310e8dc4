package objectstore

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxPages = 4096
	// flatPages and flatNames say how long to list a directory with everything below it: so many pages, as long as each
	// shows as many names of the directory itself. A checkpoint of 1,024 files in 100 directories takes 2 requests then
	// and not 101. A directory with 100 such checkpoints takes 2 and not 103: its first page shows 1 name, and the next
	// one asks for names only.
	flatPages = 10
	flatNames = 4
)

func (s *bucket) list(dir string) (*tree, error) {
	prefix := s.prefix
	if dir != "." {
		prefix += dir + "/"
	}
	t := newTree(dir)
	t.deep = true
	token := ""
	for n := 1; ; n++ {
		q := url.Values{"list-type": {"2"}, "encoding-type": {"url"}}
		if prefix != "" {
			q.Set("prefix", prefix)
		}
		if token != "" {
			q.Set("continuation-token", token)
		}
		if !t.deep {
			q.Set("delimiter", "/")
		}
		p, err := s.page(q)
		if err != nil {
			return nil, err
		}
		root := t.listings[dir]
		before := len(root.files) + len(root.dirs)
		if err := s.take(t, prefix, p); err != nil {
			return nil, err
		}
		if !p.truncated {
			break
		}
		if p.next == "" || p.next == token {
			return nil, fmt.Errorf("listing %s: page %d says that more follows, and not where", s.shown, n)
		}
		if n >= maxPages {
			return nil, fmt.Errorf("listing %s: more than %d pages", s.shown, maxPages)
		}
		token = p.next
		shown := len(root.files) + len(root.dirs) - before
		if t.deep && shown < len(p.objects) && (n >= flatPages || shown < flatNames) {
			t.shallow() // and again, names only
			token = ""
		}
	}
	if !t.deep {
		t.shallow()
	}
	return t, nil
}

// take adds the keys of a page.
func (s *bucket) take(t *tree, prefix string, p *page) error {
	for _, key := range p.prefixes {
		rel, ok := strings.CutPrefix(key, prefix)
		if !ok {
			return s.stranger(key, prefix)
		}
		if err := t.add(rel, nil); err != nil {
			return fmt.Errorf("listing %s: %w", s.shown, err)
		}
	}
	for i := range p.objects {
		l := &p.objects[i]
		rel, ok := strings.CutPrefix(l.key, prefix)
		if !ok {
			return s.stranger(l.key, prefix)
		}
		if err := t.add(rel, &object{size: l.size, modified: l.modified, version: l.tag}); err != nil {
			return fmt.Errorf("listing %s: %w", s.shown, err)
		}
	}
	return nil
}

func (s *bucket) stranger(key, prefix string) error {
	return fmt.Errorf("listing %s: the key %.80q came, keys below %.80q expected", s.shown, key, prefix)
}

func (s *bucket) page(query url.Values) (*page, error) {
	u, a, err := s.get("", query.Encode(), http.Header{}, whole(maxPageBytes))
	if err == nil {
		err = s.answered(a, true)
	}
	var p *page
	if err == nil {
		if p, err = parsePage(bytes.NewReader(a.body)); err != nil && a.isPage() {
			err = errPage
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s at %s: %w", s.shown, shown(u), err)
	}
	return p, nil
}
