package objectstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const maxManifest = 64 << 20

// ManifestFile is one file of a manifest, the JSON document that says what files there are, where a web server has no listing
// that programs can read:
//
//	{"files": [
//	  {"path": "step-100/model.safetensors", "size": 1048576, "modified": "2026-01-02T03:04:05Z"},
//	  {"path": "step-100/optimizer.pt", "size": 2097152, "url": "https://bucket.example/key?X-Amz-Signature=..."}
//	]}
//
// Whoever writes it writes it last, by one PUT or a rename: it is the truth about what is there. Other keys are ignored.
type ManifestFile struct {
	// Path is where the file is in the checkpoint directory: relative, with slashes, without "." and "..".
	Path string `json:"path"`
	// Size is in bytes, and has to be there.
	Size *int64 `json:"size"`
	// Modified is a time of RFC 3339. Without it, what compares ages has nothing to compare.
	Modified time.Time `json:"modified,omitzero"`
	// URL is where the file is read from, relative to the manifest's own: http or https, presigned or not. By default it
	// is Path, beside the manifest.
	URL string `json:"url,omitempty"`
}

// parseManifest reads a manifest that came from base.
func parseManifest(r io.Reader, base *url.URL) (*tree, error) {
	t := newTree(".")
	t.exists, t.deep = true, true
	d := json.NewDecoder(r)
	if err := expect(d, json.Delim('{')); err != nil {
		return nil, err
	}
	seen := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		if key != "files" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, notJSON(err)
			}
			continue
		}
		if seen {
			return nil, errors.New(`"files" is there twice`)
		}
		seen = true
		if err := expect(d, json.Delim('[')); err != nil {
			return nil, err
		}
		for n := 0; d.More(); n++ {
			var f ManifestFile
			if err := d.Decode(&f); err != nil {
				return nil, fmt.Errorf("files[%d]: %w", n, notJSON(err))
			}
			if err := t.addFile(f, base); err != nil {
				return nil, fmt.Errorf("files[%d]: %w", n, err)
			}
		}
		if err := expect(d, json.Delim(']')); err != nil {
			return nil, err
		}
	}
	if err := expect(d, json.Delim('}')); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	if !seen {
		return nil, errors.New(`not a manifest: it has no "files"`)
	}
	return t, nil
}

func notJSON(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return errors.New("not a manifest in JSON: " + clean(err.Error(), 240))
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return notJSON(err)
	}
	if token != want {
		return fmt.Errorf("not a manifest: %v found where %v is expected", clean(fmt.Sprint(token), 40), want)
	}
	return nil
}

// addFile takes a file. What is merely left out of the listing of a store is a mistake in a manifest.
func (t *tree) addFile(f ManifestFile, base *url.URL) error {
	switch {
	case !fs.ValidPath(f.Path) || f.Path == "." || len(f.Path) > maxKey:
		return fmt.Errorf("the path %.80q is not one below the manifest", f.Path)
	case f.Size == nil:
		return fmt.Errorf("%s has no size", f.Path)
	case *f.Size < 0:
		return fmt.Errorf("%s has the size %d", f.Path, *f.Size)
	}
	ref := &url.URL{Path: f.Path}
	if strings.Contains(strings.SplitN(f.Path, "/", 2)[0], ":") {
		ref.Path = "./" + f.Path // or it would read as a scheme
	}
	if f.URL != "" {
		u, err := url.Parse(f.URL)
		if err != nil {
			return fmt.Errorf("the url of %s is malformed", f.Path) // and may carry a signature
		}
		ref = u
	}
	from := base.ResolveReference(ref)
	if (from.Scheme != "http" && from.Scheme != "https") || from.Host == "" {
		return fmt.Errorf("the url of %s is of the scheme %.20q, https or http expected", f.Path, from.Scheme)
	}
	from.Fragment = ""

	entries := t.entries
	if err := t.add(f.Path, &object{size: *f.Size, modified: f.Modified, from: from}); err != nil {
		return err
	}
	dir, name := "", f.Path
	if i := strings.LastIndexByte(f.Path, '/'); i >= 0 {
		dir, name = f.Path[:i], f.Path[i+1:]
	}
	if t.entries == entries {
		return fmt.Errorf("%s is there twice", f.Path)
	}
	if t.last.dirs[name] || t.clash(dir) {
		return fmt.Errorf("%s is both a file and a directory, or is below a file", f.Path)
	}
	return nil
}

// clash reports whether a directory, or one above it, is a file too.
func (t *tree) clash(dir string) bool {
	at := t.listings[t.base]
	path := ""
	for name := range strings.SplitSeq(dir, "/") {
		if at == nil || dir == "" {
			return false
		}
		if at.files[name] != nil {
			return true
		}
		path = strings.TrimPrefix(path+"/"+name, "/")
		at = t.listings[path]
	}
	return false
}

// web is a store behind a manifest.
type web struct {
	client *client
	url    *url.URL
}

func openManifest(ctx context.Context, u *url.URL, o Options) *web {
	return &web{newClient(ctx, o, newTransport(o.Timeout), follow), u}
}

func (w *web) String() string { return shown(w.url) }

func (w *web) list(string) (*tree, error) {
	a, err := w.client.do(w.client.ctx, http.MethodGet, w.url, http.Header{"Accept": {"application/json"}}, nil, whole(maxManifest))
	if err == nil {
		err = w.answered(a, a.isPage())
	}
	var t *tree
	if err == nil {
		t, err = parseManifest(bytes.NewReader(a.body), w.url)
	}
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", shown(w.url), err)
	}
	return t, nil
}

func (w *web) read(_ string, o *object, off, n int64, version string) (*answer, error) {
	a, err := w.client.do(w.client.ctx, http.MethodGet, o.from, asRange(off, n, version), nil, ranged(off, n, o.size))
	if err == nil {
		err = w.answered(a, false)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(o.from), err)
	}
	return a, nil
}

func (w *web) answered(a *answer, page bool) error {
	if a.status == http.StatusOK || a.status == http.StatusPartialContent {
		if page {
			return errPage
		}
		return nil
	}
	if err := commonStatus(a); err != nil {
		return err
	}
	text := a.statusText()
	if e := parseError(a.body).String(); e != "" {
		text += " (" + e + ")"
	}
	switch {
	case a.status == http.StatusForbidden || a.status == http.StatusUnauthorized:
		return fmt.Errorf("%s: check that the URL is right and, if it is a presigned one, that it has not expired", text)
	case a.status >= 500 || a.status == http.StatusTooManyRequests:
		return fmt.Errorf("%s, after %d attempts: the server is failing or overloaded", text, retries+1)
	}
	return errors.New(text)
}

// commonStatus knows the statuses that mean the same everywhere.
func commonStatus(a *answer) error {
	switch a.status {
	case http.StatusNotFound:
		return fs.ErrNotExist
	case http.StatusPreconditionFailed:
		return fmt.Errorf("%w: it was replaced since it was listed", ErrChanged)
	case http.StatusRequestedRangeNotSatisfiable:
		return fmt.Errorf("%w: it is shorter than it was listed", ErrChanged)
	case http.StatusProxyAuthRequired:
		return errors.New("the proxy wants a password: check HTTPS_PROXY and NO_PROXY")
	}
	return nil
}
