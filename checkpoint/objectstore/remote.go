// Package objectstore shows checkpoints that lie in an object store, or behind a web server, as an [io/fs.FS], so that they
// are read as those on a disk are.
//
// It reads and never writes. What is there is learned from listings, which carry sizes and times, so that a stat of a
// listed file costs no request. Files are read by range requests. Only an answer that says "not found" becomes
// [fs.ErrNotExist]; a refusal, a failing server and a timeout are other errors, since they say nothing about what is
// there.
package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Options say how to reach a store. The zero value is ready to use.
type Options struct {
	// Log is told of requests and retries at the level debug, without secrets. Nil is silence.
	Log *slog.Logger
	// Timeout is for one request with its answer; 0 is 30 seconds. The context bounds them all, with the retries.
	Timeout time.Duration
	// Getenv looks variables up; nil is [os.Getenv].
	Getenv func(string) string

	retryAfter time.Duration // the shortest wait before a retry, for tests
}

const (
	defaultTimeout = 30 * time.Second
	maxEntries     = 1 << 18 // files and directories that one FS knows, and so its memory
)

// ErrChanged says that an object was replaced after it was listed: what was read of it and what is there now do not
// belong together. A new FS may find it whole.
var ErrChanged = errors.New("it was changed while it was read")

// Open makes an FS of what is below a URL:
//
//   - s3://BUCKET/PREFIX, an S3 bucket, signed for by the usual AWS variables and files, or anonymous without any;
//   - https://HOST/MANIFEST.json, a list of files (see [ManifestFile]), presigned URLs among them;
//   - https://HOST/BUCKET?list-type=2&prefix=PREFIX, an S3 listing that anybody may read.
//
// Open itself asks nobody. Its error says that the URL or the configuration is wrong. What is below the URL is listed
// when it is first used, every directory at most once: an FS is one look, and who wants to look again opens another
// one. Its requests end with the context. It gives [fs.ReadDirFS] and [fs.StatFS], and its files give [io.ReaderAt].
func Open(ctx context.Context, rawURL string, o Options) (fs.FS, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)

	scheme, rest, _ := strings.Cut(rawURL, "://")
	switch strings.ToLower(scheme) {
	case "s3":
		s, err := openBucket(ctx, rest, o)
		if err != nil {
			return nil, err
		}
		return newFS(ctx, s), nil
	case "http", "https":
		u, err := url.Parse(rawURL)
		if err != nil || u.Host == "" {
			// The parser's error repeats the URL, which may carry a password.
			return nil, fmt.Errorf("a URL of the scheme %s:// is malformed: https://host/path expected", scheme)
		}
		u.Fragment = ""
		if u.Query().Get("list-type") == "2" {
			s, err := openListing(ctx, u, o)
			if err != nil {
				return nil, err
			}
			return newFS(ctx, s), nil
		}
		return newFS(ctx, openManifest(ctx, u, o)), nil
	case "gs", "gcs":
		return nil, fmt.Errorf("%s:// is not read directly: make an HMAC key for the bucket and use s3://BUCKET/PREFIX "+
			"with AWS_ENDPOINT_URL_S3=https://storage.googleapis.com and AWS_REGION=auto, or mount the bucket with gcsfuse",
			scheme)
	}
	return nil, fmt.Errorf("the scheme %q is unknown: s3://, https:// or http:// expected", scheme)
}

// shown is a URL without what may be secret: user, query (signatures) and fragment.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// newTransport shares nothing with http.DefaultTransport, whose settings belong to the program.
func newTransport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: timeout,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   16,
		DisableCompression:    true, // sizes and entity tags are those of the bytes as they are stored
		ForceAttemptHTTP2:     true,
	}
}
