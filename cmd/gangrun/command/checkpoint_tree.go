package command

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gangrun/gangrun/checkpoint/objectstore"
	"github.com/gangrun/gangrun/internal/plain"
)

// OpenTree opens checkpoints that are not in the file system of this machine, by their URL. It sends no request yet: an
// error means that the URL, or what the environment says about it, is wrong.
type OpenTree func(ctx context.Context, url string) (fs.FS, error)

// openTree opens checkpoints in an object store or behind a web server.
func openTree(ctx context.Context, url string) (fs.FS, error) {
	return objectstore.Open(ctx, url, objectstore.Options{})
}

// isURL tells a URL from a path on this machine.
func isURL(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && scheme != "" && !strings.ContainsAny(scheme, "/.")
}

// absentError says that what a user names to look at, or to put something in, is not there. What vanishes later is something
// else: a run may be at work. A file of settings that is not there is a mistake in the settings.
type absentError struct{ text string }

func (e *absentError) Error() string { return e.text }

// tree opens what a user names by a path or a URL. A directory that does not exist is an [absentError].
func (p *program) tree(ctx context.Context, name string) (fs.FS, error) {
	if isURL(name) {
		fsys, err := p.openTree(ctx, name)
		if err != nil {
			return nil, &configError{plain.Text(err.Error())}
		}
		return fsys, nil
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &absentError{"no such file or directory"}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &configError{plain.Text(name) + " is not a directory"}
	}
	return os.DirFS(name), nil
}

// shown is a path, or a URL without its secrets: user, signatures.
func shown(name string) string {
	if !isURL(name) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return "the URL" // its parser's error would repeat it
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// within is what a user has to name to get something in a tree that was named by a path or a URL.
func within(name, rel string) string {
	if !isURL(name) {
		return filepath.Join(name, filepath.FromSlash(rel))
	}
	u, err := url.Parse(name)
	switch {
	case err != nil: // it was opened, so it is one
		return name + "/" + rel
	case u.Query().Has("list-type"): // an S3 listing
		u = u.JoinPath(u.Query().Get("prefix"))
	case u.Scheme != "s3": // a manifest, and what it lists lies beside it
		u.Path, u.RawPath = path.Dir(u.Path), ""
	}
	u.RawQuery, u.Fragment = "", ""
	return u.JoinPath(rel).String()
}

// parent splits a path, or the URL of a bucket, into what holds it and its name there. It reports false where nothing
// does, or nothing that should be searched: the root of a file system.
func parent(name string) (dir, base string, ok bool) {
	if !isURL(name) {
		name, err := filepath.Abs(name)
		dir, base = filepath.Split(name)
		return filepath.Clean(dir), base, err == nil && dir != string(filepath.Separator)
	}
	u, err := url.Parse(name)
	if err != nil || u.Scheme != "s3" || strings.Trim(u.Path, "/") == "" {
		return "", "", false
	}
	p := strings.TrimRight(u.Path, "/")
	u.Path, u.RawPath = path.Dir(p), ""
	return u.String(), path.Base(p), true
}
