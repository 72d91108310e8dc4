package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
)

// bucket is a store that speaks the S3 protocol.
type bucket struct {
	client   *client
	name     string   // empty where the path of the endpoint has it
	prefix   string   // empty, or ends in a slash
	endpoint *url.URL // nil for that of AWS in the bucket's region
	shown    string   // the URL for messages
	keys     keys
	region   atomic.Pointer[string]
}

// isWord reports whether a name consists of small letters, digits and of what else is allowed.
func isWord(s, more string, most int) bool {
	return s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(more, r)
	})
}

func isBucket(s string) bool {
	return isWord(strings.ToLower(s), "._-", 255) && !strings.HasPrefix(s, ".")
}

// isRegion keeps what becomes a part of a host's name from being more than that.
func isRegion(s string) bool { return isWord(s, "-", 40) }

// openBucket takes what follows s3://. It is no URL proper: as in AWS's own programs, nothing in a key is escaped.
func openBucket(ctx context.Context, rest string, o Options) (*bucket, error) {
	name, prefix, _ := strings.Cut(rest, "/")
	if !isBucket(name) {
		return nil, errors.New("the URL has no name of a bucket: s3://BUCKET/PREFIX expected")
	}
	prefix, err := asPrefix(prefix)
	if err != nil {
		return nil, err
	}
	p, err := readProfile(o.Getenv)
	if err != nil {
		return nil, err
	}
	region := cmp.Or(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"), p.values["region"], "us-east-1")
	if !isRegion(region) {
		return nil, fmt.Errorf("AWS_REGION %.40q is not the name of a region", region)
	}
	s := &bucket{name: name, prefix: prefix, shown: "s3://" + name + "/" + prefix}
	s.region.Store(&region)
	at := cmp.Or(o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL"), p.values["endpoint_url"])
	if at != "" {
		u, err := url.Parse(at)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.User != nil {
			return nil, errors.New("AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, is malformed: https://host or " +
				"http://host:port expected")
		}
		s.endpoint = u
	}
	if s.keys, err = findKeys(ctx, o, p, region); err != nil {
		return nil, err
	}
	s.client = newClient(ctx, o, &signing{newTransport(o.Timeout), s.keys}, stay)
	return s, nil
}

// openListing takes the URL of a bucket's listing. It is never signed: keys are for the endpoint that was configured
// with them.
func openListing(ctx context.Context, u *url.URL, o Options) (*bucket, error) {
	prefix, err := asPrefix(u.Query().Get("prefix"))
	if err != nil {
		return nil, err
	}
	endpoint := *u
	endpoint.RawQuery = ""
	region := ""
	s := &bucket{prefix: prefix, endpoint: &endpoint, shown: shown(&endpoint) + " below " + cmp.Or(prefix, "/")}
	s.region.Store(&region)
	s.client = newClient(ctx, o, newTransport(o.Timeout), stay)
	return s, nil
}

func asPrefix(s string) (string, error) {
	s = strings.Trim(s, "/")
	if s == "" {
		return "", nil
	}
	for name := range strings.SplitSeq(s, "/") {
		if !isName(name) {
			return "", fmt.Errorf("the prefix %.80q has %.40q in it, which no path can have", s, name)
		}
	}
	if len(s) >= maxKey {
		return "", fmt.Errorf("a prefix of %d bytes, less than %d expected", len(s), maxKey)
	}
	return s + "/", nil
}

// root is where the bucket is: its own host where there can be one, or a path below the endpoint.
func (s *bucket) root(region string) url.URL {
	if s.endpoint != nil {
		u := *s.endpoint
		u.RawPath = ""
		u.Path = strings.TrimRight(u.Path, "/")
		if s.name != "" {
			u.Path += "/" + s.name
		}
		return u
	}
	domain := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	// A certificate for *.s3... covers no name with dots, and a host no capitals.
	if strings.ContainsAny(s.name, "._") || strings.ToLower(s.name) != s.name || len(s.name) > 63 {
		return url.URL{Scheme: "https", Host: domain, Path: "/" + s.name}
	}
	return url.URL{Scheme: "https", Host: s.name + "." + domain}
}

// escape is the one form of a path that is signed: all but the unreserved characters of RFC 3986 and slashes.
func escape(path string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(path)+16)
	for _, c := range []byte(path) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

type regionKey struct{}

// get asks for a key, or without one for the bucket itself, and once more when the bucket turns out to be in another
// region.
func (s *bucket) get(key, query string, header http.Header, read func(*http.Response) ([]byte, error)) (*url.URL,
	*answer, error) {
	for moved := false; ; moved = true {
		region := *s.region.Load()
		u := s.root(region)
		if key != "" || u.Path == "" {
			u.Path += "/" + key
		}
		u.RawPath, u.RawQuery = escape(u.Path), query
		a, err := s.client.do(context.WithValue(s.client.ctx, regionKey{}, region), http.MethodGet, &u, header, nil, read)
		if err != nil {
			return &u, nil, err
		}
		other := rightRegion(a)
		if moved || other == "" || other == region || s.keys.provider == nil && s.endpoint != nil {
			return &u, a, nil
		}
		s.region.Store(&other)
	}
}

func (s *bucket) String() string { return s.shown }

func (s *bucket) read(name string, o *object, off, n int64, version string) (*answer, error) {
	u, a, err := s.get(s.prefix+name, "", asRange(off, n, version), ranged(off, n, o.size))
	if err == nil {
		err = s.answered(a, false)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(u), err)
	}
	return a, nil
}
